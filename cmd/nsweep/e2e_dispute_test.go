package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/jobs"
)

// TestDisputesAreDecided stores, for some cells, two values from two workers that
// are gone: once the right one first and once the wrong one. The next run
// computes these cells a third time, and its digests are right.
func TestDisputesAreDecided(t *testing.T) {
	t.Parallel()
	onBoth(t, func(b *bench) {
		set := []string{"run", "--set", "sweeps.bezout=null", "--concurrency", "1"}
		b.call(codeDone, set...)
		want := digests(result(b.T, b.dir, b.env, "euler"))
		b.harm("euler", func(ctx context.Context, _ string, st *opened) {
			run, err := st.Run(ctx, "euler")
			if err != nil {
				b.Fatal(err)
			}
			w := run.Sweeps[0]
			right, err := st.ReadCells(ctx, run.ID, w, 3, 5)
			if err != nil {
				b.Fatal(err)
			}
			commit := func(worker string, rev int64, v jobs.CellValues, wrong bool) {
				v.Data = bytes.Clone(v.Data)
				if wrong {
					v.Data[7] ^= 1
				}
				v.CRC = jobs.CRC(v.Data)
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
		if !strings.Contains(out, "2 cells are disputed") {
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
