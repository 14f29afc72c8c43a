package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// listener reads messages of a stream.
type listener struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
}

func listen(t testing.TB, c *client, path string) *listener {
	t.Helper()
	r, err := c.http.Get(c.base + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Body.Close() })
	if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s: %s, %s", path, r.Status, r.Header.Get("Content-Type"))
	}
	return &listener{t, r.Body, bufio.NewReader(r.Body)}
}

// next returns the next message.
func (l *listener) next() (m message) {
	l.t.Helper()
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			l.t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				l.t.Fatalf("%v: %s", err, data)
			}
			return m
		}
	}
}

// TestStreamSendsChanges follows a run: first everything, then what changed.
func TestStreamSendsChanges(t *testing.T) {
	f, r := lively(t)
	s, base := serveFake(t, Options{Store: f, Pace: fast})
	c := newClient(t, base)
	l := listen(t, c, "/stream?run=overnight")
	m := l.next()
	for len(m.Parts) == 0 || m.Heat["squares"] == "" {
		m = l.next()
	}
	if len(m.Parts) != len(runParts) || !strings.Contains(m.Parts["sweeps"], "squares") || m.State != jobs.Running {
		t.Fatalf("first message: %+v", m)
	}
	// Until all is summed up, and the first look after that was told, things go on
	// changing by themselves.
	for s.poller.folds.next() != nil {
		l.next()
	}
	for range 3 {
		m = l.next()
	}
	heat, failures := m.Heat["squares"], m.Failures
	f.change(func() { r.finish("squares", 700, 701) })
	for sweeps := ""; !strings.Contains(sweeps, "661 of 1,000 cells"); sweeps = m.Parts["sweeps"] {
		// The time that is left is estimated anew meanwhile.
		if m = l.next(); m.Failures != failures || m.Parts["events"] != "" || m.Parts["tasks"] != "" || m.Parts["workers"] != "" {
			t.Errorf("after a cell: %+v", m)
		}
	}
	if m.Heat["squares"] == heat {
		t.Errorf("the map is as before: %+v", m)
	}
	f.change(func() { r.failures = nil })
	for m = l.next(); m.Failures == failures; m = l.next() {
	}
	f.change(func() { f.runs = nil })
	for m = l.next(); !m.Gone; m = l.next() {
	}
}

// TestSlowViewer opens a stream and never reads it. The server must go on
// publishing, serve others, and end.
func TestSlowViewer(t *testing.T) {
	f, r := lively(t)
	s, base := serveFake(t, Options{Store: f, Pace: time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(1024); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET /stream?run=overnight HTTP/1.1\r\nHost: localhost\r\n\r\n")
	c := newClient(t, base)
	l := listen(t, c, "/stream?run=overnight")
	f.change(func() {
		for i := range 40 {
			f.worker(strings.Repeat("x", 4000)+fmt.Sprint(i), 1)
		}
	})
	// Large messages fill the connection of the one who does not read: from
	// then on its signal stays where it is.
	stuck := func() (n int) {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		for v := range s.hub.viewers {
			n += len(v.wake)
		}
		return n
	}
	for i, full := int64(0), 0; full < 20; i++ {
		f.change(func() {
			f.workers[i%40].PID++
			r.finish("squares", 700+i%300, 701+i%300)
		})
		l.next()
		if stuck() > 0 {
			full++
		} else {
			full = 0
		}
		if i > 3000 {
			t.Fatal("the connection is never full")
		}
	}
	// At the end the keen viewer has seen the latest state.
	for m := l.next(); m.Values < s.hub.current().Run("overnight").Values; m = l.next() {
	}
	c.get("/healthz").want(t, http.StatusOK)
	// All that while the one who does not read was there.
	if viewers, _, _ := s.hub.stats(); viewers != 2 {
		t.Errorf("%d viewers are left, want both", viewers)
	}
}
