//go:build unix

package hopping

import (
	"context"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
)

// TestTasksTakeEqualTime cuts 1…20000 by the cost model into tasks of equal cost
// and compares the processor time that each takes.
func TestTasksTakeEqualTime(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("measures time: set NSWEEP_SOAK=1")
	}
	const last, tasks = 20_000, 20
	e := New()
	cost := func(lo, hi int64) float64 {
		return e.Cost(mustResolve(t, e, engine.Work{Lo: lo, Hi: hi})).Total()
	}
	each := cost(1, last+1) / tasks
	var works []engine.Work
	for lo := int64(1); lo <= last; {
		hi := lo + 50
		for hi <= last && cost(lo, hi+25) < each {
			hi += 50
		}
		hi = min(hi, last+1)
		works = append(works, mustResolve(t, e, engine.Work{Lo: lo, Hi: hi}))
		lo = hi
	}
	// The last one takes what is left.
	took := make([]time.Duration, len(works))
	for round := range 5 {
		for i, w := range works {
			start := processTime(t)
			if err := e.Compute(context.Background(), w, discard); err != nil {
				t.Fatal(err)
			}
			if d := processTime(t) - start; round == 0 || d < took[i] {
				took[i] = d
			}
		}
	}
	took = took[:len(took)-1]
	slices.Sort(took)
	n := len(took)
	t.Logf("%d tasks: median %v, from %v to %v, p95/p5 %.2f", n, took[n/2], took[0], took[n-1],
		float64(took[n*95/100])/float64(took[n*5/100]))
	if took[n-1] > 2*took[0] {
		t.Errorf("tasks of equal cost take from %v to %v", took[0], took[n-1])
	}
}

// TestCostIsTrueAfterCalibration measures: one constant from the probe, then
// every estimate from 10^3 to 10^6 within 25 percent, by processor time.
func TestCostIsTrueAfterCalibration(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("measures time: set NSWEEP_SOAK=1")
	}
	e := New()
	measure := func(w engine.Work) float64 {
		best := math.Inf(1)
		for range 20 {
			start := processTime(t)
			if err := e.Compute(context.Background(), w, discard); err != nil {
				t.Fatal(err)
			}
			best = min(best, float64(processTime(t)-start))
		}
		return best / e.Cost(w).Total()
	}
	constant := measure(e.Info().Probe)
	t.Logf("this machine takes %.2f of the reference machine's time", constant)
	for _, r := range [][2]int64{{1000, 2000}, {3000, 3500}, {10_000, 10_200}, {30_000, 30_100}, {60_000, 60_050},
		{65_300, 65_500}, {100_000, 100_010}, {300_000, 300_004}, {1_000_000, 1_000_002}} {
		w, err := e.Resolve(engine.Work{Lo: r[0], Hi: r[1]})
		if err != nil {
			t.Fatal(err)
		}
		off := measure(w)/constant - 1
		t.Logf("n from %d: %+.0f%%", r[0], 100*off)
		if math.Abs(off) > 0.25 {
			t.Errorf("n from %d: took %+.0f%% of the estimate", r[0], 100*off)
		}
	}
}
