package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/scheduler"
)

func (a *app) schedulerCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "scheduler",
		Short: "Give out the work of every run in the store, until stopped",
		Long: `Leads the runs of a store: plans their tasks, keeps a window of them in the
queues, gives out again what was lost, sums up and checks. Several schedulers
may run; each run is led by one of them, and another takes over when it is gone.`,
		Example: `  nsweep scheduler --redis redis://redis.lan:6379/0
  NSWEEP_REDIS_URL=redis://redis.lan:6379/0 nsweep scheduler -v`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveScheduler(cmd.Context()) },
	}
}

func (a *app) serveScheduler(ctx context.Context) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	st, err := a.open(ctx, s, share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	me := self(0)
	svc := a.newService(st, me.ID, scheduler.NewModel(a.reg, a.calibrate(a.reg.Names()...)), nil)
	fmt.Fprintf(a.err, "scheduler %s on %s\n", me.ID, st.where)
	return svc.Run(ctx)
}

func (a *app) workerCmd() *cobra.Command {
	var engines []string
	c := &cobra.Command{
		Use:   "worker",
		Short: "Compute tasks of every run in the store, until stopped",
		Long: `Takes tasks from the queues of the engines it has, computes them and commits the
values. On SIGINT or SIGTERM it takes no more, commits what it has and leaves;
the rest is given out again. Workers may join and leave at any time.`,
		Example: `  nsweep worker --redis redis://redis.lan:6379/0
  nsweep worker --concurrency 4 --engine bezout`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveWorker(cmd.Context(), engines) },
	}
	c.Flags().StringSliceVar(&engines, "engine", nil, "take only tasks of these engines (default all)")
	return c
}

func (a *app) serveWorker(ctx context.Context, engines []string) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if len(engines) == 0 {
		engines = a.reg.Names()
	}
	me := self(slots(s.Workers))
	if me.Queues, err = a.queues(engines); err != nil {
		return coded(codeUsage, err)
	}
	for _, name := range engines {
		eng, err := a.reg.Get(name)
		if err != nil {
			return coded(codeUsage, err)
		}
		if err := eng.SelfTest(ctx); err != nil {
			return fmt.Errorf("engine %s computes wrong values on this machine, so it does not work: %w", name, err)
		}
	}
	st, err := a.open(ctx, s, share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	w, srv := a.newWorker(st, me)
	fmt.Fprintf(a.err, "worker %s with %d slots on %s\n", me.ID, me.Slots, st.where)
	return w.Run(ctx, srv)
}
