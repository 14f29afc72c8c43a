package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/web"
)

const hookSecret = "a-secret-of-the-test"

// hook is a webhook that keeps what it is told and checks how it is signed.
type hook struct {
	url string
	mu  sync.Mutex
	got []web.Notice
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var n web.Notice
		if err == nil {
			err = json.Unmarshal(body, &n)
		}
		sign := r.Header.Get(web.SignatureHeader)
		stamp, _, _ := strings.Cut(strings.TrimPrefix(sign, "t="), ",")
		unix, _ := strconv.ParseInt(stamp, 10, 64)
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil || sign != web.Sign(hookSecret, time.Unix(unix, 0), body) {
			t.Errorf("message %s with signature %q: %v", body, sign, err)
		}
		h.got = append(h.got, n)
	}))
	t.Cleanup(srv.Close)
	h.url = srv.URL
	return h
}

func (h *hook) notices() []web.Notice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// TestMessagesOfScheduler: a scheduler tells of runs that it finishes faster
// than it looks, also of the second revision of one.
func TestMessagesOfScheduler(t *testing.T) {
	t.Parallel()
	hook, srv, dir := newHook(t), redistest.Start(t), t.TempDir()
	write(t, dir, "toy.yaml", "notify: {url: \""+hook.url+"/x\"}\n"+strings.TrimPrefix(toyYAML, "\n"))
	env := on(srv, "NSWEEP_NOTIFY_SECRET="+hookSecret)
	sched := cli(t, dir, env, "scheduler")
	cli(t, dir, env, "worker")
	until(t, "the scheduler", func() bool { return strings.Contains(sched.err.String(), "scheduler ") })
	for i, size := range []string{"10", "20"} {
		call(t, dir, env, codeDone, "submit", "toy.yaml", "--wait", "--set", "sweeps.toy.checkpoints=[]", "--set", "sweeps.toy.n.to="+size)
		until(t, "the message", func() bool { return len(hook.notices()) > i })
	}
	if got := hook.notices(); got[0].Kind != web.NoticeComplete || got[0].Total != 10 || got[1].Kind != web.NoticeComplete || got[1].Total != 20 {
		t.Errorf("messages %+v", got)
	}
}

// TestMessages: a webhook is told how a run ends, signed with the secret, which
// shows nowhere else.
func TestMessages(t *testing.T) {
	hook := newHook(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", "notify: {url: \""+hook.url+"/x\", on: [complete, halted]}\n"+strings.TrimPrefix(toyYAML, "\n"))
	env := []string{"NSWEEP_NOTIFY_SECRET=" + hookSecret}
	call(t, dir, env, codeDone, "run", "toy.yaml")
	_, errs := call(t, dir, env, codeMismatch, "run", "toy.yaml", "-vv", "--set", "sweeps.toy.checkpoints=[{n: 5, value: 1}]")
	got := hook.notices()
	if len(got) != 2 || got[0].Kind != web.NoticeComplete || got[1].Kind != web.NoticeHalted || got[0].Values != 5000 {
		t.Errorf("messages %+v", got)
	}
	if strings.Contains(errs, hookSecret) {
		t.Error("the secret shows in the log")
	}
	_, errs = call(t, dir, nil, codeUsage, "run", "toy.yaml", "--set", "notify.url=ftp://x", "--set", "notify.on=[never]")
	for _, want := range []string{"notify.url", "notify.on[0]"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %s in %s", want, errs)
		}
	}
}
