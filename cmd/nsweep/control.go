package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/jobs"
)

// control describes a command that moves a run from one state to another.
type control struct {
	use, short, long string
	from             []jobs.State
	to               jobs.State
	done             string
}

func (a *app) controlCmd(k control) *cobra.Command {
	return &cobra.Command{
		Use: k.use + " RUN", Short: k.short, Long: k.long,
		Example:           fmt.Sprintf("  nsweep %s euler", k.use),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(ctx context.Context, st *opened, run jobs.Run) error {
				if run.State == k.to {
					fmt.Fprintf(a.err, "run %s is %s already\n", run.ID.Name, k.to)
					return nil
				}
				err := st.SetState(ctx, run.ID, k.from, k.to, "")
				var wrong *jobs.StateError
				if errors.As(err, &wrong) {
					return usagef("run %s is %s; nsweep %s is for runs that are %s", run.ID.Name, wrong.State, k.use, stateList(k.from))
				}
				if err == nil {
					fmt.Fprintf(a.err, k.done+"\n", run.ID.Name)
				}
				return err
			})
		},
	}
}

// stateList writes "paused", or "running, paused or halted".
func stateList(states []jobs.State) string {
	texts := make([]string, len(states))
	for i, s := range states {
		texts[i] = string(s)
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// withRun opens the store, reads the run and calls f.
func (a *app) withRun(ctx context.Context, name string, f func(context.Context, *opened, jobs.Run) error) (err error) {
	st, run, err := a.openFor(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return f(ctx, st, run)
}

func (a *app) pauseCmd() *cobra.Command {
	return a.controlCmd(control{use: "pause", short: "Give out no more work of a run",
		long: "Gives out no more work of a run. Tasks under way are finished and stored.",
		from: []jobs.State{jobs.Running}, to: jobs.Paused, done: "run %s is paused"})
}

func (a *app) resumeCmd() *cobra.Command {
	return a.controlCmd(control{use: "resume", short: "Go on with a paused run",
		long: "Goes on with a paused run, where a scheduler or \"nsweep run\" is at work.",
		from: []jobs.State{jobs.Paused}, to: jobs.Running, done: "run %s goes on"})
}

func (a *app) cancelCmd() *cobra.Command {
	return a.controlCmd(control{use: "cancel", short: "End a run, keeping its values",
		long: "Ends a run. What is stored is kept; nothing more is accepted until the experiment\nis run or submitted again.",
		from: []jobs.State{jobs.Running, jobs.Paused, jobs.Failed, jobs.Halted}, to: jobs.Cancelled, done: "run %s is cancelled"})
}

func (a *app) retryCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "retry RUN",
		Short:             "Try the failed cells of a run again",
		Long:              "Forgets which cells failed and lets the run go on with them. Nothing else is\ncomputed again.",
		Example:           "  nsweep retry euler",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(ctx context.Context, st *opened, run jobs.Run) error {
				fails, err := st.Failures(ctx, run.ID)
				if err != nil {
					return err
				}
				if len(fails) == 0 {
					fmt.Fprintf(a.err, "run %s has no failed cells\n", run.ID.Name)
					return nil
				}
				if err := st.ClearFailures(ctx, run.ID); err != nil {
					return err
				}
				// A new revision makes a scheduler that leads the run read it anew.
				if _, err := st.Update(ctx, run.Manifest); err != nil {
					return err
				}
				fmt.Fprintf(a.err, "run %s tries %d failed stretches again\n", run.ID.Name, len(fails))
				return nil
			})
		},
	}
}

func (a *app) deleteCmd() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "delete RUN",
		Short: "Delete a run with all its values",
		Long: `Deletes a run and every value it holds. Workers that still compute for it are
refused. Asks for --yes, because nothing brings the values back.`,
		Example:           `  nsweep delete euler --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.delete(cmd.Context(), args[0], yes)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "really delete")
	return c
}

// delete removes a run, also one that cannot be read.
func (a *app) delete(ctx context.Context, name string, yes bool) (err error) {
	st, err := a.openLook(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	run, err := st.find(ctx, name)
	damaged, err := jobs.Damaged(err)
	switch {
	case err != nil:
		return err
	case len(damaged) > 0:
		run.ID = damaged[0].ID
	}
	if !yes {
		return usagef("delete %s: this deletes every stored value of the run in %s; say --yes", name, st.where)
	}
	if err := st.Delete(ctx, run.ID); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "run %s is deleted\n", name)
	return nil
}
