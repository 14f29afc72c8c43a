package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/web"
)

// TestMessages: a webhook is told how a run ends, signed with the secret, which
// shows nowhere else.
func TestMessages(t *testing.T) {
	const secret = "a-secret-of-the-test"
	var mu sync.Mutex
	var got []web.Notice
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var n web.Notice
		if err == nil {
			err = json.Unmarshal(body, &n)
		}
		sign := r.Header.Get(web.SignatureHeader)
		stamp, _, _ := strings.Cut(strings.TrimPrefix(sign, "t="), ",")
		unix, _ := strconv.ParseInt(stamp, 10, 64)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || sign != web.Sign(secret, time.Unix(unix, 0), body) {
			t.Errorf("message %s with signature %q: %v", body, sign, err)
		}
		got = append(got, n)
	}))
	defer hook.Close()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", "notify: {url: \""+hook.URL+"/x\", on: [complete, halted]}\n"+strings.TrimPrefix(toyYAML, "\n"))
	env := []string{"NSWEEP_NOTIFY_SECRET=" + secret}
	call(t, dir, env, codeDone, "run", "toy.yaml")
	_, errs := call(t, dir, env, codeMismatch, "run", "toy.yaml", "-vv", "--set", "sweeps.toy.checkpoints=[{n: 5, value: 1}]")
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 2 || got[0].Kind != web.NoticeComplete || got[1].Kind != web.NoticeHalted || got[0].Values != 5000 {
		t.Errorf("messages %+v", got)
	}
	if strings.Contains(errs, secret) {
		t.Error("the secret shows in the log")
	}
	_, errs = call(t, dir, nil, codeUsage, "run", "toy.yaml", "--set", "notify.url=ftp://x", "--set", "notify.on=[never]")
	for _, want := range []string{"notify.url", "notify.on[0]"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %s in %s", want, errs)
		}
	}
}
