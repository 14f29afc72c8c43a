package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Server serves the dashboard. Make one with [New].
type Server struct {
	o       Options
	guard   *guard
	hub     *hub
	poller  *poller
	pages   *pages
	handler http.Handler
	cross   *http.CrossOriginProtection
	plots   chan struct{} // one slot for each picture that is being drawn
	now     func() time.Time

	flight  flight
	ready   atomic.Pointer[readiness]
	running atomic.Bool
}

// New returns a server, or an error that names the option that is wrong.
// Nothing runs before [Server.Run].
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return newServer(o, time.Now)
}

func newServer(o Options, now func() time.Time) (*Server, error) {
	s := &Server{o: o, now: now, cross: http.NewCrossOriginProtection(), plots: make(chan struct{}, maxPlots)}
	s.guard = newGuard(o.Token, o.Hosts, now)
	s.hub = newHub(o.MaxStreams, o.MaxStreamsPer, now)
	s.poller = &poller{o: &s.o, hub: s.hub, folds: newFolder(o.Store), costs: costs{o.Engines}, now: now,
		tracks: map[jobs.RunID]*tracker{}, ready: s.setReady}
	s.setReady(errors.New("the store was not asked yet"))
	var err error
	if s.pages, err = newPages(); err != nil {
		return nil, err
	}
	s.handler = s.routes()
	if o.MetricsOnly {
		s.handler = s.bare(s.notReady)
	}
	o.Metrics.follow(s.hub, &s.o)
	return s, nil
}

// Handler serves the dashboard's requests. They are answered from what
// [Server.Run] has read last.
func (s *Server) Handler() http.Handler { return s }

// Loopback reports whether only this machine can reach a listener.
func Loopback(ln net.Listener) bool {
	switch a := ln.Addr().(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// Run serves on ln and reads the store until ctx ends; then it waits for all
// that it has started, and closes ln. It may be called once. Without token it
// refuses a listener that other machines reach. The error is nil when ctx ended.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	if s.running.Swap(true) {
		_ = ln.Close() // it is not served
		return errors.New("web: the server runs already")
	}
	if s.guard.open && !Loopback(ln) {
		_ = ln.Close() // it is not served
		return fmt.Errorf("web: %s can be reached from other machines, which needs a token", ln.Addr())
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.poller.run(ctx) })
	wg.Go(func() { s.poller.folds.run(ctx) })
	err := serve(ctx, s, newCapped(ln, s.o.MaxConns), &s.o, s.hub.close)
	cancel()
	s.flight.land()
	wg.Wait()
	return err
}

// flight counts requests under way, for Run to wait for. The zero value lets
// everybody in.
type flight struct {
	mu     sync.Mutex
	count  int
	landed chan struct{} // closed when the last has left, once nobody may enter
}

func (f *flight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.landed != nil {
		return false
	}
	f.count++
	return true
}

func (f *flight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count--; f.count == 0 && f.landed != nil {
		close(f.landed)
	}
}

// land lets nobody enter any more and waits for the rest to leave.
func (f *flight) land() {
	f.mu.Lock()
	f.landed = make(chan struct{})
	if f.count == 0 {
		close(f.landed)
	}
	f.mu.Unlock()
	<-f.landed
}

// ServeHTTP lets a request through the guard to its handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.flight.enter() {
		return // the server is gone, and so is the connection
	}
	defer s.flight.leave()
	secure(w.Header())
	if !s.guard.addressed(r.Host) {
		http.Error(w, "This server is not called that. Use its IP address, localhost, or a name that it was told.", http.StatusMisdirectedRequest)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := s.cross.Check(r); err != nil {
		s.fail(w, r, http.StatusForbidden, "The request came from another site.")
		return
	}
	s.handler.ServeHTTP(w, r)
}
