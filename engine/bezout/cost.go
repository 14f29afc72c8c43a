package bezout

import (
	"math"

	"github.com/nsweep/nsweep/engine"
)

// The estimates below are nanoseconds of one core of the reference machine, a
// 2.6–3.7 GHz server processor of 2022, fitted to measured works. One common
// factor adapts them to another machine.

// Cost estimates a resolved work.
func (bezout) Cost(w engine.Work) engine.Cost {
	n, count := float64(w.Hi-1), float64(w.Len())
	switch w.Algorithm {
	case algGame:
		return engine.Cost{Run: 1000 + 0.0155*n*n*n*n}
	case algLinear:
		return engine.Cost{Start: 12 * (float64(w.Lo) - 1), Run: 12 * count}
	case algFormula:
		return engine.Cost{Run: count * (1000 + 52*math.Cbrt(n*n))}
	case algSum:
		return engine.Cost{Run: count * sumCost(w.Hi-1)}
	}
	return stepsCost(w.Lo, w.Hi)
}

// Nanoseconds for the parts of a summation. They weigh them for its progress
// too.
const (
	nsCount     = 0.8 // a C(⌊x/e⌋)
	nsPrefix    = 0.6 // an F(⌊x/d⌋) from the table
	nsLowK      = 20  // a value of k in a low segment
	nsLowNumber = 2   // a number up to R
	nsHighPoint = 10  // an F(⌊n/m⌋) above R
	nsFixed     = 25_000
)

// nsHighNumber is the time for a number above R.
func nsHighNumber(y int64) float64 { return 0.018 * max(math.Log(float64(y)+1)-5, 5) }

// sumCost estimates one W(n).
func sumCost(n int64) float64 {
	cut, limit := cutAndLimit(n, balancedCut(n))
	return sumWork(n, cut, limit)
}

// sumWork estimates a summation with the given K and y. Σ_{k≤K} √(n/k) is 2√(nK)
// but for lower terms.
func sumWork(n, cut, y int64) float64 {
	root := math.Sqrt(float64(n))
	pairs := float64(roughCount) / roughSpan * 2 * root * math.Sqrt(float64(cut))
	return nsFixed + pairs*(nsCount+nsPrefix) + root*(nsLowNumber+nsHighPoint) +
		float64(cut)*nsLowK*(1+root/(wheelSpan*lowWords)) + float64(y)*nsHighNumber(y)
}

// stepsCost estimates the algorithm steps by the parts that it walks through.
func stepsCost(lo, hi int64) engine.Cost {
	var c engine.Cost
	if lo > 1 {
		c.Start = sumCost(lo - 1)
	}
	for a := lo; a < hi; {
		way, end := wayFor(a, hi)
		count, primes := float64(end-a), primeCount(end)
		switch way {
		case plainWay:
			segments := math.Ceil(count / maxPiece)
			c.Run += 30_000 + count*25 + segments*primes*4
		case tableWay:
			c.Run += 600_000 + float64(end)*1.95
		case window32Way:
			c.Start += 500_000 + primes*350
			c.Run += count * (3.2 + primes*4e-5)
		case window64Way:
			c.Start += 500_000 + primes*120
			c.Run += count * (4.2 + primes*6.8e-5)
		}
		a = end
	}
	if checkPays(lo, hi) {
		c.Run += sumCost(hi - 1)
	}
	return c
}

// primeCount estimates π(√n).
func primeCount(n int64) float64 {
	root := math.Sqrt(float64(n)) + 3
	return root / (math.Log(root) - 1)
}

// checkPays reports whether a direct W(hi−1) costs at most a thirtieth of the
// values of the range, each taken at 3 ns.
func checkPays(lo, hi int64) bool { return 30*sumCost(hi-1) < 3*float64(hi-lo) }
