package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/jobs"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	sample    string
	seed      uint64
	algorithm string
	json      bool
}

func (a *app) verifyCmd() *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify RUN",
		Short: "Prove a run anew and compute a share of it a second time",
		Long: `Reads everything that is stored of a run and proves it from nothing: every n
once, with the bytes that were computed, the checkpoints met, the digests those
that the run ended with. It goes on after damage and lists every cell of it.

A share of the cells is computed again in this process, by another algorithm than
the run's where one reaches and does not take a hundred times as long, else by the
same from a start of its own. At least one cell or point of each sweep is among
them; --seed picks others.

Of k wrong values in different cells, a share p misses all with the probability
(1-p)^k; --sample all misses none. --sample 0 computes nothing.

Cells that come out the same are noted as confirmed; "nsweep report" counts them.
What does not hold is opened again: the next "nsweep run" computes it anew.
Exit code 3 when something is wrong, 4 when all is right but the run is not
complete.`,
		Example: `  nsweep verify euler
  nsweep verify euler --sample all --json
  nsweep verify euler --sample 10% --seed 2 --algorithm table`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runArgs,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.verify(cmd.Context(), args[0], o) },
	}
	f := c.Flags()
	f.StringVar(&o.sample, "sample", "2%", "`share` of the cells to compute again: a percentage or all")
	f.Uint64Var(&o.seed, "seed", 1, "`number` that picks the cells")
	f.StringVar(&o.algorithm, "algorithm", "", "compute again by this `algorithm`, where the engine has it")
	f.BoolVar(&o.json, "json", false, "as JSON")
	return c
}

func (a *app) verify(ctx context.Context, name string, o verifyOptions) error {
	share, err := config.ParseShare(o.sample)
	if err != nil {
		return usagef("--sample: %v", err)
	}
	return a.withRun(ctx, name, func(ctx context.Context, st *opened, run jobs.Run) error {
		if err := a.canVerify(run, o.algorithm); err != nil {
			return err
		}
		v := &verifier{app: a, st: st, run: run, sample: jobs.Sample{Millionths: share, Seed: o.seed}, algorithm: o.algorithm, me: self(runtime.GOMAXPROCS(0))}
		report, err := v.verify(ctx)
		if err != nil {
			return err
		}
		if o.json {
			err = writeJSON(a.out, report)
		} else {
			err = report.print(a.out)
		}
		return errors.Join(err, report.outcome())
	})
}

// canVerify refuses sweeps of engines that this program has not, and an algorithm
// that none of the engines has.
func (a *app) canVerify(run jobs.Run, algorithm string) error {
	known := algorithm == ""
	var have []string
	for _, s := range run.Sweeps {
		eng, err := a.reg.Get(s.Engine)
		if err != nil {
			return err
		}
		info := eng.Info()
		if info.Version != s.Version || info.Grid.Version != s.Grid.Version {
			return fmt.Errorf("sweep %s was computed by engine %s with value version %d and grid %d, this program has %d and %d",
				s.Name, s.Engine, s.Version, s.Grid.Version, info.Version, info.Grid.Version)
		}
		_, ok := info.Algorithm(algorithm)
		known = known || ok
		if text := fmt.Sprintf("%s of %s", strings.Join(info.AlgorithmNames(), ", "), s.Engine); !slices.Contains(have, text) {
			have = append(have, text)
		}
	}
	if !known {
		return usagef("--algorithm %s: no engine of run %s has it; want %s", algorithm, run.ID.Name, strings.Join(have, ", or "))
	}
	return nil
}

// verifier verifies one run.
type verifier struct {
	*app
	st        *opened
	run       jobs.Run
	sample    jobs.Sample
	algorithm string
	me        jobs.Worker  // as the one who confirms
	tasks     atomic.Int64 // that confirmed
}

