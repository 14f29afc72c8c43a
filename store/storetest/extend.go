package storetest

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// reach changes the range of the first sweep.
func (f *fixture) reach(lo, hi int64) {
	f.Helper()
	m := f.run.Manifest
	w := f.sweep()
	w.Set.Lo, w.Set.Hi = lo, hi
	m.Sweeps = append([]jobs.Sweep{w}, m.Sweeps[1:]...)
	run, err := f.s.Update(f.ctx, m)
	if err != nil {
		f.Fatal(err)
	}
	if run.Rev != m.Rev+1 || run.State != jobs.Running {
		f.Fatalf("after update: revision %d, state %s", run.Rev, run.State)
	}
	stored, err := f.s.Run(f.ctx, f.run.ID.Name)
	if err != nil || stored.Rev != run.Rev || stored.Sweeps[0].Set.Hi != hi {
		f.Fatalf("stored revision %d to %d, %v", stored.Rev, stored.Sweeps[0].Set.Hi, err)
	}
	f.run = run
}

// open lists the unfinished cells.
func (f *fixture) open() []int64 {
	f.Helper()
	l := f.ledger()
	var open []int64
	for i := l.NextOpen(l.First); i < l.First+l.Count; i = l.NextOpen(i + 1) {
		open = append(open, i)
	}
	return open
}

// fill commits what is open.
func (f *fixture) fill() {
	f.Helper()
	l := f.ledger()
	for i := l.NextOpen(l.First); i < l.First+l.Count; {
		to := l.NextDone(i)
		f.commit(f.commitOf(i, to), jobs.Committed{Stored: int(to - i)})
		i = l.NextOpen(to)
	}
	f.check(always)
}

func testExtend(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	if err := s.SetState(f.ctx, f.run.ID, nil, jobs.Complete, ""); err != nil {
		t.Fatal(err)
	}
	f.all() // 1…1020: cell 20 is clipped
	f.check(always)

	f.reach(1, 2001)
	if open := f.open(); len(open) != 20 || open[0] != 20 {
		t.Fatalf("after 1…1020 → 2000 the cells %v are open", open)
	}
	f.check(func(i int64) bool { return i < 20 })
	f.fill()

	f.reach(1, 1011)
	if open := f.open(); len(open) != 1 || open[0] != 20 {
		t.Fatalf("after → 1010 the cells %v are open", open)
	}
	f.fill()

	f.reach(1, 2001)
	if open := f.open(); len(open) != 1 || open[0] != 20 {
		t.Fatalf("after → 2000 the cells %v are open", open)
	}
	f.fill()

	// To 5000, over a border of blocks: the first block has full length since
	// it was made, the next is new.
	f.reach(1, 5001)
	if open := f.open(); len(open) != 60 {
		t.Fatalf("%d cells are open", len(open))
	}
	f.fill()
	// At the other end.
	f.reach(77, 5001)
	if open := f.open(); len(open) != 1 || open[0] != 1 {
		t.Fatalf("after 77… the cells %v are open", open)
	}
	f.fill()
	f.reach(1, 5001)
	f.fill()
}

// testExtendRandom moves the ends of a range about; after each move only the
// clipped cells and the new n may be open, and what is filled in is right.
func testExtendRandom(t *testing.T, s *store.Store) {
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		lo, hi := int64(1), rapid.Int64Range(100, 700).Draw(r, "hi")
		f := newRun2(t, s, fmt.Sprint("x", round), Sweep(t, "s", jobs.KeepValues, lo, hi))
		defer func() {
			if err := s.Delete(f.ctx, f.run.ID); err != nil {
				t.Error(err)
			}
		}()
		known := map[int64]bool{} // cells that were whole and finished once
		for range rapid.IntRange(1, 5).Draw(r, "moves") {
			f.fill()
			first, last := f.sweep().Cells()
			for i := first; i < last; i++ {
				if _, whole := f.sweep().Cell(i); whole {
					known[i] = true
				} else {
					delete(known, i)
				}
			}
			lo = rapid.Int64Range(1, 600).Draw(r, "lo")
			hi = lo + rapid.Int64Range(1, 400).Draw(r, "len")
			f.reach(lo, hi)
			l := f.ledger()
			first, last = f.sweep().Cells()
			for i := first; i < last; i++ {
				if _, whole := f.sweep().Cell(i); whole && known[i] && !l.Done(i) {
					r.Fatalf("cell %d of %d…%d was finished and is open", i, lo, hi-1)
				}
			}
		}
		f.fill()
	})
}

