package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/web"
)

// listener is where a process can be looked at. The nil one is nowhere.
type listener struct {
	net.Listener
	token string
}

// listen opens an address for the flag that names it. Without host that is
// 127.0.0.1. An address that other machines reach needs a token; remedy says how
// to give one.
func listen(flag, addr, token, remedy string) (*listener, error) {
	if n := len(token); n > 0 && n < web.MinToken {
		return nil, usagef("the token for --%s has %d characters: %s of at least %d", flag, n, remedy, web.MinToken)
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usagef("--%s %s: want HOST:PORT, such as 127.0.0.1:8391", flag, addr)
	}
	ln, err := net.Listen("tcp", addr)
	var bad *net.AddrError
	switch {
	case errors.As(err, &bad): // a port that cannot be
		return nil, usagef("--%s %s: %s; want HOST:PORT, such as 127.0.0.1:8391", flag, addr, bad.Err)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--%s %s: another process listens there already; end it or take another port", flag, addr)
	case err != nil:
		return nil, fmt.Errorf("--%s %s: %w", flag, addr, err)
	}
	if token == "" && !web.Loopback(ln) {
		ln.Close()
		return nil, usagef("--%s %s can be reached from other machines: %s of at least %d characters", flag, addr, remedy, web.MinToken)
	}
	return &listener{ln, token}, nil
}

// listenMetrics opens the address for metrics, if one is wanted.
func (a *app) listenMetrics(m config.Metrics) (*listener, error) {
	if m.Listen == "" {
		return nil, nil
	}
	l, err := listen("metrics-listen", m.Listen, m.Token.Reveal(), "give a --metrics-token-file or "+config.EnvMetricsToken)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(a.err, "metrics on http://%s/metrics\n", l.Addr())
	return l, nil
}

// close lets go of the address. It may be called again.
func (l *listener) close() {
	if l != nil {
		_ = l.Close() // whoever served on it has closed it already
	}
}

// beside calls f while serve runs until its context ends. What goes wrong with
// serving is told when f has ended.
func beside(ctx context.Context, serve func(context.Context) error, f func() error) error {
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var served error
	wg.Go(func() { served = serve(ctx) })
	err := f()
	stop()
	wg.Wait()
	return errors.Join(err, served)
}

// withRunMetrics calls f while metrics about the runs of the store are served.
func (a *app) withRunMetrics(ctx context.Context, st *opened, l *listener, m *web.Metrics, have *sums, f func() error) error {
	if l == nil {
		return f()
	}
	inspector := asynq.NewInspectorFromRedisClient(st.Client())
	srv, err := web.New(web.Options{
		Store: st, Engines: a.reg, Token: l.token, Metrics: m, MetricsOnly: true, IdlePace: intervals().watch, Partial: have.partial, Verified: confirmedOf(st), Log: a.log(),
		QueueDepth: func(context.Context) (map[string]int, error) { return queueDepth(inspector) },
	})
	if err != nil {
		return err
	}
	return beside(ctx, func(ctx context.Context) error { return srv.Run(ctx, l) }, f)
}

// withWorkerMetrics calls f while metrics about this process are served.
func (a *app) withWorkerMetrics(ctx context.Context, st *opened, l *listener, m *web.Metrics, f func() error) error {
	if l == nil {
		return f()
	}
	return beside(ctx, func(ctx context.Context) error {
		return web.ServeProbe(ctx, l, web.ProbeOptions{Metrics: m, Time: st.Time, Token: l.token, Log: a.log()})
	}, f)
}
