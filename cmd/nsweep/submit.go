package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) submitCmd() *cobra.Command {
	var o runOptions
	var waitFor bool
	c := &cobra.Command{
		Use:   "submit [FILE]",
		Short: "Hand an experiment to the schedulers and workers of a store",
		Long: `Checks an experiment and writes it into the store, where "nsweep scheduler" and
"nsweep worker" processes take it up. Submitting it again changes checkpoints,
sums and ranges; values that are there are kept.`,
		Example: `  nsweep submit cluster --redis redis://redis.lan:6379/0
  nsweep submit my.yaml --wait        wait for the end and print the result`,
		Args:              oneFile,
		ValidArgsFunction: experimentArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.submit(cmd.Context(), first(args), o, waitFor)
		},
	}
	o.register(c)
	c.Flags().BoolVar(&waitFor, "wait", false, "wait until the run has ended, show its progress and print the result")
	return c
}

func (a *app) submit(ctx context.Context, file string, o runOptions, waitFor bool) (err error) {
	if o.json && !waitFor {
		return usagef("--json is for the result, which only --wait has; for how the run stands see nsweep status --json")
	}
	e, sweeps, err := a.load(file, o.sets)
	if err != nil {
		return err
	}
	st, err := a.open(ctx, e.Settings, share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := a.checkMemory(ctx, st, e.Name, sweeps); err != nil {
		return err
	}
	en, err := ensureRun(ctx, st, e.Name, planOf(e, sweeps), o.fresh)
	if err != nil {
		return err
	}
	a.announce(st, en)
	if !en.done {
		a.missWorkers(ctx, st, en)
	}
	if !waitFor {
		return nil
	}
	if err := a.await(ctx, st, en); err != nil {
		return err
	}
	return a.conclude(ctx, st, en, o.json)
}

// missWorkers says so when nobody is there to compute the run.
func (a *app) missWorkers(ctx context.Context, st *opened, en ensured) {
	s, err := a.fullStatus(ctx, st, en.run)
	if err == nil && len(s.atHand()) == 0 {
		fmt.Fprintf(a.err, "no worker is there to compute it; it waits for nsweep worker and nsweep scheduler\n")
	}
}

// await watches a run until it has ended.
func (a *app) await(ctx context.Context, st *opened, en ensured) error {
	show := a.newDisplay(en.run)
	defer show.Close()
	name := en.run.ID.Name
	for {
		p, err := storeProgress(ctx, st, name)
		switch {
		case ctx.Err() != nil:
			return coded(codeStopped, fmt.Errorf("no longer waiting; run %s goes on", name))
		case err != nil:
			show.Note(fmt.Sprintf("store out of reach: %v", err))
		default:
			show.Update(p)
			run, err := st.Run(ctx, name)
			if err == nil && run.State.Ended() {
				return nil
			}
		}
		wait(ctx, 300*time.Millisecond)
	}
}
