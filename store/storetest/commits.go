package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

func testCommit(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	f.check(func(int64) bool { return false })
	f.commit(f.commitOf(3, 7), jobs.Committed{Stored: 4})
	f.check(func(i int64) bool { return i >= 3 && i < 7 })
	// What a piece begins has its full length at once: the CRCs of the sweep's
	// twenty cells, a block, a chunk.
	prefix := "nsweep:{" + f.run.ID.String() + "}:"
	for key, want := range map[string]int64{"crc:s:0": 80, "val:s:0": 16_000, "done:s:0": 512} {
		if n, err := s.Client().StrLen(f.ctx, prefix+key).Result(); err != nil || n != want {
			t.Errorf("%s has %d bytes, want %d, %v", key, n, want, err)
		}
	}
	f.commit(f.commitOf(7, 20), jobs.Committed{Stored: 13})
	f.commit(f.commitOf(0, 3), jobs.Committed{Stored: 3})
	f.check(always)
	if l := f.ledger(); l.DoneCells() != 20 || l.NextOpen(0) != 20 {
		t.Fatalf("ledger has %d of 20 cells", l.DoneCells())
	}
}

func testWidths(t *testing.T, s *store.Store) {
	// From cells of 50 over 1000 to 20000, over every border of width, clipped
	// at both ends; more than one call of 1 MiB.
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 399_971, 1_100_001))
	first, last := f.sweep().Cells()
	mid := f.sweep().Grid.CellAt(590_500).Index
	f.commit(f.commitOf(mid, last), jobs.Committed{Stored: int(last - mid)})
	f.check(func(i int64) bool { return i >= mid })
	f.commit(f.commitOf(first, mid), jobs.Committed{Stored: int(mid - first)})
	f.check(always)

	far := newRun2(t, s, "far", Sweep(t, "s", jobs.KeepValues, engine.MaxN-41_233, engine.MaxN+1))
	far.all()
	far.check(always)
}

// newRun2 creates a run of another name.
func newRun2(t *testing.T, s *store.Store, name string, w jobs.Sweep) *fixture {
	t.Helper()
	f := &fixture{T: t, s: s, ctx: t.Context()}
	run, err := s.Create(f.ctx, jobs.Manifest{ID: jobs.RunID{Name: name}, Sweeps: []jobs.Sweep{w}})
	if err != nil {
		t.Fatal(err)
	}
	f.run = run
	return f
}

func testAgain(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 31, 1021))
	f.all()
	first, last := f.sweep().Cells()
	for i := range 2 {
		f.commit(f.commitOf(first, last), jobs.Committed{Same: int(last - first)})
		f.check(always)
		counts, err := s.Counts(f.ctx, f.run.ID)
		if err != nil || counts["s"].Repeated != int64(i+1)*(last-first) || counts["s"].Disputed != 0 {
			t.Fatalf("counters %+v, %v", counts["s"], err)
		}
	}
}

func testOverlap(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 30_001))
	f.commit(f.commitOf(75, 83), jobs.Committed{Stored: 8})
	f.commit(f.commitOf(100, 101), jobs.Committed{Stored: 1})
	f.commit(f.commitOf(79, 300), jobs.Committed{Stored: 216, Same: 5})
	f.check(func(i int64) bool { return i >= 75 && i < 300 })
	f.commit(f.commitOf(0, 600), jobs.Committed{Stored: 375, Same: 225})
	f.check(always)
}

