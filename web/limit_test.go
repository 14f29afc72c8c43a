package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	f, _ := lively(t)
	s, base := serveFake(t, Options{Store: f, Pace: fast, MaxStreams: 3, MaxStreamsPer: 2, MaxConns: 12})
	c := newClient(t, base)
	// Over a real connection the answer to a body that is too large can be lost
	// in the reset that follows it.
	large := httptest.NewRequest("POST", "http://127.0.0.1/run/overnight/pause", strings.NewReader("csrf="+strings.Repeat("x", maxBody)))
	large.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, large)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d", w.Code)
	}
	long, err := http.NewRequest("GET", base+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	long.Header.Set("X-Long", strings.Repeat("x", 40<<10))
	if r, err := c.http.Do(long); err == nil {
		_ = r.Body.Close()
		if r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a long header: %s", r.Status)
		}
	}
	c.get("/run/"+strings.Repeat("x", 200)).want(t, 404)

	// Streams: two from one address.
	var open []*http.Response
	for range 2 {
		r, err := c.http.Get(base + "/stream?run=overnight")
		if err != nil || r.StatusCode != 200 {
			t.Fatal(r, err)
		}
		open = append(open, r)
	}
	if a := c.get("/stream").want(t, 503); a.Header.Get("Retry-After") == "" {
		t.Error("no word on when to come again")
	}
	for _, r := range open {
		r.Body.Close()
	}
	deadline := time.Now().Add(hang)
	for {
		r, err := c.http.Get(base + "/stream")
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode == 200 {
			r.Body.Close()
			break
		}
		// Read to its end, so that the connection is used again: a new one each
		// time might be more than are allowed.
		_, err = io.Copy(io.Discard, r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("closed streams are never free again")
		}
	}
	c.get("/stream?run=../../etc").want(t, 400)
}

// TestConnectionsAreBounded opens more than are allowed: those beyond are
// closed, and one that is given back can be had again.
func TestConnectionsAreBounded(t *testing.T) {
	_, base := serveFake(t, Options{Store: newFake(), Pace: fast, MaxConns: 3})
	addr := strings.TrimPrefix(base, "http://")
	dial := func() net.Conn {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	// ask reports whether the connection is served.
	ask := func(c net.Conn) bool {
		_ = c.SetDeadline(time.Now().Add(hang))
		if _, err := fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return false
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		return err == nil && strings.Contains(line, "200")
	}
	var held []net.Conn
	for i := range 3 {
		c := dial()
		if !ask(c) {
			t.Fatalf("connection %d is not served", i)
		}
		held = append(held, c)
	}
	if ask(dial()) {
		t.Error("a fourth connection is served")
	}
	_ = held[0].Close()
	deadline := time.Now().Add(hang)
	for !ask(dial()) {
		if time.Now().After(deadline) {
			t.Fatal("a connection that was given back is never free again")
		}
	}
}

// otherMachines is a listener that looks as if others could reach it.
type otherMachines struct{ net.Listener }

func (otherMachines) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8391} }

func TestRunNeedsATokenOutside(t *testing.T) {
	listen := func() net.Listener {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return otherMachines{ln}
	}
	s, err := New(Options{Store: newFake()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background(), listen()); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("without token: %v", err)
	}
	if err := s.Run(context.Background(), listen()); err == nil {
		t.Error("a second Run is allowed")
	}
	s, err = New(Options{Store: newFake(), Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx, listen()); err != nil {
		t.Errorf("with token: %v", err)
	}
	if Loopback(listen()) {
		t.Error("192.0.2.1 counts as loopback")
	}
}

// TestRunEnds checks that Run ends by itself though streams are open, with no need
// to break anything off: it would be patient for longer than the test may take.
// That nothing is left is what goleak says when all tests are done.
func TestRunEnds(t *testing.T) {
	f, _ := lively(t)
	w := patient
	w.drain = 24 * time.Hour
	s, err := New(Options{Store: f, Pace: fast, waits: w})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, ln) }()
	c := newClient(t, "http://"+ln.Addr().String())
	for range 3 {
		r, err := c.http.Get(c.base + "/stream?run=overnight")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
