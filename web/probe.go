package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ProbeOptions are what a worker or a scheduler serves beside its work.
type ProbeOptions struct {
	Metrics *Metrics
	// Ready returns why the process cannot do its work now, or nil. It is
	// called for each request and must not block.
	Ready func() error
	// Token and Hosts are as in [Options].
	Token string
	Hosts []string
	Log   *slog.Logger
}

// ServeProbe serves /metrics, /healthz and /readyz on ln until ctx ends, and
// waits for what it has started. It closes ln. Without token it refuses a
// listener that other machines reach. The error is nil when ctx ended.
func ServeProbe(ctx context.Context, ln net.Listener, o ProbeOptions) error {
	all := Options{Store: noStore{}, Metrics: o.Metrics, Token: o.Token, Hosts: o.Hosts, Log: o.Log}
	err := all.complete()
	if err == nil && all.Token == "" && !Loopback(ln) {
		err = fmt.Errorf("web: %s can be reached from other machines, which needs a token", ln.Addr())
	}
	if err == nil && o.Ready == nil {
		err = errors.New("web: ProbeOptions.Ready is missing")
	}
	if err != nil {
		_ = ln.Close() // it is not served
		return err
	}
	s := &Server{o: all, guard: newGuard(o.Token, o.Hosts, time.Now), cross: http.NewCrossOriginProtection(), now: time.Now}
	m := http.NewServeMux()
	m.HandleFunc("GET /healthz", healthz)
	m.HandleFunc("GET /readyz", readyz(o.Ready))
	m.HandleFunc("GET /metrics", s.bearerOnly(all.Metrics.Handler().ServeHTTP))
	s.handler = m
	err = serve(ctx, s, newCapped(ln, 32), all.Log, func() {})
	s.flight.land()
	return err
}

// noStore satisfies Options.complete for a server that reads no store.
type noStore struct{ Store }

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