// testOrders cuts a sweep into commits at random, gives them in any order, some
// twice and overlapping, and expects the same bytes in every key.
func testOrders(t *testing.T, s *store.Store) {
	// One over a border of chunks of the ledger, one over a change of cell size.
	sweeps := []jobs.Sweep{Sweep(t, "s", jobs.KeepValues, 201_031, 208_001), Sweep(t, "s", jobs.KeepValues, 396_031, 403_001)}
	var wants []map[string]string
	for i, w := range sweeps {
		ref := newRun2(t, s, fmt.Sprint("ref", i), w)
		ref.all()
		wants = append(wants, dump(ref))
	}
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		which := rapid.IntRange(0, 1).Draw(r, "sweep")
		w, want := sweeps[which], wants[which]
		first, last := w.Cells()
		f := newRun2(t, s, fmt.Sprint("r", round), w)
		defer func() {
			if err := s.Delete(f.ctx, f.run.ID); err != nil {
				t.Error(err)
			}
		}()
		var commits [][2]int64
		for lo := first; lo < last; {
			hi := min(last, lo+rapid.Int64Range(1, 50).Draw(r, "cells"))
			commits = append(commits, [2]int64{max(first, lo-rapid.Int64Range(0, 3).Draw(r, "overlap")), hi})
			lo = hi
		}
		for _, c := range rapid.Permutation(commits).Draw(r, "order") {
			if _, err := s.Commit(f.ctx, f.commitOf(c[0], c[1])); err != nil {
				r.Fatal(err)
			}
		}
		got := dump(f)
		if len(got) != len(want) {
			r.Fatalf("%d keys, want %d", len(got), len(want))
		}
		for key, value := range got {
			if want[key] != value {
				r.Fatalf("key %s differs", key)
			}
		}
	})
}

// dump returns the bitmaps, CRCs, values, points and clip notes of a run.
func dump(f *fixture) map[string]string {
	f.Helper()
	out := map[string]string{}
	prefix := "nsweep:{" + f.run.ID.String() + "}:"
	for _, key := range keysWith(f.T, f.s, f.run.ID.Epoch) {
		short := strings.TrimPrefix(key, prefix)
		switch kind, _, _ := strings.Cut(short, ":"); kind {
		case "done", "crc", "val":
			v, err := f.s.Client().Get(f.ctx, key).Result()
			if err != nil {
				f.Fatal(err)
			}
			out[short] = v
		case "clips", "points", "pcrc":
			v, err := f.s.Client().HGetAll(f.ctx, key).Result()
			if err != nil {
				f.Fatal(err)
			}
			for field, extent := range v {
				out[short+" "+field] = extent
			}
		}
	}
	return out
}

func testConcurrent(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 50_001))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var total jobs.Committed
	for g := range 4 {
		wg.Go(func() {
			// Two go up, two down, with pieces of their own sizes.
			rnd := rand.New(rand.NewPCG(uint64(g), 1))
			for lo := int64(0); lo < 1000; {
				hi := min(1000, lo+1+rnd.Int64N(60))
				a, b := lo, hi
				if g%2 == 1 {
					a, b = 1000-hi, 1000-lo
				}
				got, err := s.Commit(f.ctx, f.commitOf(a, b))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				total.Add(got)
				mu.Unlock()
				lo = hi
			}
		})
	}
	wg.Wait()
	if total.Stored != 1000 || total.Same != 3000 || len(total.Disputed) != 0 {
		t.Fatalf("together %+v", total)
	}
	f.check(always)
}

func testRefused(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	lo := int64(0)
	for _, state := range []jobs.State{jobs.Running, jobs.Paused, jobs.Complete, jobs.Halted, jobs.Failed, jobs.Cancelled} {
		if err := s.SetState(f.ctx, f.run.ID, nil, state, ""); err != nil {
			t.Fatal(err)
		}
		_, err := s.Commit(f.ctx, f.commitOf(lo, lo+1))
		var se *jobs.StateError
		if state.Accepts() {
			if err != nil {
				t.Errorf("%s: %v", state, err)
			}
			lo++
		} else if !errors.As(err, &se) || se.State != state || se.Run != f.run.ID {
			t.Errorf("%s: %v", state, err)
		}
	}
	f.check(func(i int64) bool { return i < lo })
	c := f.commitOf(5, 6)
	if err := s.SetState(f.ctx, f.run.ID, nil, jobs.Running, ""); err != nil {
		t.Fatal(err)
	}
	c.Sweep = "unknown"
	if _, err := s.Commit(f.ctx, c); !errors.Is(err, jobs.ErrFenced) {
		t.Errorf("a sweep that the run does not have: %v", err)
	}
	c = f.commitOf(5, 6)
	c.Run.Epoch = "other"
	if _, err := s.Commit(f.ctx, c); !errors.Is(err, jobs.ErrFenced) {
		t.Errorf("another epoch: %v", err)
	}
	f.check(func(i int64) bool { return i < lo })
}