// verify proves, audits, computes again and opens what does not hold.
func (v *verifier) verify(ctx context.Context) (*verifyReport, error) {
	ledgers := map[string]*jobs.Ledger{}
	for _, s := range v.run.Sweeps {
		l, err := v.st.Ledger(ctx, v.run.ID, s)
		if err != nil {
			return nil, err
		}
		ledgers[s.Name] = l
	}
	result, proofErr := aggregator.Prove(ctx, v.st.Store, v.run.Manifest, ledgers)
	if proofErr != nil && !provable(proofErr) {
		return nil, proofErr
	}
	out := &verifyReport{Run: v.run.ID.Name, Epoch: v.run.ID.Epoch, State: v.run.State, Complete: proofErr == nil, Sample: v.sample.String(), Seed: v.sample.Seed}
	for _, s := range v.run.Sweeps {
		got, _ := result.Sweep(s.Name)
		sv, err := v.sweep(ctx, s, ledgers[s.Name], got, proofErr != nil)
		if err != nil {
			return nil, err
		}
		out.Sweeps = append(out.Sweeps, sv)
	}
	return out, v.reopen(ctx, out)
}

// provable reports whether an error of a proof is about what is stored, and not
// about reading it.
func provable(err error) bool {
	var gap *aggregator.GapError
	var miss *aggregator.MismatchError
	var rot *aggregator.CorruptError
	var lack *aggregator.LackError
	return errors.As(err, &gap) || errors.As(err, &miss) || errors.As(err, &rot) || errors.As(err, &lack) || jobs.IsLasting(err)
}

// sweep verifies one sweep. audit says that the proof found something, here or
// in another sweep.
func (v *verifier) sweep(ctx context.Context, s jobs.Sweep, l *jobs.Ledger, got aggregator.SweepResult, audit bool) (*verifySweep, error) {
	sv := &verifySweep{Name: s.Name, N: s.Set.String(), Count: aggregator.Int(s.Set.Count()), Complete: got.Complete,
		Cells: l.DoneCells() + l.DonePoints(), CellsTotal: s.CellCount(), Text: got.Text, Tree: got.Tree}
	for _, c := range got.Checkpoints {
		if c.Status == aggregator.Mismatch {
			sv.Checkpoints = append(sv.Checkpoints, c)
		}
	}
	if g := aggregator.Gap(s, l); g != nil {
		sv.Missing = aggregator.Int(g.Missing)
		sv.Lost = v.run.State == jobs.Complete
	}
	bad := damaged{}
	if audit {
		_, err := aggregator.Audit(ctx, v.st.Store, v.run.ID, s, l, func(d aggregator.Damage) error {
			bad.add(d.Cell.Index, d.N)
			sv.Damaged = append(sv.Damaged, newFinding(d.Cell, d.N, d.Why))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if err := v.recompute(ctx, s, l, bad, sv); err != nil {
		return nil, err
	}
	for _, f := range sv.Different {
		bad.add(f.cell, int64(f.N))
	}
	sv.cells, sv.points = bad.lists()
	if v.run.State == jobs.Complete && len(v.run.Result) > 0 && sv.Complete {
		before, err := aggregator.Decode(v.run.Result)
		if err != nil {
			return nil, err
		}
		if was, ok := before.Sweep(s.Name); ok && was.Tree != got.Tree {
			sv.WasTree = was.Tree
		}
	}
	return sv, nil
}

// reopen opens what was found not to hold, unless the plan was changed since it
// was read: then cells at the ends of a range may be others.
func (v *verifier) reopen(ctx context.Context, r *verifyReport) error {
	for _, sv := range r.Sweeps {
		if len(sv.cells)+len(sv.points) == 0 && !sv.Lost {
			continue
		}
		if !r.Reopened {
			_, rev, err := v.st.Status(ctx, v.run.ID)
			if err != nil {
				return err
			}
			if rev != v.run.Rev {
				return fmt.Errorf("run %s: %w; verify it again", v.run.ID.Name, jobs.ErrChanged)
			}
		}
		if err := v.st.Reopen(ctx, v.run.ID, sv.Name, sv.cells, sv.points); err != nil {
			return err
		}
		r.Reopened = true
	}
	return nil
}

// damaged holds the cells and points of a sweep that do not hold.
type damaged struct{ cells, points map[int64]bool }

// add notes the point n, or the cell with this grid index when n is 0.
func (d *damaged) add(cell, n int64) {
	m := &d.cells
	if n != 0 {
		m, cell = &d.points, n
	}
	if *m == nil {
		*m = map[int64]bool{}
	}
	(*m)[cell] = true
}

// lists returns both in rising order.
func (d *damaged) lists() (cells, points []int64) {
	for i := range d.cells {
		cells = append(cells, i)
	}
	for n := range d.points {
		points = append(points, n)
	}
	slices.Sort(cells)
	slices.Sort(points)
	return cells, points
}
