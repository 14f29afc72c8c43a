package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// testReopen opens cells of a finished run and computes them again.
func testReopen(t *testing.T, s *store.Store) {
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		w := Sweep(t, "s", keep, 31, 430_021)
		f := newRun(t, s, w)
		f.all()
		f.complete()
		first, last := w.Cells()
		opened := []int64{first, 7, 8, 4095, 4096, last - 1} // clipped ones, neighbours, both sides of a chunk's end
		if err := s.Reopen(f.ctx, f.run.ID, "s", opened, nil); err != nil {
			t.Fatal(err)
		}
		done := func(i int64) bool { return !slices.Contains(opened, i) }
		f.check(done)
		f.reread(1, jobs.Running)
		crcs, err := s.ReadCells(f.ctx, f.run.ID, w, 7, 8)
		if err != nil || crcs[0].CRC != 0 {
			t.Fatalf("CRC %08x, %v", crcs[0].CRC, err)
		}
		// Again is the same, but for the revision. Open cells may be named.
		if err := s.Reopen(f.ctx, f.run.ID, "s", opened[:2], nil); err != nil {
			t.Fatal(err)
		}
		f.check(done)
		f.reread(2, jobs.Running)
		// What was given out under an older revision has no clipped cells to bring,
		// and no records.
		older := f.commitOf(first+1, first+20)
		open, stale := 2, 0
		if keep == jobs.KeepSums {
			open, stale = 0, 19
		}
		f.commit(older, jobs.Committed{Stored: open, Same: 19 - open - stale, Stale: stale})
		f.run.Rev = 2
		opened = opened[open:]
		f.commit(f.commitOf(first, last), jobs.Committed{Stored: len(opened), Same: int(last-first) - len(opened)})
		f.check(always)
		if err := s.Delete(f.ctx, f.run.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// testReopenPoints does the same with points.
func testReopenPoints(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 0, 0, 7, 1_000_000_007), Sweep(t, "other", jobs.KeepValues, 1, 101))
	c := f.commitOf(0, 0)
	c.Points = []jobs.PointValue{jobs.NewPoint(7, Value(7)), jobs.NewPoint(1_000_000_007, Value(1_000_000_007))}
	f.commit(c, jobs.Committed{Stored: 2})
	other := Cells(f.run.Sweeps[1], 0, 2)
	f.commit(jobs.Commit{Run: f.run.ID, Sweep: "other", Keep: jobs.KeepValues, Cells: other, Worker: "w1"}, jobs.Committed{Stored: 2})
	bad := c
	bad.Task, bad.Points = "t2", []jobs.PointValue{jobs.NewPoint(7, Value(8))}
	f.commit(bad, jobs.Committed{Disputed: []int64{7}})
	f.complete()
	if err := s.Reopen(f.ctx, f.run.ID, "s", nil, []int64{7}); err != nil {
		t.Fatal(err)
	}
	f.reread(1, jobs.Running)
	if l := f.ledger(); l.PointDone(7) || !l.PointDone(1_000_000_007) {
		t.Fatal("the wrong points are open")
	}
	if d := f.disputes(); len(d) != 0 {
		t.Fatalf("left %+v", d)
	}
	counts, err := s.Counts(f.ctx, f.run.ID)
	if err != nil || counts["s"].Cells != 1 || counts["s"].Values != 1 || counts["other"].Cells != 2 || counts["other"].Values != 100 {
		t.Fatalf("counters %+v, %v", counts, err)
	}
	f.commit(c, jobs.Committed{Stored: 1, Same: 1})
}

// testReopenRefused: who may not open, and what does not set a run going.
func testReopenRefused(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	f.all()
	for _, state := range []jobs.State{jobs.Paused, jobs.Cancelled, jobs.Halted, jobs.Failed} {
		if err := s.SetState(f.ctx, f.run.ID, nil, state, "for a test"); err != nil {
			t.Fatal(err)
		}
		before, err := s.Run(f.ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Reopen(f.ctx, f.run.ID, "s", []int64{3}, nil); err != nil {
			t.Fatal(err)
		}
		want := state
		if state == jobs.Halted {
			want = jobs.Running
		}
		f.reread(before.Rev+1, want)
	}
	if err := s.Reopen(f.ctx, f.run.ID, "none", []int64{3}, nil); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("a sweep that is not there: %v", err)
	}
	key := "nsweep:{" + f.run.ID.String() + "}:done:s:0"
	if err := s.Client().Set(f.ctx, key, "short", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Reopen(f.ctx, f.run.ID, "s", []int64{3}, nil); !jobs.IsLasting(err) {
		t.Fatalf("a ledger that is damaged: %v", err)
	}
	if err := s.Delete(f.ctx, f.run.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Reopen(f.ctx, f.run.ID, "s", []int64{3}, nil); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("a run that is gone: %v", err)
	}
}

// complete gives the run a result and ends it.
func (f *fixture) complete() {
	f.Helper()
	if err := f.s.SetResult(f.ctx, f.run.ID, f.run.Rev, []byte("{}")); err != nil {
		f.Fatal(err)
	}
	if err := f.s.SetState(f.ctx, f.run.ID, []jobs.State{jobs.Running}, jobs.Complete, ""); err != nil {
		f.Fatal(err)
	}
}

// reread expects a run without result, in a state, at a revision.
func (f *fixture) reread(rev int64, state jobs.State) {
	f.Helper()
	run, err := f.s.Run(f.ctx, f.run.ID.Name)
	if err != nil {
		f.Fatal(err)
	}
	if run.Rev != rev || run.State != state || run.Result != nil {
		f.Fatalf("revision %d, state %s, result %q; want %d, %s and none", run.Rev, run.State, run.Result, rev, state)
	}
}
