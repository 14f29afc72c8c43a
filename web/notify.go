package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Message kinds.
const (
	NoticeComplete = "complete"
	NoticeHalted   = "halted"
	NoticeFailed   = "failed"
	// NoticeStalled says that nothing was finished for a while though the run
	// is under way; it is sent again only after something was finished.
	NoticeStalled = "stalled"
)

// NoticeKinds are all kinds, in the order of documents.
var NoticeKinds = []string{NoticeComplete, NoticeHalted, NoticeFailed, NoticeStalled}

// Notice is the body of a message, as JSON.
type Notice struct {
	// ID is the same for every try and every process that tells of the same
	// event, so that a receiver can drop repetitions.
	ID     string     `json:"id"`
	Kind   string     `json:"kind"`
	Run    string     `json:"run"`
	Epoch  string     `json:"epoch"`
	Number int        `json:"number"`
	Rev    int64      `json:"rev"`
	State  jobs.State `json:"state"`
	Reason string     `json:"reason,omitempty"`
	// Values and Total count n.
	Values int64 `json:"values"`
	Total  int64 `json:"total"`
	Failed int   `json:"failed"`
	AtMs   int64 `json:"at_ms"`
}

// NotifyOptions say where messages go. URL is required.
type NotifyOptions struct {
	// URL is an http or https address that takes a POST. Redirects are not
	// followed: the signature is for this receiver.
	URL string
	// Secret signs each message; without one it is unsigned.
	Secret string
	// Kinds are the kinds to send, all when empty.
	Kinds []string
	// StallAfter is how long nothing may be finished, 15 minutes.
	StallAfter time.Duration
	// Tries bounds the tries of one message, 6, and Wait is the pause after the
	// first, 2 s; each further pause is twice as long, with a random part.
	Tries int
	Wait  time.Duration
	// Client sends; one with a timeout of 10 s when nil.
	Client *http.Client
	Log    *slog.Logger
}

// SignatureHeader carries "t=UNIX,v1=HEX", where HEX is the HMAC-SHA256 under
// the secret of UNIX, a full stop and the body.
const SignatureHeader = "X-Nsweep-Signature"

// maxNotices is how many messages wait at most. There are few in the life of a
// run; when the receiver is away for long the oldest are dropped.
const maxNotices = 64

// Notifier tells a webhook how runs end. Observe is called with what is known,
// as often as one likes, and never blocks; Run sends. It is safe for concurrent
// use.
type Notifier struct {
	o     NotifyOptions
	now   func() time.Time
	queue chan Notice
	watch chan map[jobs.RunID]*watchedRun // holds the only map
	// settled is told of each message that was delivered or given up.
	settled func(error)
}

// watchedRun is what was last told of a run.
type watchedRun struct {
	rev     int64
	state   jobs.State
	values  int64
	moved   time.Time
	stalled bool
}

// NewNotifier returns a notifier, or an error that names the option.
func NewNotifier(o NotifyOptions) (*Notifier, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// The address may hold a secret, so it is not shown.
		return nil, errors.New("notify: url is no http or https address")
	}
	for _, k := range o.Kinds {
		if !slices.Contains(NoticeKinds, k) {
			return nil, fmt.Errorf("notify: unknown kind %q, want some of %v", k, NoticeKinds)
		}
	}
	if len(o.Kinds) == 0 {
		o.Kinds = NoticeKinds
	}
	if o.StallAfter < 0 || o.Tries < 0 || o.Wait < 0 {
		return nil, errors.New("notify: stall_after, tries and wait must not be negative")
	}
	if o.StallAfter == 0 {
		o.StallAfter = 15 * time.Minute
	}
	if o.Tries == 0 {
		o.Tries = 6
	}
	if o.Wait == 0 {
		o.Wait = 2 * time.Second
	}
	client := http.Client{Timeout: 10 * time.Second}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client = &client
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{o: o, now: time.Now, queue: make(chan Notice, maxNotices), watch: make(chan map[jobs.RunID]*watchedRun, 1),
		settled: func(error) {}}
	n.watch <- map[jobs.RunID]*watchedRun{}
	return n, nil
}

