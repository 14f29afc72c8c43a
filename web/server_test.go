package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

func noPlot(context.Context, io.Writer, string, string, string, string, int64, int64) error {
	return errors.New("nothing to draw")
}

// client is a program or browser that talks to a test's server.
type client struct {
	t    testing.TB
	base string
	http *http.Client
}

func newClient(t testing.TB, base string) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &client{t, base, &http.Client{Jar: jar, Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type answer struct {
	*http.Response
	body string
}

// do sends a request with headers given in pairs.
func (c *client) do(method, path string, form url.Values, headers ...string) answer {
	c.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, c.base+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	a, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{a, string(b)}
}

func (c *client) get(path string, headers ...string) answer {
	c.t.Helper()
	return c.do("GET", path, nil, headers...)
}

func (a answer) want(t testing.TB, code int, parts ...string) answer {
	t.Helper()
	if a.StatusCode != code {
		t.Fatalf("%s %s: %s, want %d\n%s", a.Request.Method, a.Request.URL, a.Status, code, a.body)
	}
	for _, p := range parts {
		if !strings.Contains(a.body, p) {
			t.Errorf("%s %s: no %q in\n%s", a.Request.Method, a.Request.URL, p, a.body)
		}
	}
	return a
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf returns what the forms of a page carry.
func (c *client) csrf(path string) string {
	c.t.Helper()
	m := csrfField.FindStringSubmatch(c.get(path).want(c.t, 200).body)
	if m == nil {
		c.t.Fatalf("no form on %s", path)
	}
	return m[1]
}

const fast = 20 * time.Millisecond

// everyPath is one address of each kind.
var everyPath = []string{"/", "/run/overnight", "/run/overnight/heat.json", "/run/overnight/cells.svg", "/run/overnight/failures", "/run/overnight/cell?n=7",
	"/run/overnight/confirm/pause", "/metrics", "/nowhere", "/run/overnight/plot/value.svg"}

func TestHeaders(t *testing.T) {
	f, _ := lively(t)
	s, base := serveFake(t, Options{Store: f, Pace: fast})
	c := newClient(t, base)
	for _, path := range append(everyPath, "/healthz", "/readyz", "/login", "/assets/"+s.pages.version+"/page.js", "/run/..%2f..") {
		h := c.get(path).Header
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: policy %q lacks %s", path, csp, part)
			}
		}
		if strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: headers %v", path, h)
		}
		if cache := h.Get("Cache-Control"); cache != "no-store" && !strings.HasPrefix(path, "/assets/") {
			t.Errorf("%s may be kept: %q", path, cache)
		}
	}
	// No page may need what the policy forbids.
	for _, path := range []string{"/", "/run/overnight", "/run/overnight/cell?n=7", "/run/overnight/confirm/cancel", "/nowhere"} {
		body := c.get(path, "Accept", "text/html").body
		if m := regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<style|<script[^>]*>[^<]`).FindString(body); m != "" {
			t.Errorf("%s holds %q, which its policy forbids", path, m)
		}
		if m := regexp.MustCompile(`(src|href|action)="(https?:)?//[^"]*`).FindString(body); m != "" {
			t.Errorf("%s leads outside: %s", path, m)
		}
	}
}

func TestToken(t *testing.T) {
	f, _ := lively(t)
	_, base := serveFake(t, Options{Store: f, Pace: fast, Token: secret})
	c := newClient(t, base)
	for _, path := range append(everyPath, "/stream", "/stream?run=overnight") {
		a := c.get(path).want(t, 401)
		if strings.Contains(a.body, "overnight") || strings.Contains(a.body, "squares") {
			t.Errorf("%s tells about runs:\n%s", path, a.body)
		}
		// A token in the address is no token.
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		c.get(path+sep+"token="+secret).want(t, 401)
	}
	c.get("/run/overnight", "Authorization", "Bearer wrong").want(t, 401)
	c.do("POST", "/run/overnight/pause", url.Values{}).want(t, 401)
	c.get("/healthz").want(t, 200)
	c.get("/readyz")

	to := c.get("/run/overnight?sweep=far", "Accept", "text/html").want(t, 303).Header.Get("Location")
	if to != "/login?next=%2Frun%2Fovernight%3Fsweep%3Dfar" {
		t.Errorf("sent to %s", to)
	}
	c.get(to).want(t, 200, `type="password"`, `value="/run/overnight?sweep=far"`)
	c.do("POST", "/login", url.Values{"token": {"wrong-wrong-wrong"}}).want(t, 401, "not the token")
	a := c.do("POST", "/login", url.Values{"token": {" " + secret + "\n"}, "next": {"/run/overnight?sweep=far"}}).want(t, 303)
	if a.Header.Get("Location") != "/run/overnight?sweep=far" {
		t.Errorf("sent to %s", a.Header.Get("Location"))
	}
	c.get("/run/overnight").want(t, 200, "squares")
	if a := c.do("POST", "/login", url.Values{"token": {secret}, "next": {"//evil.example"}}); a.Header.Get("Location") != "/" {
		t.Errorf("login leads to %s", a.Header.Get("Location"))
	}

	// Programs send it in a header.
	p := newClient(t, base)
	p.get("/metrics", "Authorization", "Bearer "+secret).want(t, 200, "nsweep_store_up")
	p.get("/metrics", "Authorization", "Basic "+secret).want(t, 401)

	// Signing out needs the form of the session.
	c.do("POST", "/logout", url.Values{"csrf": {"x"}}).want(t, 403)
	c.do("POST", "/logout", url.Values{"csrf": {c.csrf("/")}}).want(t, 303)
	c.get("/run/overnight").want(t, 401)
}

// TestTokensCannotBeTried checks that wrong tokens soon meet a wall, at both
// doors, which does not fall to a right one either. The server's clock stands
// still: a try comes back every few seconds.
func TestTokensCannotBeTried(t *testing.T) {
	web := httptest.NewServer(newStill(t, newFake(), Options{Token: secret}).Handler())
	t.Cleanup(web.Close)
	c := newClient(t, web.URL)
	refused := 0
	for i := range 14 {
		a := c.do("POST", "/login", url.Values{"token": {fmt.Sprintf("wrong-token-number-%d", i)}})
		if a.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("%d of 14 tries met the wall, want 4", refused)
	}
	c.do("POST", "/login", url.Values{"token": {secret}}).want(t, 429)
	c.get("/metrics", "Authorization", "Bearer "+secret).want(t, 429)
}

func TestForeignNamesAreRefused(t *testing.T) {
	f, _ := lively(t)
	_, base := serveFake(t, Options{Store: f, Pace: fast, Hosts: []string{"lab.example"}})
	c := newClient(t, base)
	for _, path := range append(everyPath, "/healthz") {
		a := c.get(path, "Host", "rebound.example:8391").want(t, http.StatusMisdirectedRequest)
		if strings.Contains(a.body, "squares") {
			t.Errorf("%s tells about runs", path)
		}
	}
	c.get("/", "Host", "lab.example").want(t, 200)
	c.get("/", "Host", "localhost:1").want(t, 200)
}

// TestButtonsNeedTheirForm tries every way around the form.
func TestButtonsNeedTheirForm(t *testing.T) {
	f, run := lively(t)
	_, base := serveFake(t, Options{Store: f, Pace: fast})
	c := newClient(t, base)
	epoch := run.ID.Epoch
	state := func() (s jobs.State) {
		f.change(func() { s = run.State })
		return s
	}
	csrf := c.csrf("/run/overnight/confirm/pause")
	form := func(csrf, epoch string) url.Values { return url.Values{"csrf": {csrf}, "epoch": {epoch}} }

	other := newClient(t, base)
	other.csrf("/run/overnight") // has a session of its own
	for name, a := range map[string]answer{
		"no form":            c.do("POST", "/run/overnight/pause", url.Values{}),
		"no session":         newClient(t, base).do("POST", "/run/overnight/pause", form(csrf, epoch)),
		"another's form":     other.do("POST", "/run/overnight/pause", form(csrf, epoch)),
		"changed form":       c.do("POST", "/run/overnight/pause", form(csrf+"x", epoch)),
		"token in address":   c.do("POST", "/run/overnight/pause?csrf="+csrf+"&epoch="+epoch, url.Values{}),
		"another site":       c.do("POST", "/run/overnight/pause", form(csrf, epoch), "Sec-Fetch-Site", "cross-site"),
		"another origin":     c.do("POST", "/run/overnight/pause", form(csrf, epoch), "Origin", "http://evil.example"),
		"a sandboxed frame":  c.do("POST", "/run/overnight/pause", form(csrf, epoch), "Origin", "null"),
		"another local port": c.do("POST", "/run/overnight/pause", form(csrf, epoch), "Origin", "http://127.0.0.1:1"),
	} {
		if a.StatusCode != http.StatusForbidden || state() != jobs.Running {
			t.Errorf("%s: %s, run is %s", name, a.Status, state())
		}
	}
	c.do("POST", "/run/overnight/pause", form(csrf, "anotherepoch0")).want(t, 409)
	c.do("GET", "/run/overnight/pause", nil).want(t, 404)
	c.do("POST", "/run/overnight/explode", form(csrf, epoch)).want(t, 404)
	c.do("POST", "/run/nothing/pause", form(csrf, epoch)).want(t, 404)
	if state() != jobs.Running {
		t.Fatalf("run is %s", state())
	}

	c.do("POST", "/run/overnight/pause", form(csrf, epoch), "Sec-Fetch-Site", "same-origin").want(t, 303)
	if state() != jobs.Paused {
		t.Fatalf("run is %s", state())
	}
	// The page shows it at once.
	c.get("/run/overnight").want(t, 200, "s-paused", "confirm/resume")
	c.do("POST", "/run/overnight/pause", form(csrf, epoch)).want(t, 409, "paused")
	c.do("POST", "/run/overnight/resume", form(csrf, epoch)).want(t, 303)
	c.get("/run/overnight/confirm/retry").want(t, 200, "Try the failed cells again?")
	c.do("POST", "/run/overnight/retry", form(csrf, epoch)).want(t, 303)
	f.change(func() {
		if len(run.failures) != 0 || f.updates != 1 || run.Rev != 1 {
			t.Errorf("after retry: %d failures, %d updates, revision %d", len(run.failures), f.updates, run.Rev)
		}
	})
	c.do("POST", "/run/overnight/cancel", form(csrf, epoch)).want(t, 303)
	if state() != jobs.Cancelled {
		t.Errorf("run is %s", state())
	}
	c.do("POST", "/run/overnight/retry", form(csrf, epoch)).want(t, 409)
	c.do("POST", "/run/overnight/resume", form(csrf, epoch)).want(t, 409)
}

func TestReadOnly(t *testing.T) {
	f, run := lively(t)
	_, base := serveFake(t, Options{Store: f, Pace: fast, ReadOnly: true})
	c := newClient(t, base)
	if a := c.get("/run/overnight").want(t, 200); strings.Contains(a.body, "/confirm/") {
		t.Error("there are buttons")
	}
	c.get("/run/overnight/confirm/pause").want(t, 404)
	c.do("POST", "/run/overnight/pause", url.Values{"epoch": {run.ID.Epoch}}).want(t, 404)
}

func values(t testing.TB, query string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
