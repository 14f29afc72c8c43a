package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const secret = "f3b1c0de-5b7e-4c1a-9f2d-3a6b8c9d0e1f"

type fakeClock struct{ t time.Time }

func (c *fakeClock) now() time.Time { return c.t }

// TestSessions checks that only an unchanged cookie of this token lets in, and
// only until it ends.
func TestSessions(t *testing.T) {
	clock := &fakeClock{noon}
	g := newGuard(secret, nil, clock.now)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://127.0.0.1:8391/", nil)
	value := g.begin(w, r)
	cookie := w.Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Secure || cookie.Name != "nsweep_8391" {
		t.Errorf("cookie %+v", cookie)
	}
	if strings.Contains(value, secret) {
		t.Error("the cookie shows the token")
	}
	with := func(v string) string {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8391/", nil)
		r.AddCookie(&http.Cookie{Name: "nsweep_8391", Value: v})
		return g.session(r)
	}
	if with(value) != value {
		t.Error("the session is not known")
	}
	body, sum, _ := cutLast(value, ".")
	nonce, _, _ := cutLast(body, ".")
	for _, bad := range []string{"", ".", "..", value + "A", value[1:], nonce + ".99999999999." + sum, body + ".", strings.Repeat("A", 5000)} {
		if with(bad) != "" {
			t.Errorf("cookie %.60q is taken for a session", bad)
		}
	}
	if newGuard(secret, nil, clock.now).session(func() *http.Request {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8391/", nil)
		r.AddCookie(cookie)
		return r
	}()) == "" {
		t.Error("a restart with the same token ends the session")
	}
	other := newGuard(secret+"x", nil, clock.now)
	r.AddCookie(cookie)
	if other.session(r) != "" {
		t.Error("another token knows the session")
	}
	clock.t = noon.Add(sessionLasts)
	if with(value) != "" {
		t.Error("the session never ends")
	}

	// A form belongs to one session.
	if !g.genuine(value, g.csrf(value)) || g.genuine(value, g.csrf(value+"x")) || g.genuine("", g.csrf("")) || g.genuine(value, "") {
		t.Error("forms are not told apart")
	}
}

func TestHosts(t *testing.T) {
	g := newGuard("", []string{"Lab.Example."}, time.Now)
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8391": true, "LOCALHOST.": true, "127.0.0.1:8391": true, "[::1]:8391": true, "[::1]": true, "192.168.1.7": true,
		"lab.example": true, "lab.example:80": true, "LAB.EXAMPLE.:80": true,
		"": false, "evil.example": false, "lab.example.evil.example": false, "127.0.0.1.evil.example:8391": false, "xlab.example": false, "localhost.evil": false,
	} {
		if got := g.addressed(host); got != want {
			t.Errorf("host %q: %v, want %v", host, got, want)
		}
	}
}

func TestKnownTokens(t *testing.T) {
	g := newGuard(secret, nil, time.Now)
	for token, want := range map[string]bool{secret: true, "": false, secret + " ": false, secret[1:]: false, strings.Repeat(secret, 100): false} {
		if got := g.known(token); got != want {
			t.Errorf("token %.50q: %v, want %v", token, got, want)
		}
	}
}

func TestLimiter(t *testing.T) {
	clock := &fakeClock{noon}
	l := newLimiter(3, 10*time.Second, clock.now)
	for i := range 3 {
		if !l.allowed("a") {
			t.Fatalf("try %d is refused", i)
		}
		l.spend("a")
	}
	if l.allowed("a") || !l.allowed("b") {
		t.Error("the fourth try of a is allowed, or the first of b refused")
	}
	clock.t = clock.t.Add(11 * time.Second)
	if !l.allowed("a") {
		t.Error("no try came back")
	}
	l.spend("a")
	if l.allowed("a") {
		t.Error("more than one came back")
	}
	// Many addresses do not take memory without end, and those that have tries
	// on them stay limited.
	for i := range 3 * maxBuckets {
		addr := string(rune('0'+i%10)) + time.Duration(i).String()
		l.spend(addr)
	}
	if len(l.used) > maxBuckets+1 {
		t.Errorf("%d addresses are remembered", len(l.used))
	}
	if l.allowed("a newcomer") {
		t.Error("a newcomer is not limited while the memory is full")
	}
	clock.t = clock.t.Add(24 * time.Hour)
	if !l.allowed("a newcomer") || len(l.used) > 1 {
		t.Errorf("a day later %d addresses are remembered", len(l.used))
	}
}

func TestLocal(t *testing.T) {
	for next, want := range map[string]string{
		"/run/euler?from=1": "/run/euler?from=1", "/": "/", "": "/", "https://evil.example/": "/", "//evil.example": "/", "/\\evil.example": "/",
		"javascript:alert(1)": "/", "run/x": "/", "/a\r\nSet-Cookie: x=y": "/", "/%zz": "/",
	} {
		if got := local(next); got != want {
			t.Errorf("next %q leads to %q, want %q", next, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	f := newFake()
	for name, o := range map[string]Options{
		"no store":      {},
		"short token":   {Store: f, Token: "hunter2"},
		"endless token": {Store: f, Token: strings.Repeat("x", maxToken+1)},
		"a URL as host": {Store: f, Hosts: []string{"http://lab.example"}},
		"empty host":    {Store: f, Hosts: []string{""}},
		"negative pace": {Store: f, Pace: -1},
		"negative most": {Store: f, MaxStreams: -1},
		"half a plot":   {Store: f, Kinds: nil, Plot: noPlot},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := New(Options{Store: f, Token: secret, Hosts: []string{"lab.example"}}); err != nil {
		t.Error(err)
	}
}
