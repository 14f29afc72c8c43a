package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// TestButtonShowsItsWork has a look at the store come between the press of a
// button and what it does: the page is not shown again before a look that began
// afterwards.
func TestButtonShowsItsWork(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{waits: patient})
	r := f.add("r", toySweep(t, "s", 50, 1, 1001))
	s.hub.look("r")
	s.look(0)
	page := httptest.NewRecorder()
	s.Handler().ServeHTTP(page, httptest.NewRequest("GET", "http://127.0.0.1/run/r", nil))
	csrf := csrfField.FindStringSubmatch(page.Body.String())
	if csrf == nil {
		t.Fatalf("no form on\n%s", page.Body)
	}
	// The look reads the run as it was and is published before it is changed.
	f.before = func() { s.look(time.Second) }
	press := httptest.NewRequest("POST", "http://127.0.0.1/run/r/pause", strings.NewReader(url.Values{"csrf": {csrf[1]}, "epoch": {r.ID.Epoch}}.Encode()))
	press.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range page.Result().Cookies() {
		press.AddCookie(c)
	}
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Handler().ServeHTTP(w, press)
	}()
	for waits := true; waits; {
		select {
		case <-done:
			waits = false
		case <-s.hub.kick: // the poller is asked for a look
			s.look(time.Second)
		}
	}
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the button answers %d: %s", w.Code, w.Body)
	}
	if is := s.hub.current().Run("r").State; is != jobs.Paused {
		t.Errorf("the page that follows shows the run as %s", is)
	}
}

// TestReadyWithSomethingToShow: whoever hears that the server is ready finds what
// the look has seen.
func TestReadyWithSomethingToShow(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	f.add("r", toySweep(t, "s", 50, 1, 1001))
	told := 0
	s.poller.ready = func(err error) {
		told++
		if x := s.hub.current(); x == nil || (x.Lost == "") != (err == nil) {
			t.Errorf("look %d: told %v, to show is %+v", told, err, x)
		}
	}
	s.look(0)
	f.err = errors.New("gone")
	s.look(time.Second)
	if told != 2 {
		t.Errorf("told %d times of 2 looks", told)
	}
}
