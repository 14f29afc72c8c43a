package bezout

import (
	"math/bits"
	"sync"

	"github.com/nsweep/nsweep/engine"
)

// quadratic is a function of q ≥ 0 that is a polynomial of degree two on every
// residue class modulo period:
//
//	f(period·u + r) = alpha·u² + beta[r]·u + gamma[r].
//
// It holds the sums that remain when the summands over all d are gathered by
// the part of d that divides 2310: with f(q) = Σ μ(s)·b(⌊q/s⌋) over the s
// dividing some primorial part,
//
//	Σ_d μ(d)·b(⌊n/d⌋) = Σ_e μ(e)·f(⌊n/e⌋) over the rough e.
type quadratic struct {
	period      int64
	alpha       int64
	beta, gamma []int64
	// The step f(q) − f(q−1) is slope[r]·u + offset[r] for q ≥ 1.
	slope, offset []int64
}

// The two summands, from closed forms of b that are quadratic on residue
// classes: modulo 4 for ⌊q(q+1)/4⌋, hence modulo 4·1155 after the gathering,
// and modulo 2310 for q(q+1)/2.
var (
	// winning is Σ μ(s)·B(⌊q/s⌋), s | 1155: only odd d enter W(n).
	winning = sync.OnceValue(func() *quadratic {
		return newQuadratic(4620, 1155, func(q int64) int64 { return (q - quarterSign(q)) / 2 })
	})
	// totient is Σ μ(s)·⌊q/s⌋(⌊q/s⌋+1)/2, s | 2310, which leads to Φ(n).
	totient = sync.OnceValue(func() *quadratic {
		return newQuadratic(2310, 2310, func(q int64) int64 { return q })
	})
)

// quarterSign is the nontrivial character modulo 4.
func quarterSign(q int64) int64 {
	switch q & 3 {
	case 1:
		return 1
	case 3:
		return -1
	}
	return 0
}

// newQuadratic builds f(q) = Σ μ(s)·b(⌊q/s⌋), s | primorial, from the steps of
// b. ⌊q/s⌋ exceeds ⌊(q−1)/s⌋ just when s divides q, so the step of f at q is
// Σ μ(s)·step(q/s) over the s that divide q. Three periods determine f.
func newQuadratic(period, primorial int64, step func(int64) int64) *quadratic {
	steps := make([]int64, 3*period)
	for s := int64(1); s <= primorial; s++ {
		sign := squarefreeSign(s)
		if sign == 0 || primorial%s != 0 {
			continue
		}
		for q := s; q < 3*period; q += s {
			steps[q] += sign * step(q/s)
		}
	}
	values := make([]int64, 3*period)
	for q := int64(1); q < 3*period; q++ {
		values[q] = values[q-1] + steps[q]
	}
	f := &quadratic{
		period: period,
		beta:   make([]int64, period), gamma: values[:period:period],
		slope: make([]int64, period), offset: make([]int64, period),
	}
	f.alpha = (values[2*period] - 2*values[period] + values[0]) / 2
	for r := range period {
		f.beta[r] = values[period+r] - values[r] - f.alpha
		f.slope[r] = steps[2*period+r] - steps[period+r]
		f.offset[r] = steps[period+r] - f.slope[r]
	}
	return f
}

// squarefreeSign is μ(s) for a small s.
func squarefreeSign(s int64) int64 {
	sign := int64(1)
	for p := int64(2); p <= s; p++ {
		if s%p == 0 {
			s /= p
			sign = -sign
			if s%p == 0 {
				return 0
			}
		}
	}
	return sign
}

// at returns f(q) for 0 ≤ q ≤ 10¹⁸: u < 2⁴⁹, alpha < 2²³, |beta| < 2²⁴, so that
// every term is below 2¹²².
func (f *quadratic) at(q int64) engine.Int128 {
	u, r := q/f.period, q%f.period
	hi, lo := bits.Mul64(uint64(u), uint64(u))
	square := mulWide(engine.Int128{Hi: int64(hi), Lo: lo}, f.alpha)
	return square.Add(mul(f.beta[r], u)).Add(engine.Int128From(f.gamma[r]))
}

// step returns f(q) − f(q−1) for q ≥ 1.
func (f *quadratic) step(q int64) int64 {
	return f.slope[q%f.period]*(q/f.period) + f.offset[q%f.period]
}

// weighted returns Σ step(lo+i)·(values[i] − less) for lo+len(values) ≤ 2³⁰ and
// |less| < 2³¹. A step is at most its argument, so each product is below 2⁶².
func (f *quadratic) weighted(lo int64, values []int32, less int64) engine.Int128 {
	u, r := lo/f.period, lo%f.period
	var sum engine.Int128
	for _, v := range values {
		sum = sum.Add(engine.Int128From((f.slope[r]*u + f.offset[r]) * (int64(v) - less)))
		if r++; r == f.period {
			u, r = u+1, 0
		}
	}
	return sum
}
