package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// probePace is the pause between two questions to the store.
	probePace = time.Second
	// probeWithin bounds the wait for an answer.
	probeWithin = 3 * time.Second
)

// ProbeOptions are what a worker serves beside its work.
type ProbeOptions struct {
	Metrics *Metrics
	// Time asks the store for its clock. The answer's time is observed, and
	// while there is none the process is not ready.
	Time func(context.Context) (time.Time, error)
	// Token is as in [Options].
	Token string
	Log   *slog.Logger

	// Pace is the pause between two questions to the store, 1 s.
	Pace time.Duration

	waits waits
}

// ServeProbe serves /metrics, /healthz and /readyz on ln until ctx ends, and
// waits for what it has started. It closes ln. Without token it refuses a
// listener that other machines reach. The error is nil when ctx ended. It adds
// nsweep_store_up to the metrics; they must not be those of a [Server].
func ServeProbe(ctx context.Context, ln net.Listener, o ProbeOptions) error {
	all := Options{Store: noStore{}, Metrics: o.Metrics, Token: o.Token, Log: o.Log, MetricsOnly: true, waits: o.waits}
	err := all.complete()
	if err == nil && all.Token == "" && !Loopback(ln) {
		err = fmt.Errorf("web: %s can be reached from other machines, which needs a token", ln.Addr())
	}
	if err == nil && o.Time == nil {
		err = errors.New("web: ProbeOptions.Time is missing")
	}
	if err != nil {
		_ = ln.Close() // it is not served
		return err
	}
	if o.Pace <= 0 {
		o.Pace = probePace
	}
	p := &probe{o: o, metrics: all.Metrics}
	up := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "nsweep_store_up", Help: "1 while the store answers, else 0."}, p.up)
	if err := all.Metrics.reg.Register(up); err != nil {
		_ = ln.Close() // it is not served
		return fmt.Errorf("web: ProbeOptions.Metrics: %w", err)
	}
	s := &Server{o: all, guard: newGuard(o.Token, nil, time.Now), cross: http.NewCrossOriginProtection(), now: time.Now}
	s.handler = s.bare(p.notReady)

	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	err = serve(ctx, s, newCapped(ln, 32), &all, func() {})
	cancel()
	s.flight.land()
	wg.Wait()
	return err
}

// probe asks the store for a sign of life.
type probe struct {
	o       ProbeOptions
	metrics *Metrics
	ready   atomic.Bool
}

// run asks until ctx ends.
func (p *probe) run(ctx context.Context) {
	tick := time.NewTicker(p.o.Pace)
	defer tick.Stop()
	for {
		p.ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *probe) ask(ctx context.Context) {
	try, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	begin := time.Now()
	_, err := p.o.Time(try)
	if err == nil {
		p.metrics.ObserveStore(time.Since(begin))
	}
	p.ready.Store(err == nil)
}

func (p *probe) notReady() error {
	if !p.ready.Load() {
		return errors.New("the store does not answer")
	}
	return nil
}

func (p *probe) up() float64 {
	if p.ready.Load() {
		return 1
	}
	return 0
}

// noStore satisfies Options.complete for a server that reads no store.
type noStore struct{ Store }

// bare is what there is without pages. A foreign name that is made to point here
// gains nothing where a token is asked for, so names need not be known then.
func (s *Server) bare(notReady func() error) http.Handler {
	s.guard.any = !s.guard.open
	m := http.NewServeMux()
	m.HandleFunc("GET /healthz", healthz)
	m.HandleFunc("GET /readyz", readyz(notReady))
	m.HandleFunc("GET /metrics", s.bearerOnly(s.o.Metrics.Handler().ServeHTTP))
	return m
}

// bearerOnly lets in programs that send the token.
func (s *Server) bearerOnly(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		addr := remote(r)
		token, _ := bearer(r)
		switch {
		case s.guard.open:
			h(w, r)
		case !s.guard.tries.allowed(addr):
			http.Error(w, "Too many wrong tokens. Wait a minute.", http.StatusTooManyRequests)
		case !s.guard.known(token):
			s.guard.tries.spend(addr)
			w.Header().Set("WWW-Authenticate", `Bearer realm="nsweep"`)
			http.Error(w, "The metrics ask for the token.", http.StatusUnauthorized)
		default:
			h(w, r)
		}
	}
}
