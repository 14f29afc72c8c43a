package hopping

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"pgregory.net/rapid"
)

// discard is a sink that only emits.
var discard = engine.Sink{Emit: func(engine.Piece) error { return nil }}

func mustResolve(t testing.TB, e engine.Engine, w engine.Work) engine.Work {
	t.Helper()
	w, err := e.Resolve(w)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestAnySplitGivesTheSameValues is what makes tasks of any size interchangeable.
func TestAnySplitGivesTheSameValues(t *testing.T) {
	e := New()
	most := int64(2500)
	if raceEnabled {
		most = 400
	}
	whole := valuesOf(t, e, "", 1, most)
	rapid.Check(t, func(rt *rapid.T) {
		lo := rapid.Int64Range(1, most).Draw(rt, "lo")
		hi := rapid.Int64Range(lo, min(most, lo+60)).Draw(rt, "hi")
		if got := valuesOf(t, e, "", lo, hi); !slices.Equal(got, whole[lo-1:hi]) {
			rt.Fatalf("M(%d…%d) is %v as a part of 1…%d and %v by itself", lo, hi, whole[lo-1:hi], most, got)
		}
	})
}

func TestComputeIsSafeForConcurrentUse(t *testing.T) {
	e := New()
	want := valuesOf(t, e, "", 900, 999)
	var wg sync.WaitGroup
	got := make([][]int64, 4)
	errs := make([]error, len(got))
	for i := range got {
		wg.Go(func() {
			errs[i] = e.Compute(context.Background(), mustResolve(t, e, engine.Work{Lo: 900, Hi: 1000}), engine.Sink{
				Emit: func(p engine.Piece) error {
					got[i] = append(got[i], p.Narrow...)
					return nil
				},
			})
		})
	}
	wg.Wait()
	for i := range got {
		if errs[i] != nil || !slices.Equal(got[i], want) {
			t.Errorf("computation %d: %v, values equal: %v", i, errs[i], slices.Equal(got[i], want))
		}
	}
}

// TestComputeAllocatesNothingForEachN compares a short range with a long one.
func TestComputeAllocatesNothingForEachN(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	// Emptied pools would be counted.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	e := New()
	count := func(lo, hi int64) float64 {
		w := mustResolve(t, e, engine.Work{Lo: lo, Hi: hi})
		return testing.AllocsPerRun(5, func() {
			if err := e.Compute(context.Background(), w, discard); err != nil {
				t.Error(err)
			}
		})
	}
	count(3000, 3001)
	if few, many := count(2990, 2991), count(2900, 3000); few != many || many > 10 {
		t.Errorf("%v allocations for one value, %v for a hundred", few, many)
	}
}

func TestProgress(t *testing.T) {
	e := New()
	many := int64(9000)
	if raceEnabled {
		many = 300
	}
	for _, w := range []engine.Work{{Lo: 1, Hi: many}, {Lo: 1_500_000, Hi: 1_500_002}} {
		if raceEnabled && w.Lo > 1 {
			continue
		}
		var seen []float64
		sink := discard
		sink.Progress = func(f float64) { seen = append(seen, f) }
		if err := e.Compute(context.Background(), mustResolve(t, e, w), sink); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(seen) || seen[0] < 0 || seen[len(seen)-1] != 1 {
			t.Errorf("progress of %d…%d: %v", w.Lo, w.Hi-1, seen)
		}
		if !raceEnabled && len(seen) < 2 || w.Lo > 1 && len(seen) < 20 {
			t.Errorf("progress of %d…%d was reported %d times", w.Lo, w.Hi-1, len(seen))
		}
	}
}

// TestPiecesOfDearValuesAreSmall bounds what one piece is estimated to cost.
func TestPiecesOfDearValuesAreSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("too slow")
	}
	e := New()
	w := mustResolve(t, e, engine.Work{Algorithm: "table", Lo: 50_000, Hi: 50_008})
	pieces := 0
	sink := engine.Sink{Emit: func(p engine.Piece) error {
		pieces++
		part := w
		part.Lo, part.Hi = p.Lo, p.Lo+int64(p.Len())
		if c := e.Cost(part).Run; c > 2*pieceCost {
			t.Errorf("a piece of %d values is estimated to take %.0f ms", p.Len(), c/1e6)
		}
		return nil
	}}
	if err := e.Compute(context.Background(), w, sink); err != nil {
		t.Fatal(err)
	}
	if pieces < 2 {
		t.Errorf("%.0f ms of work in %d piece", e.Cost(w).Run/1e6, pieces)
	}
}

// TestLargeValues has M(10^7) from testdata/bench/table.cpp, which takes 18 s and
// 5 GB for it, and compares the ways to run the algorithm where the table
// cannot follow.
func TestLargeValues(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("takes a minute and 3 GB: set NSWEEP_SOAK=1")
	}
	if r := mustSolve(t, newExactClasses(), 10_000_000); r.value != 8_282_756 || r.group != 57 {
		t.Errorf("M(10^7) = %d, t = %d, want 8282756, 57", r.value, r.group)
	}
	for _, n := range []int{wideKeep - 1, wideKeep, wideKeep + 1, 33_554_432, 100_000_000} {
		exact := mustSolve(t, newExactClasses(), n)
		if fast := mustSolve(t, newClasses(), n); differs(fast, exact) {
			t.Errorf("n = %d: %+v with late columns, %+v without", n, fast, exact)
		}
		paired := wideSolver(0)
		paired.mergeFirst, paired.mergeEvery = 4, 3
		if other := mustSolve(t, paired, n); differs(other, exact) {
			t.Errorf("n = %d: %+v with other merges, %+v", n, other, exact)
		}
	}
}
