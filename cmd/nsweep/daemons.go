package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/scheduler"
	"github.com/nsweep/nsweep/web"
)

func (a *app) schedulerCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "scheduler",
		Short: "Give out the work of every run in the store, until stopped",
		Long: `Leads the runs of a store: plans their tasks, keeps a window of them in the
queues, gives out again what was lost, sums up and checks. Several schedulers
may run; each run is led by one of them, and another takes over when it is gone.

--metrics-listen serves /metrics for Prometheus, /healthz and /readyz. Beyond
127.0.0.1 that takes a token.`,
		Example: `  nsweep scheduler --redis redis://redis.lan:6379/0
  NSWEEP_REDIS_URL=redis://redis.lan:6379/0 nsweep scheduler -v
  nsweep scheduler --metrics-listen 127.0.0.1:8392`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inOrder(cmd.Context(), a.serveScheduler(cmd.Context()))
		},
	}
}

func (a *app) serveScheduler(ctx context.Context) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	l, err := a.listenMetrics(s.Metrics)
	if err != nil {
		return err
	}
	defer l.close()
	st, err := a.open(ctx, s, share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.MayWrite(ctx); err != nil {
		return err
	}
	me := self(0)
	var have sums
	svc := a.newService(st, me.ID, scheduler.NewModel(a.reg, a.calibrate(a.reg.Names()...)), &have, nil)
	fmt.Fprintf(a.err, "scheduler %s on %s\n", me.ID, st.where)
	return a.withRunMetrics(ctx, st, l, web.NewMetrics(), &have, func() error {
		return a.withMessages(ctx, st, "", func() error { return svc.Run(ctx) })
	})
}

func (a *app) workerCmd() *cobra.Command {
	var engines []string
	var l limits
	c := &cobra.Command{
		Use:   "worker",
		Short: "Compute tasks of every run in the store, until stopped",
		Long: `Takes tasks from the queues of the engines it has, computes them and commits the
values. On SIGINT or SIGTERM it takes no more, commits what it has and leaves;
the rest is given out again. Workers may join and leave at any time.

It begins with a self-test: an engine that gives a known value wrong makes it
refuse to work, with exit code 1. Where two others agree against what it computed
it is put into quarantine: the run takes nothing more from it, and it ends with
exit code 3.

--for and --until do the same at their time. --max-memory has the memory
collected harder near the limit; when it stays above it for 10 s the worker
leaves with exit code 1, so that whoever supervises it starts a new one.
Tasks that have not ended --drain-timeout after the signal are left behind.

--metrics-listen serves /metrics for Prometheus, /healthz and /readyz. Beyond
127.0.0.1 that takes a token.`,
		Example: `  nsweep worker --redis redis://redis.lan:6379/0
  nsweep worker --concurrency 4 --engine bezout
  nsweep worker --until 07:00 --nice 10 --max-memory 4GiB`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveWorker(cmd.Context(), engines, l) },
	}
	c.Flags().StringSliceVar(&engines, "engine", nil, "take only tasks of these `engines` (default all)")
	l.register(c)
	return c
}

func (a *app) serveWorker(ctx context.Context, engines []string, l limits) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	p, err := l.check(time.Now())
	if err != nil {
		return err
	}
	ctx, unwatch, err := l.apply(ctx, p)
	if err != nil {
		return err
	}
	defer unwatch()
	err = inOrder(ctx, a.work(ctx, s, engines, l.drain, p.end))
	if text := why(ctx); text != "" {
		fmt.Fprintf(a.err, "worker stopped%s\n", text)
	}
	var fat errTooFat
	if err == nil && errors.As(context.Cause(ctx), &fat) {
		return &codedError{code: codeFailed, err: fat, quiet: true}
	}
	return err
}

// work computes tasks of the engines, all where none is named, until ctx ends,
// which it does at the given time if any.
func (a *app) work(ctx context.Context, s config.Settings, engines []string, drain time.Duration, end time.Time) (err error) {
	if len(engines) == 0 {
		engines = a.reg.Names()
	}
	me := self(slots(s.Workers))
	if me.Queues, err = a.queues(engines); err != nil {
		return usagef("--engine: %w", err)
	}
	if err := a.selfTest(ctx, engines); err != nil {
		return err
	}
	ln, err := a.listenMetrics(s.Metrics)
	if err != nil {
		return err
	}
	defer ln.close()
	st, err := a.open(ctx, s, share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.MayWrite(ctx); err != nil {
		return err
	}
	m := web.NewMetrics()
	w, srv := a.newWorker(st, me, drain, m)
	fmt.Fprintf(a.err, "worker %s with %d slots on %s\n", me.ID, me.Slots, st.where)
	a.announceEnd(end)
	return expelled(me.ID, a.withWorkerMetrics(ctx, st, ln, m, func() error { return w.Run(ctx, srv) }))
}

// expelled says what a worker's end in quarantine means: the machine or the
// program computes wrong values, and must not be started again unseen.
func expelled(worker string, err error) error {
	if !errors.Is(err, jobs.ErrQuarantined) {
		return err
	}
	return coded(codeMismatch, fmt.Errorf("worker %s stops for good: %w; test this machine before it works again", worker, err))
}

// selfTest lets the named engines compute a few known values. A machine on which
// one of them comes out wrong must not work.
func (a *app) selfTest(ctx context.Context, engines []string) error {
	for _, name := range engines {
		eng, err := a.reg.Get(name)
		if err != nil {
			return coded(codeUsage, err)
		}
		switch err := eng.SelfTest(ctx); {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("engine %s computes wrong values on this machine, so it does not work: %w", name, err)
		}
	}
	return nil
}