func testStale(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	clipped, whole := f.commitOf(20, 21), f.commitOf(18, 20)
	f.reach(1, 2001)
	// The old plan's clipped cell is dropped, its whole cells are welcome.
	f.commit(clipped, jobs.Committed{Stale: 1})
	f.commit(whole, jobs.Committed{Stored: 2})
	f.check(func(i int64) bool { return i == 18 || i == 19 })
	wide := f.commitOf(19, 25)
	f.reach(1, 1021)
	// A cell that is whole in the old plan and clipped in the new one.
	f.commit(wide, jobs.Committed{Stored: 4, Same: 1, Stale: 1})
	if l := f.ledger(); l.Done(20) {
		t.Fatal("a whole cell stands where the plan has a clipped one")
	}
	// The clipped cell of the first plan is the one wanted now, but nobody
	// checks what other plans wanted: it is computed again.
	f.commit(clipped, jobs.Committed{Stale: 1})
	f.commit(f.commitOf(20, 21), jobs.Committed{Stored: 1})
	f.reach(1, 2001)
	f.fill()

	sums := newRun2(t, s, "sums", Sweep(t, "s", jobs.KeepSums, 1, 1001))
	old := sums.commitOf(3, 6)
	sums.reach(1, 2001)
	sums.commit(old, jobs.Committed{Stale: 3})
}

func testUpdateRefusals(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	f.all()
	old := f.run.Manifest
	f.reach(1, 1011)
	f.fill()
	if _, err := s.Update(f.ctx, old); !errors.Is(err, jobs.ErrChanged) {
		t.Fatalf("update from an old revision: %v", err)
	}
	// The same call again, as a client does that lost the answer.
	again := old
	w := again.Sweeps[0]
	w.Set.Hi = 1011
	again.Sweeps = []jobs.Sweep{w}
	if run, err := s.Update(f.ctx, again); err != nil || run.Rev != f.run.Rev {
		t.Fatalf("repeated update: revision %d, %v", run.Rev, err)
	}
	f.check(always)
	for what, change := range map[string]func(*jobs.Sweep){
		"engine":  func(w *jobs.Sweep) { w.Engine = "other" },
		"version": func(w *jobs.Sweep) { w.Version++ },
		"params":  func(w *jobs.Sweep) { w.Params = map[string]int64{"base": 3} },
		"keep":    func(w *jobs.Sweep) { w.Keep = jobs.KeepSums },
		"grid":    func(w *jobs.Sweep) { w.Grid.Version++ },
	} {
		m := f.run.Manifest
		w := m.Sweeps[0]
		w.Set.Hi = 5001
		change(&w)
		m.Sweeps = []jobs.Sweep{w}
		if _, err := s.Update(f.ctx, m); err == nil || !strings.Contains(err.Error(), "sweep s was stored as engine test") {
			t.Errorf("another %s: %v", what, err)
		}
	}
	if got, err := s.Run(f.ctx, "r"); err != nil || got.Rev != f.run.Rev || got.Sweeps[0].Set.Hi != 1011 {
		t.Fatalf("a refused update changed the run: %+v, %v", got.Manifest, err)
	}
	f.check(always)
}

func testSweepComesBack(t *testing.T, s *store.Store) {
	a, b := Sweep(t, "a", jobs.KeepValues, 1, 1021), Sweep(t, "b", jobs.KeepValues, 1, 101)
	f := newRun(t, s, a, b)
	f.all()
	c := f.commitOf(0, 1)
	update := func(sweeps ...jobs.Sweep) error {
		m := f.run.Manifest
		m.Sweeps = sweeps
		run, err := s.Update(f.ctx, m)
		if err == nil {
			f.run = run
		}
		return err
	}
	if err := update(b); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(f.ctx, c); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("commit to a sweep that left the plan: %v", err)
	}
	other := a
	other.Engine = "other"
	if err := update(other, b); err == nil {
		t.Fatal("another engine took over stored values")
	}
	a.Set.Hi = 2001
	if err := update(a, b); err != nil {
		t.Fatal(err)
	}
	if open := f.open(); len(open) != 20 || open[0] != 20 {
		t.Fatalf("open: %v", open)
	}
	f.fill()
}

func testRecordsUpdate(t *testing.T, s *store.Store) {
	w := Sweep(t, "s", jobs.KeepSums, 195_001, 215_001)
	w.Sums = []int{1, 3}
	w.Checkpoints = []jobs.Checkpoint{{N: 200_020, Want: big.NewInt(1)}}
	f := newRun(t, s, w)
	f.all()
	change := func(f2 func(*jobs.Sweep), open ...int64) {
		t.Helper()
		m := f.run.Manifest
		w := m.Sweeps[0]
		f2(&w)
		m.Sweeps = []jobs.Sweep{w}
		run, err := s.Update(f.ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		f.run = run
		got := f.open()
		if len(got) != len(open) || (len(open) > 0 && got[0] != open[0]) {
			t.Fatalf("open %d cells from %v, want %v", len(got), got[:min(3, len(got))], open[:min(3, len(open))])
		}
		f.fill()
	}
	// Fewer sums and checkpoints need nothing, a new checkpoint one cell.
	change(func(w *jobs.Sweep) { w.Sums, w.Checkpoints = []int{1}, nil })
	change(func(w *jobs.Sweep) {
		w.Checkpoints = []jobs.Checkpoint{{N: 210_000, Want: big.NewInt(1)}, {N: 210_000, Power: 1, Want: big.NewInt(1)}}
	}, 4199)
	// A new power needs every cell.
	var every []int64
	first, last := f.sweep().Cells()
	for i := first; i < last; i++ {
		every = append(every, i)
	}
	change(func(w *jobs.Sweep) { w.Sums = []int{1, 2} }, every...)
}
