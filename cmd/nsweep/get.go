package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
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
	s, ok := run.Sweep(sweep)
	if !ok {
		var names []string
		for _, x := range run.Sweeps {
			names = append(names, x.Name)
		}
		return usagef("run %s has no sweep %q, want one of %v", name, sweep, names)
	}
	ledger, err := st.Ledger(ctx, run.ID, s)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(a.out, 1<<16)
	p := valuePrinter{out: out, json: asJSON}
	g := getter{app: a, st: st, run: run, sweep: s, ledger: ledger, emit: p.print}
	for _, r := range ranges {
		if err := g.get(ctx, r[0], r[1]); err != nil {
			out.Flush()
			return err
		}
	}
	return out.Flush()
}

// getter reads stored values in order of n.
type getter struct {
	app    *app
	st     *opened
	run    jobs.Run
	sweep  jobs.Sweep
	ledger *jobs.Ledger
	emit   func(engine.Piece) error
}

// get emits the values at n in [lo, hi), each of which must be stored.
func (g *getter) get(ctx context.Context, lo, hi int64) error {
	for n := lo; n < hi; {
		switch {
		case n >= g.sweep.Set.Lo && n < g.sweep.Set.Hi:
			end := min(hi, g.sweep.Set.Hi)
			if err := g.dense(ctx, n, end); err != nil {
				return err
			}
			n = end
		case g.sweep.Set.Contains(n):
			if err := g.point(ctx, n); err != nil {
				return err
			}
			n++
		case hi-lo == 1:
			return fmt.Errorf("n = %d is not in sweep %s (%s)", n, g.sweep.Name, g.sweep.Set)
		default:
			// A range shows the n of the sweep that lie in it.
			k, _ := slices.BinarySearch(g.sweep.Set.Points, n)
			next := hi
			if k < len(g.sweep.Set.Points) {
				next = min(next, g.sweep.Set.Points[k])
			}
			if n < g.sweep.Set.Lo {
				next = min(next, g.sweep.Set.Lo)
			}
			n = next
		}
	}
	return nil
}

func (g *getter) point(ctx context.Context, n int64) error {
	got, err := g.st.ReadPoints(ctx, g.run.ID, g.sweep.Name, []int64{n})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return g.missing(n)
	}
	if got[0].CRC != jobs.PointCRC(n, got[0].Value) {
		return coded(codeMismatch, &aggregator.CorruptError{Sweep: g.sweep.Name, N: n, Why: "its CRC differs"})
	}
	return g.emit(engine.Piece{Lo: n, Wide: []engine.Int128{got[0].Value}})
}

func (g *getter) missing(n int64) error {
	return fmt.Errorf("n = %d of sweep %s is not computed yet", n, g.sweep.Name)
}

// dense emits stored cells, some at a time, cut to [lo, hi).
func (g *getter) dense(ctx context.Context, lo, hi int64) error {
	first, last := g.sweep.Grid.Range(lo, hi)
	if open := g.ledger.NextOpen(first); open < last {
		c, _ := g.sweep.Cell(open)
		return g.missing(max(c.Lo, lo))
	}
	if g.sweep.Keep == jobs.KeepSums {
		return g.app.recompute(ctx, g.sweep, lo, hi, g.emit)
	}
	const batch = 64
	var buf engine.Piece
	for i := first; i < last; i += batch {
		cells, err := g.st.ReadCells(ctx, g.run.ID, g.sweep, i, min(i+batch, last))
		if err != nil {
			return err
		}
		for _, c := range cells {
			if jobs.CRC(c.Data) != c.CRC || int64(len(c.Data)) != c.Cell.Len()*int64(c.Width) {
				return coded(codeMismatch, &aggregator.CorruptError{Sweep: g.sweep.Name, Cell: c.Cell, Why: "its CRC differs"})
			}
			p, err := jobs.DecodeValues(buf, c.Cell.Lo, c.Width, c.Data)
			if err != nil {
				return err
			}
			buf = p
			from, to := max(lo, c.Cell.Lo), min(hi, c.Cell.Hi)
			if err := g.emit(p.Slice(int(from-p.Lo), int(to-p.Lo))); err != nil {
				return err
			}
		}
	}
	return nil
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
