package hopping

import (
	"math"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"pgregory.net/rapid"
)

// TestCostAdds checks that the cost of a range is the sum of the costs of its
// parts, which planning builds on.
func TestCostAdds(t *testing.T) {
	e := New()
	cost := func(algorithm string, lo, hi int64) float64 {
		w, err := e.Resolve(engine.Work{Algorithm: algorithm, Lo: lo, Hi: hi})
		if err != nil {
			t.Fatal(err)
		}
		c := e.Cost(w)
		if c.Total() <= 0 || c.Start != 0 {
			t.Fatalf("cost of [%d, %d) is %+v", lo, hi, c)
		}
		return c.Run
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(e.Info().Algorithms).Draw(t, "algorithm")
		lo := rapid.Int64Range(1, a.Reach).Draw(t, "lo")
		hi := rapid.Int64Range(lo, min(a.Reach, 3*lo)).Draw(t, "hi") + 1
		mid := rapid.Int64Range(lo, hi).Draw(t, "mid")
		if mid == lo || mid == hi {
			return
		}
		whole, parts := cost(a.Name, lo, hi), cost(a.Name, lo, mid)+cost(a.Name, mid, hi)
		if math.Abs(whole-parts) > 0.01*whole {
			t.Fatalf("%s: [%d, %d) costs %g, its parts at %d cost %g", a.Name, lo, hi, whole, mid, parts)
		}
	})
}

// TestCostFollowsEvaluations compares the shape of the estimate with the count
// of evaluations, which a machine's noise cannot touch.
func TestCostFollowsEvaluations(t *testing.T) {
	c := newClasses()
	for _, w := range [][2]int{{1000, 1050}, {3000, 3050}, {10_000, 10_020}, {30_000, 30_010}, {100_000, 100_004}, {300_000, 300_002}} {
		if raceEnabled && w[0] > 10_000 {
			break
		}
		work := int64(0)
		for n := w[0]; n < w[1]; n++ {
			work += mustSolve(t, c, n).work
		}
		each := sumCost(classesCost, int64(w[0]), int64(w[1])) / float64(work)
		if each < 0.5 || each > 1.5 {
			t.Errorf("n = %d: the estimate is %.2f ns an evaluation", w[0], each)
		}
	}
}

// TestUsualGroup compares the fit with averages of the stopping group.
func TestUsualGroup(t *testing.T) {
	c := newExactClasses()
	for _, w := range [][2]int{{200, 300}, {1000, 1100}, {10_000, 10_030}, {100_000, 100_003}} {
		if raceEnabled && w[0] > 1000 {
			break
		}
		sum := 0.0
		for n := w[0]; n < w[1]; n++ {
			sum += float64(mustSolve(t, c, n).group)
		}
		if mean, fit := sum/float64(w[1]-w[0]), usualGroup(float64(w[0]+w[1])/2); math.Abs(mean-fit) > 2 {
			t.Errorf("n from %d: mean stopping group %.2f, fit %.2f", w[0], mean, fit)
		}
	}
}