// Observe takes in how a run stands: its state, the number of its values that
// are stored and of its failures. What a run was when it was first observed is
// told only if it goes on from there, so a restart repeats nothing. A later
// revision is one that began running, however soon it ended.
func (n *Notifier) Observe(run jobs.Run, values int64, failures int) {
	runs := <-n.watch
	defer func() { n.watch <- runs }()
	now := n.now()
	w := runs[run.ID]
	switch {
	case w == nil:
		runs[run.ID] = &watchedRun{rev: run.Rev, state: run.State, values: values, moved: now}
		return
	case w.rev != run.Rev:
		w = &watchedRun{rev: run.Rev, state: jobs.Running, values: values, moved: now}
		runs[run.ID] = w
	}
	if w.values != values || w.state != run.State {
		w.moved, w.stalled = now, false
	}
	turned := w.state != run.State
	w.values, w.state = values, run.State
	kind := ""
	switch {
	case turned && run.State == jobs.Complete:
		kind = NoticeComplete
	case turned && run.State == jobs.Halted:
		kind = NoticeHalted
	case turned && run.State == jobs.Failed:
		kind = NoticeFailed
	case run.State == jobs.Running && !w.stalled && now.Sub(w.moved) >= n.o.StallAfter:
		kind, w.stalled = NoticeStalled, true
	}
	if kind == "" || !slices.Contains(n.o.Kinds, kind) {
		return
	}
	m := Notice{Kind: kind, Run: run.ID.Name, Epoch: run.ID.Epoch, Number: run.Number, Rev: run.Rev, State: run.State, Reason: run.Reason,
		Values: values, Failed: failures, AtMs: now.UnixMilli()}
	for _, s := range run.Sweeps {
		m.Total += s.Set.Count()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s %d", run.ID, run.Rev, kind, values))
	m.ID = hex.EncodeToString(sum[:12])
	n.push(m)
}

// push puts a message in the queue, in place of the oldest when it is full. It
// is called with the map held, so nobody else fills the place.
func (n *Notifier) push(m Notice) {
	for {
		select {
		case n.queue <- m:
			return
		default:
		}
		select {
		case old := <-n.queue:
			n.o.Log.Warn("message dropped, too many wait", "kind", old.Kind, "run", old.Run)
		default:
		}
	}
}

// Run sends messages until ctx ends, one at a time and in order. What waits
// then is tried once more within the grace, so that a process that ends with
// its run still tells of it.
func (n *Notifier) Run(ctx context.Context, grace time.Duration) {
	for {
		select {
		case m := <-n.queue:
			err := n.send(ctx, m)
			if err != nil && ctx.Err() != nil {
				// It may have arrived: the receiver knows it by its ID.
				n.last(ctx, grace, &m)
				return
			}
			if err != nil {
				n.o.Log.Warn("message not delivered", "kind", m.Kind, "run", m.Run, "err", err)
			}
			n.settled(err)
		case <-ctx.Done():
			n.last(ctx, grace, nil)
			return
		}
	}
}

// last tries once what is left.
func (n *Notifier) last(ctx context.Context, grace time.Duration, first *Notice) {
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for m := first; ; m = nil {
		if m == nil {
			select {
			case x := <-n.queue:
				m = &x
			default:
				return
			}
		}
		if _, err := n.post(bye, *m); err != nil {
			n.o.Log.Warn("message not delivered", "kind", m.Kind, "run", m.Run, "err", err)
		}
	}
}

// send tries until the receiver takes the message, refuses it for good, or
// there was enough trying.
func (n *Notifier) send(ctx context.Context, m Notice) error {
	wait := n.o.Wait
	for try := 1; ; try++ {
		again, err := n.post(ctx, m)
		if err == nil || !again || try >= n.o.Tries {
			return err
		}
		t := time.NewTimer(wait + rand.N(wait/2+1))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		wait = min(2*wait, time.Minute)
	}
}

// post sends once and says whether trying again makes sense. Errors never show
// the address, which may hold a secret.
func (n *Notifier) post(ctx context.Context, m Notice) (again bool, err error) {
	body, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.o.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the request could not be made")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "nsweep")
	if n.o.Secret != "" {
		r.Header.Set(SignatureHeader, Sign(n.o.Secret, n.now(), body))
	}
	a, err := n.o.Client.Do(r)
	if err != nil {
		var whole *url.Error
		if errors.As(err, &whole) {
			err = whole.Err
		}
		return true, err
	}
	defer a.Body.Close()
	// What is read lets the connection be used again.
	_, _ = io.CopyN(io.Discard, a.Body, 64<<10)
	if a.StatusCode/100 == 2 {
		return false, nil
	}
	return a.StatusCode >= 500 || a.StatusCode == http.StatusTooManyRequests || a.StatusCode == http.StatusRequestTimeout,
		fmt.Errorf("the receiver answered %s", a.Status)
}

// Sign returns the value of [SignatureHeader] for a body sent at that time.
func Sign(secret string, at time.Time, body []byte) string {
	unix := strconv.FormatInt(at.Unix(), 10)
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(unix + "."))
	h.Write(body)
	return "t=" + unix + ",v1=" + hex.EncodeToString(h.Sum(nil))
}