func testDamaged(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001, 4000))
	bad := map[string]func(c *jobs.Commit){
		"CRC": func(c *jobs.Commit) { c.Cells[1].CRC++ },
		"length": func(c *jobs.Commit) {
			c.Cells[1].Data = c.Cells[1].Data[4:]
			c.Cells[1].CRC = jobs.CRC(c.Cells[1].Data)
		},
		"width":     func(c *jobs.Commit) { c.Cells[1].Width = 5 },
		"gap":       func(c *jobs.Commit) { c.Cells = append(c.Cells[:1], c.Cells[2:]...) },
		"keep":      func(c *jobs.Commit) { c.Keep = "some" },
		"backwards": func(c *jobs.Commit) { c.Cells[0].Cell.Hi = c.Cells[0].Cell.Lo },
		"point":     func(c *jobs.Commit) { c.Points = []jobs.PointValue{{N: 4000, Value: Value(4000), CRC: 1}} },
		"point n":   func(c *jobs.Commit) { c.Points = []jobs.PointValue{jobs.NewPoint(0, Value(1))} },
		"no record": func(c *jobs.Commit) { c.Keep = jobs.KeepSums; c.Cells[1].Data = nil; c.Cells[1].CRC = jobs.CRC(nil) },
	}
	for what, damage := range bad {
		c := f.commitOf(0, 4)
		damage(&c)
		if _, err := s.Commit(f.ctx, c); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
	f.check(func(int64) bool { return false })
}

func testPoints(t *testing.T, s *store.Store) {
	ns := []int64{3, 5_000, 700_000, 1_000_000_007, engine.MaxN}
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 0, 0, ns...))
	points := make([]jobs.PointValue, len(ns))
	for i, n := range ns {
		points[i] = jobs.NewPoint(n, Value(n))
	}
	points[3] = jobs.NewPoint(ns[3], engine.Int128{Hi: -1 << 63}) // −2^127
	c := f.commitOf(0, 0)
	c.Points = points[1:4]
	f.commit(c, jobs.Committed{Stored: 3})
	c.Points = points
	f.commit(c, jobs.Committed{Stored: 2, Same: 3})
	got, err := s.ReadPoints(f.ctx, f.run.ID, "s", append([]int64{1, 2}, ns...))
	if err != nil || len(got) != len(points) {
		t.Fatalf("read %v, %v", got, err)
	}
	for i := range got {
		if got[i] != points[i] {
			t.Errorf("point %+v, want %+v", got[i], points[i])
		}
	}
	l := f.ledger()
	if l.DonePoints() != 5 || !l.PointDone(engine.MaxN) || l.PointDone(4) {
		t.Fatalf("%d points done", l.DonePoints())
	}
	counts, err := s.Counts(f.ctx, f.run.ID)
	if want := (jobs.Counts{Cells: 5, Values: 5, Repeated: 3}); err != nil || counts["s"] != want {
		t.Fatalf("counters %+v, %v", counts["s"], err)
	}
}

func testRecords(t *testing.T, s *store.Store) {
	w := Sweep(t, "s", jobs.KeepSums, 190_031, 220_021)
	f := newRun(t, s, w)
	first, last := w.Cells()
	f.commit(f.commitOf(4000, 4200), jobs.Committed{Stored: 200}) // over a border of chunks
	f.check(func(i int64) bool { return i >= 4000 && i < 4200 })
	f.commit(f.commitOf(first, last), jobs.Committed{Stored: int(last-first) - 200, Same: 200})
	f.check(always)
	bad := f.commitOf(4100, 4101)
	bad.Cells, bad.Task = wrong(bad.Cells, 1), "t2"
	f.commit(bad, jobs.Committed{Disputed: []int64{bad.Cells[0].Cell.Lo}})
	f.check(always)
}
