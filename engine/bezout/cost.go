package bezout

import (
	"math"

	"github.com/nsweep/nsweep/engine"
)

// Cost estimates a resolved work in nanoseconds of the reference machine.
func (bezout) Cost(w engine.Work) engine.Cost {
	n, count := float64(w.Hi-1), float64(w.Len())
	switch w.Algorithm {
	case algGame:
		return engine.Cost{Run: 0.05 * n * n * n * n}
	case algFormula:
		return engine.Cost{Run: count * formulaCost(n)}
	}
	if w.Algorithm == algSum {
		return engine.Cost{Run: count * sumCost(n)}
	}
	c := engine.Cost{Run: count * 40}
	if w.Lo > 1 {
		c.Start = sumCost(float64(w.Lo - 1))
	}
	return c
}

func formulaCost(n float64) float64 { return 1000 + 30*math.Cbrt(n*n) }

func sumCost(n float64) float64 { return 50_000 + 1.6*math.Cbrt(n*n) }

// checkPays reports whether a direct W(hi−1) costs at most a thirtieth of the
// range.
func checkPays(lo, hi int64) bool {
	return 30*sumCost(float64(hi-1)) < float64(hi-lo)*3
}
