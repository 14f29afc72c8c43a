package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// originBy is the note of a worker's first task about the cells.
func originBy(worker, algorithm string, lo, hi int64) *jobs.Origin {
	return &jobs.Origin{Worker: jobs.Worker{ID: worker}, Lo: lo, Hi: hi, Algorithm: algorithm, Began: time.Now()}
}

// by makes a commit one of a worker.
func by(c jobs.Commit, worker, algorithm string) jobs.Commit {
	c.Worker, c.Task = worker, ""
	lo, hi := int64(1), int64(2)
	if k := len(c.Cells); k > 0 {
		lo, hi = c.Cells[0].Cell.Lo, c.Cells[k-1].Cell.Hi
	}
	c.Origin = originBy(worker, algorithm, lo, hi)
	return c
}

// check makes it a second computation.
func check(c jobs.Commit) jobs.Commit {
	c.Check, c.Origin.Second, c.Origin.Seq = true, true, 1
	return c
}

func (f *fixture) marks() *jobs.Marks {
	f.Helper()
	m, err := f.s.Marks(f.ctx, f.run.ID, f.sweep())
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// who writes the author and the checker of a cell, or of a point when cell is
// negative.
func (f *fixture) who(cell int64) string {
	f.Helper()
	m := f.marks()
	a, c := m.Cell(cell)
	if cell < 0 {
		a, c = m.Point(-cell)
	}
	x, _ := m.Hand(a)
	y, _ := m.Hand(c)
	return fmt.Sprintf("%s %s, %s %s", x.Worker, x.Algorithm, y.Worker, y.Algorithm)
}

func (f *fixture) want(cell int64, want string) {
	f.Helper()
	if got := f.who(cell); got != want {
		f.Fatalf("cell %d is from %q, want %q", cell, got, want)
	}
}

func (f *fixture) confirmed(want int64) {
	f.Helper()
	counts, err := f.s.Counts(f.ctx, f.run.ID)
	l := f.marks().Confirmed()
	if got := counts[f.sweep().Name].Confirmed; err != nil || got != want || l.DoneCells()+l.DonePoints() != want {
		f.Fatalf("%d are confirmed by the counter, %d by the marks, want %d; %v", got, l.DoneCells()+l.DonePoints(), want, err)
	}
}

// testMarks: who stored and who confirmed is known for each cell, over the ends
// of chunks, and through openings and new plans.
func testMarks(t *testing.T, s *store.Store) {
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		f := newRun(t, s, Sweep(t, "s", keep, 31, 430_021))
		first, last := f.sweep().Cells()
		half := (first + last) / 2
		f.commit(by(f.commitOf(first, half), "w1", "a"), jobs.Committed{Stored: int(half - first)})
		f.commit(by(f.commitOf(half, last), "w2", "a"), jobs.Committed{Stored: int(last - half)})
		f.want(first, "w1 a,  ")
		f.want(half, "w2 a,  ")
		f.confirmed(0)
		// A repetition confirms nothing.
		f.commit(by(f.commitOf(first, first+3), "w2", "a"), jobs.Committed{Same: 3})
		f.confirmed(0)
		f.commit(check(by(f.commitOf(first, first+3), "w2", "b")), jobs.Committed{Same: 3})
		f.confirmed(3)
		f.want(first, "w1 a, w2 b")
		f.want(first+3, "w1 a,  ")
		// The first who confirms is kept, the others are added.
		f.commit(check(by(f.commitOf(first+1, first+5), "w1", "b")), jobs.Committed{Same: 4})
		f.confirmed(5)
		f.want(first+2, "w1 a, w2 b")
		f.want(first+4, "w1 a, w1 b")
		f.commit(check(by(f.commitOf(4094, 4099), "w3", "b")), jobs.Committed{Same: 5})
		f.confirmed(10)
		f.want(4098, "w2 a, w3 b")
		// What is opened and stored again is confirmed by nobody.
		if err := s.Reopen(f.ctx, f.run.ID, "s", []int64{first, first + 1, 4096}, nil); err != nil {
			t.Fatal(err)
		}
		f.run.Rev++
		f.commit(by(f.commitOf(first, first+3), "w4", "a"), jobs.Committed{Stored: 2, Same: 1})
		f.commit(by(f.commitOf(4096, 4097), "w4", "a"), jobs.Committed{Stored: 1})
		f.want(first+1, "w4 a,  ")
		f.want(first+2, "w1 a, w2 b")
		f.want(4096, "w4 a,  ")
		f.confirmed(7)
		// A check of a cell that is open stores nothing: it may be by another
		// algorithm than the sweep's.
		if err := s.Reopen(f.ctx, f.run.ID, "s", []int64{first + 2}, nil); err != nil {
			t.Fatal(err)
		}
		f.run.Rev++
		f.commit(check(by(f.commitOf(first+2, first+3), "w1", "b")), jobs.Committed{Stale: 1})
		f.commit(check(by(f.commitOf(first+1, first+4), "w1", "b")), jobs.Committed{Same: 2, Stale: 1})
		f.commit(by(f.commitOf(first+2, first+3), "w1", "a"), jobs.Committed{Stored: 1})
		f.want(first+2, "w1 a,  ")
		f.check(always)
		if err := s.Delete(f.ctx, f.run.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// testMarksOfPoints does the same with points.
func testMarksOfPoints(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 0, 0, 7, 11, 1_000_000_007))
	c := f.commitOf(0, 0)
	for _, n := range []int64{7, 11, 1_000_000_007} {
		c.Points = append(c.Points, jobs.NewPoint(n, Value(n)))
	}
	f.commit(by(c, "w1", "a"), jobs.Committed{Stored: 3})
	some := c
	some.Points = c.Points[:2]
	f.commit(check(by(some, "w2", "b")), jobs.Committed{Same: 2})
	f.commit(check(by(c, "w3", "b")), jobs.Committed{Same: 3})
	f.want(-7, "w1 a, w2 b")
	f.want(-1_000_000_007, "w1 a, w3 b")
	f.confirmed(3)
	got, err := s.ReadPoints(f.ctx, f.run.ID, "s", []int64{7, 11, 1_000_000_007})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(c.Points) {
		t.Fatalf("read %v, %v", got, err)
	}
	if err := s.Reopen(f.ctx, f.run.ID, "s", nil, []int64{11}); err != nil {
		t.Fatal(err)
	}
	f.run.Rev++
	f.confirmed(2)
	f.commit(check(by(c, "w4", "b")), jobs.Committed{Same: 2, Stale: 1})
	f.commit(by(c, "w4", "a"), jobs.Committed{Stored: 1, Same: 2})
	f.want(-11, "w4 a,  ")
	f.want(-7, "w1 a, w2 b")
	f.confirmed(2)
}

// testMarksOfDisputes: the worker that decides has confirmed the cell, whichever
// value wins.
func testMarksOfDisputes(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	bad := by(f.commitOf(0, 2), "w1", "a")
	bad.Cells = wrong(bad.Cells, 4)
	f.commit(bad, jobs.Committed{Stored: 2})
	f.commit(check(by(f.commitOf(0, 1), "w2", "b")), jobs.Committed{Disputed: []int64{1}})
	f.confirmed(0)
	f.commit(by(f.commitOf(0, 1), "w3", "a"), jobs.Committed{Stored: 1})
	f.want(0, "w2 b, w3 a")
	f.confirmed(1)
	// Its own word weighs as much as the value it stored, not twice.
	f.commit(by(f.commitOf(5, 6), "w4", "a"), jobs.Committed{Stored: 1})
	lie := by(f.commitOf(5, 6), "w5", "a")
	lie.Cells = wrong(lie.Cells, 4)
	f.commit(check(lie), jobs.Committed{Disputed: []int64{251}})
	f.commit(by(f.commitOf(5, 6), "w4", "b"), jobs.Committed{Disputed: []int64{251}})
	f.commit(by(f.commitOf(5, 6), "w6", "b"), jobs.Committed{Same: 1})
	f.want(5, "w4 a, w6 b")
	f.confirmed(2)
	if d := f.disputes(); len(d) != 0 {
		t.Fatalf("left %+v", d)
	}
}
