package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

func (a *app) getCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "get RUN SWEEP N…",
		Short: "Print stored values",
		Long: `Prints stored values as lines "n value". N is a number or a range such as 1..1000.
Where a sweep keeps sums only, the values are computed again.`,
		Example: `  nsweep get euler hopping 20
  nsweep get euler hopping 1..1000
  nsweep get euler bezout 1e9 --json`,
		Args:              cobra.MinimumNArgs(3),
		ValidArgsFunction: a.runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.get(cmd.Context(), args[0], args[1], args[2:], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line; numbers above 2^53 as strings")
	return c
}

func (a *app) get(ctx context.Context, name, sweep string, ns []string, asJSON bool) (err error) {
	var ranges [][2]int64
	for _, s := range ns {
		lo, hi, err := parseRange(s)
		if err != nil {
			return err
		}
		ranges = append(ranges, [2]int64{lo, hi})
	}
	st, run, err := a.openFor(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s, err := findSweep(run, sweep)
	if err != nil {
		return err
	}
	ledger, err := st.Ledger(ctx, run.ID, s)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(a.out, 1<<16)
	p := valuePrinter{out: out, json: asJSON}
	for _, r := range ranges {
		if err = a.getRange(ctx, st, run.ID, s, ledger, r[0], r[1], p.print); err != nil {
			break
		}
	}
	return errors.Join(err, out.Flush())
}

// getRange emits the sweep's values at n in [lo, hi). Each of them must be
// there, and one of them must be in the sweep.
func (a *app) getRange(ctx context.Context, st *opened, id jobs.RunID, s jobs.Sweep, l *jobs.Ledger, lo, hi int64, emit func(engine.Piece) error) error {
	if hi-lo == 1 && !s.Set.Contains(lo) {
		return fmt.Errorf("n = %d is not in sweep %s (%s)", lo, s.Name, s.Set)
	}
	src := source{sweep: s, lo: lo, hi: hi}
	if !src.any() {
		return fmt.Errorf("no n of %d..%d is in sweep %s (%s)", lo, hi-1, s.Name, s.Set)
	}
	if w := src.wanted(); s.Keep == jobs.KeepSums && w.Hi > w.Lo {
		return a.recompute(ctx, s, w.Lo, w.Hi, emit)
	}
	src.values = aggregator.Scan(ctx, st.Store, id, s, l, lo, hi)
	err := report.Each(src.values, src.wanted(), emit)
	var p *report.PartialError
	if errors.As(err, &p) {
		return fmt.Errorf("sweep %s: %w", s.Name, err)
	}
	return err
}

// recompute evaluates values that are not kept.
func (a *app) recompute(ctx context.Context, s jobs.Sweep, lo, hi int64, emit func(engine.Piece) error) error {
	eng, err := a.reg.Get(s.Engine)
	if err != nil {
		return err
	}
	w, err := eng.Resolve(engine.Work{Algorithm: s.Algorithm, Params: s.Params, Lo: lo, Hi: hi})
	if err != nil {
		return err
	}
	return eng.Compute(ctx, w, engine.Sink{Emit: emit, Warn: a.warn})
}
