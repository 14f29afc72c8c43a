package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// receiver is a webhook that answers with the codes in turn, then 200.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	codes []int
	got   []Notice
	heads []http.Header
	raw   [][]byte
}

func newReceiver(t *testing.T, codes ...int) *receiver {
	r := &receiver{codes: codes}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		b, err := io.ReadAll(q.Body)
		var m Notice
		if err != nil || json.Unmarshal(b, &m) != nil || q.Method != "POST" {
			t.Errorf("%s %q, %v", q.Method, b, err)
		}
		r.got, r.heads, r.raw = append(r.got, m), append(r.heads, q.Header), append(r.raw, b)
		if len(r.codes) > 0 {
			w.WriteHeader(r.codes[0])
			r.codes = r.codes[1:]
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func notifier(t *testing.T, o NotifyOptions) (*Notifier, *fakeClock) {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	o.Client = &http.Client{Transport: tr}
	if o.Wait == 0 {
		o.Wait = time.Millisecond
	}
	n, err := NewNotifier(o)
	if err != nil {
		t.Fatal(err)
	}
	clock := &fakeClock{noon}
	n.now = clock.now
	return n, clock
}

func toyRun(t *testing.T, state jobs.State) jobs.Run {
	run := jobs.Run{State: state}
	run.ID = jobs.RunID{Name: "r", Epoch: "e"}
	run.Sweeps = []jobs.Sweep{toySweep(t, "s", 50, 1, 101)}
	return run
}

func kinds(n *Notifier) (out []string) {
	for len(n.queue) > 0 {
		m := <-n.queue
		out = append(out, m.Kind)
	}
	return out
}

func TestObserve(t *testing.T) {
	n, clock := notifier(t, NotifyOptions{URL: "http://127.0.0.1:1/", StallAfter: time.Minute})
	see := func(after time.Duration, state jobs.State, values int64, want string) {
		t.Helper()
		clock.t = clock.t.Add(after)
		n.Observe(toyRun(t, state), values, 0)
		if got := strings.Join(kinds(n), " "); got != want {
			t.Errorf("%s with %d values after %s: told %q, want %q", state, values, after, got, want)
		}
	}
	see(0, jobs.Complete, 100, "") // it was so before anybody looked
	see(time.Second, jobs.Running, 100, "")
	see(59*time.Second, jobs.Running, 100, "")
	see(time.Second, jobs.Running, 100, "stalled")
	see(time.Hour, jobs.Running, 100, "") // once is enough
	see(time.Second, jobs.Running, 101, "")
	see(time.Minute, jobs.Running, 101, "stalled")
	see(time.Second, jobs.Paused, 101, "")
	see(time.Hour, jobs.Paused, 101, "") // who pauses knows
	see(time.Second, jobs.Running, 101, "")
	see(time.Second, jobs.Halted, 101, "halted")
	see(time.Second, jobs.Halted, 101, "")
	see(time.Second, jobs.Failed, 101, "failed")
	see(time.Second, jobs.Complete, 102, "complete")
	see(time.Hour, jobs.Complete, 102, "")
	again := toyRun(t, jobs.Complete)
	again.Rev++ // made longer, and complete before the next look
	n.Observe(again, 200, 0)
	if got := kinds(n); len(got) != 1 || got[0] != "complete" {
		t.Errorf("told %v of a longer run", got)
	}

	n, _ = notifier(t, NotifyOptions{URL: "http://127.0.0.1:1/", Kinds: []string{"halted"}})
	for _, s := range []jobs.State{jobs.Running, jobs.Failed, jobs.Running, jobs.Complete, jobs.Running, jobs.Halted} {
		n.Observe(toyRun(t, s), 1, 0)
	}
	if got := kinds(n); len(got) != 1 || got[0] != "halted" {
		t.Errorf("told %v", got)
	}
	// A full queue drops the oldest and never blocks.
	for i := range 3 * maxNotices {
		n.push(Notice{AtMs: int64(i)})
	}
	if m := <-n.queue; m.AtMs != 2*maxNotices {
		t.Errorf("the oldest that waits is %d, want %d", m.AtMs, 2*maxNotices)
	}
}

// deliver runs the notifier until one message was delivered or given up.
func deliver(n *Notifier) {
	ctx, cancel := context.WithCancel(context.Background())
	n.settled = func(error) { cancel() }
	n.Run(ctx, hang)
}

func finishRun(t *testing.T, n *Notifier) {
	n.Observe(toyRun(t, jobs.Running), 7, 0)
	n.Observe(toyRun(t, jobs.Complete), 100, 2)
}

// TestDelivery has a receiver that fails twice: the same message comes three
// times, signed.
func TestDelivery(t *testing.T) {
	r := newReceiver(t, 500, 429)
	n, _ := notifier(t, NotifyOptions{URL: r.URL, Secret: "shared"})
	finishRun(t, n)
	deliver(n)
	if len(r.got) != 3 || r.got[0] != r.got[2] || r.got[0].ID == "" {
		t.Fatalf("%+v", r.got)
	}
	want := Notice{ID: r.got[0].ID, Kind: "complete", Run: "r", Epoch: "e", State: jobs.Complete, Values: 100, Total: 100, Failed: 2, AtMs: noon.UnixMilli()}
	if r.got[0] != want {
		t.Errorf("%+v, want %+v", r.got[0], want)
	}
	if got := r.heads[0].Get(SignatureHeader); got != Sign("shared", noon, r.raw[0]) || got == Sign("other", noon, r.raw[0]) {
		t.Errorf("signature %q", got)
	}
}

// TestSign compares with a value by openssl:
//
//	printf '1767225600.{"a":1}' | openssl dgst -sha256 -hmac key
func TestSign(t *testing.T) {
	const want = "t=1767225600,v1=80f7b75f8618b9b24d72673996a625f1a43f7387a26b6739d667431724fe4d23"
	if got := Sign("key", time.Unix(1767225600, 0), []byte(`{"a":1}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDeliveryGivesUp(t *testing.T) {
	for _, c := range []struct {
		codes []int
		tries int
	}{{[]int{400}, 1}, {[]int{302}, 1}, {[]int{500, 500, 500, 500}, 3}} {
		r := newReceiver(t, c.codes...)
		n, _ := notifier(t, NotifyOptions{URL: r.URL, Tries: 3})
		finishRun(t, n)
		deliver(n)
		if len(r.got) != c.tries {
			t.Errorf("answers %v: %d tries, want %d", c.codes, len(r.got), c.tries)
		}
		if r.heads[0].Get(SignatureHeader) != "" {
			t.Error("signed without secret")
		}
	}
}

// TestDeliveryAtTheEnd ends the process with the run: what waits still goes.
func TestDeliveryAtTheEnd(t *testing.T) {
	r := newReceiver(t)
	n, _ := notifier(t, NotifyOptions{URL: r.URL})
	finishRun(t, n)
	n.push(Notice{Kind: "second"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n.Run(ctx, hang)
	if len(r.got) != 2 || r.got[1].Kind != "second" {
		t.Errorf("%+v", r.got)
	}
}

func TestNotifyOptions(t *testing.T) {
	for name, o := range map[string]NotifyOptions{
		"no url": {}, "a file": {URL: "file:///etc/passwd"}, "no host": {URL: "https://"}, "unknown kind": {URL: "https://x/", Kinds: []string{"bored"}},
		"negative": {URL: "https://x/", Tries: -1},
	} {
		if _, err := NewNotifier(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	// An address can hold a secret, so no error may show it.
	n, _ := notifier(t, NotifyOptions{URL: "http://user:hunter2@127.0.0.1:1/hook/s3cret", Tries: 1})
	_, err := n.post(context.Background(), Notice{})
	if err == nil || strings.Contains(fmt.Sprint(err), "s3cret") || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("error %v", err)
	}
	if _, err := NewNotifier(NotifyOptions{URL: "ftp://user:hunter2@x/"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}
