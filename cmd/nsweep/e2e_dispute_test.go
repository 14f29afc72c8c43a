package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// harmed completes euler without its second sweep and has what is stored changed.
// It returns the command that puts it right, and the digests that are due then.
func harmed(b *bench, change func(ctx context.Context, st *opened, run jobs.Run, w jobs.Sweep)) (again []string, want string) {
	b.Helper()
	again = []string{"run", "--set", "sweeps.bezout=null", "--concurrency", "1"}
	b.call(codeDone, again...)
	want = digests(result(b.T, b.dir, b.env, "euler"))
	b.harm("euler", func(ctx context.Context, _ string, st *opened) {
		run, err := st.Run(ctx, "euler")
		if err != nil {
			b.Fatal(err)
		}
		change(ctx, st, run, run.Sweeps[0])
	})
	return again, want
}

// spoiled returns a cell with one wrong value and a CRC that fits it.
func spoiled(v jobs.CellValues) jobs.CellValues {
	v.Data = bytes.Clone(v.Data)
	v.Data[7] ^= 1
	v.CRC = jobs.CRC(v.Data)
	return v
}

// TestDisputesAreDecided stores, for some cells, two values from two workers that
// are gone: once the right one first and once the wrong one. The next run
// computes these cells a third time, and its digests are right.
func TestDisputesAreDecided(t *testing.T) {
	t.Parallel()
	onBoth(t, func(b *bench) {
		set, want := harmed(b, func(ctx context.Context, st *opened, run jobs.Run, w jobs.Sweep) {
			right, err := st.ReadCells(ctx, run.ID, w, 3, 5)
			if err != nil {
				b.Fatal(err)
			}
			commit := func(worker string, rev int64, v jobs.CellValues, wrong bool) {
				if wrong {
					v = spoiled(v)
				}
				_, err := st.Commit(ctx, jobs.Commit{Run: run.ID, Sweep: w.Name, Keep: w.Keep, Rev: rev, Worker: worker, Cells: []jobs.CellValues{v}})
				if err != nil {
					b.Fatal(err)
				}
			}
			// Cell 3 has the right value, another worker contradicts.
			commit("ghost1", run.Rev, right[0], true)
			// Cell 4 gets the wrong value first.
			if err := st.Reopen(ctx, run.ID, w.Name, []int64{4}, nil); err != nil {
				b.Fatal(err)
			}
			commit("ghost1", run.Rev+1, right[1], true)
			commit("ghost2", run.Rev+1, right[1], false)
			if d, err := st.Disputes(ctx, run.ID, w); err != nil || len(d) != 2 {
				b.Fatalf("disputes %+v, %v", d, err)
			}
		})
		out, _ := b.call(codeDone, "status", "euler")
		if !strings.Contains(out, "2 cells disputed") {
			b.Errorf("status says\n%s", out)
		}
		b.call(codeDone, set...)
		if got := digests(result(b.T, b.dir, b.env, "euler")); got != want {
			b.Errorf("after the decision:\n%s\nwant\n%s", got, want)
		}
		if s := b.state(); s.State != jobs.Complete || s.Sweeps[0].Disputed != 0 {
			b.Errorf("status %+v", s)
		}
	})
}

// TestQuarantineIsCarriedOut: a worker that is gone lost a dispute while nobody
// led the run. The next run opens what only that worker had computed, computes it
// again, and has the right digests.
func TestQuarantineIsCarriedOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(b *bench) {
		set, want := harmed(b, func(ctx context.Context, st *opened, run jobs.Run, w jobs.Sweep) {
			right, err := st.ReadCells(ctx, run.ID, w, 3, 8)
			if err == nil {
				err = st.Reopen(ctx, run.ID, w.Name, []int64{3, 4, 5, 6, 7}, nil)
			}
			if err != nil {
				b.Fatal(err)
			}
			commit := func(worker string, cells ...jobs.CellValues) {
				o := jobs.Origin{Worker: jobs.Worker{ID: worker}, Lo: cells[0].Cell.Lo, Hi: cells[len(cells)-1].Cell.Hi, Algorithm: "classes", Began: time.Now()}
				if _, err := st.Commit(ctx, jobs.Commit{Run: run.ID, Sweep: w.Name, Keep: w.Keep, Rev: run.Rev + 1, Worker: worker, Cells: cells, Origin: &o}); err != nil {
					b.Fatal(err)
				}
			}
			wrong := slices.Clone(right)
			for _, i := range []int{1, 3} { // the cells 4 and 6
				wrong[i] = spoiled(wrong[i])
			}
			commit("ghost1", wrong...)
			commit("ghost2", right[1])
			commit("ghost3", right[1])
			if list, err := st.Quarantines(ctx, run.Manifest); err != nil || len(list) != 1 || list[0].Worker != "ghost1" || !list[0].Pending {
				b.Fatalf("in quarantine: %+v, %v", list, err)
			}
		})
		if out, _ := b.call(codeDone, "status", "euler"); !strings.Contains(out, "in quarantine: worker ghost1") || !strings.Contains(out, "about to be computed again") {
			b.Errorf("status says\n%s", out)
		}
		b.call(codeDone, set...)
		if got := digests(result(b.T, b.dir, b.env, "euler")); got != want {
			b.Errorf("afterwards:\n%s\nwant\n%s", got, want)
		}
		v := verified(b.T, b.dir, b.env, "euler")
		if len(v.Quarantine) != 1 || v.Quarantine[0].Pending || v.Quarantine[0].Reopened != 4 || v.Quarantine[0].N != 202 {
			b.Errorf("in quarantine: %+v", v.Quarantine)
		}
		// A run that is complete has nothing left to do.
		if _, errs := b.call(codeDone, set...); !strings.Contains(errs, "is complete") {
			b.Errorf("says %s", errs)
		}
	})
}
