package bezout

import (
	"context"
	"math"

	"github.com/nsweep/nsweep/engine"
)

// formulaReach is the largest n of the formula: a few seconds of work, most of
// it in isqrt-long loops of integer divisions.
const formulaReach = int64(1_000_000_000_000)

// poll is the number of steps of a nanosecond or so between looks at a context.
const poll = 1 << 20

// lostPairs is A(q), the number of pairs (2x, 2y+1) with 1 ≤ x ≤ y and
// 2x+2y+1 ≤ q: with k = ⌊(q+1)/2⌋ and p = ⌊k/2⌋ it is p² for odd k and p(p−1)
// for even k. Exact for 0 ≤ q ≤ 10¹⁰, where it stays below 7·10¹⁸; beyond it
// comes as 128 bits, hence the type.
func lostPairs(q int64) engine.Int128 {
	k := (q + 1) / 2
	p := k / 2
	if k%2 != 0 {
		return mul(p, p)
	}
	return mul(p, p-1)
}

// formula returns W(n) = T(n) − 2L(n), all positions less the lost ones, where
//
//	T(n) = Σ φ(s), 2 ≤ s ≤ n,     = (Σ μ(d)·⌊n/d⌋² − 1)/2
//	L(n) = Σ μ(d)·A(⌊n/d⌋) over odd d ≤ n
//
// counts the lost positions with a < b. Both sums go over the blocks of equal
// quotient q = ⌊n/d⌋ with the Mertens function M and its odd part
// M_odd(x) = Σ M(⌊x/2^j⌋), j ≥ 0. M is a table up to y ≈ n^(2/3)/4 and the
// recursion Σ M(⌊x/d⌋) = 1 above it. O(n^(2/3)) time and memory, 1 ≤ n ≤ 10¹².
func formula(ctx context.Context, n int64, progress func(float64)) (engine.Int128, error) {
	m, err := newMertens(ctx, n, progress)
	if err != nil {
		return engine.Int128{}, err
	}
	var t, l engine.Int128
	before, beforeOdd := int64(0), int64(0)
	for d, blocks := int64(1), 1; d <= n; blocks++ {
		if blocks%(poll/16) == 0 && ctx.Err() != nil {
			return engine.Int128{}, ctx.Err()
		}
		q := n / d
		last := n / q
		now, nowOdd := m.at(last), m.odd(last)
		t = t.Add(mulWide(mul(q, q), now-before))
		l = l.Add(mulWide(lostPairs(q), nowOdd-beforeOdd))
		before, beforeOdd = now, nowOdd
		d = last + 1
	}
	t = half(t.Sub(engine.Int128From(1)))
	return t.Sub(l).Sub(l), nil
}

// mertens holds M at every value ⌊n/i⌋.
type mertens struct {
	n     int64
	small []int32 // small[x] = M(x); |M(x)| ≤ x < 2³¹
	large []int64 // large[i] = M(⌊n/i⌋) where ⌊n/i⌋ ≥ len(small)
}

func (m *mertens) at(x int64) int64 {
	if x < int64(len(m.small)) {
		return int64(m.small[x])
	}
	return m.large[m.n/x]
}

// odd returns Σ μ(d) over odd d ≤ x: the d ≤ x twice an odd number have the
// opposite sum at x/2, and those divisible by 4 none.
func (m *mertens) odd(x int64) int64 {
	s := int64(0)
	for ; x > 0; x /= 2 {
		s += m.at(x)
	}
	return s
}

func newMertens(ctx context.Context, n int64, progress func(float64)) (*mertens, error) {
	y := max(int64(math.Sqrt(float64(n)))+1, int64(math.Cbrt(float64(n)*float64(n))/4))
	m := &mertens{n: n, small: make([]int32, y+1)}
	if err := m.sieve(ctx); err != nil {
		return nil, err
	}
	last := n / (y + 1)
	m.large = make([]int64, last+1)
	for i := last; i >= 1; i-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// The values down to i took Σ √(n/j) of the work.
		progress(1 - math.Sqrt(float64(i)/float64(last)))
		// ⌊x/d⌋ = ⌊n/(i·d)⌋, so every value that is asked for is in a table.
		x := n / i
		s := int64(1)
		for d, blocks := int64(2), 1; d <= x; blocks++ {
			if blocks%(poll/16) == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			q := x / d
			last := x / q
			s -= (last - d + 1) * m.at(q)
			d = last + 1
		}
		m.large[i] = s
	}
	return m, nil
}

// sieve fills small with M by the linear sieve for μ.
func (m *mertens) sieve(ctx context.Context) error {
	y := len(m.small) - 1
	composite := make([]bool, y+1)
	var primes []int
	m.small[1] = 1
	// A prime i has up to π(i) multiples to strike out, each in memory that may
	// be touched for the first time: they count, not the i.
	steps := 0
	for i := 2; i <= y; i++ {
		if steps++; steps > poll/16 {
			steps = 0
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if !composite[i] {
			primes = append(primes, i)
			m.small[i] = -1
		}
		for _, p := range primes {
			if p*i > y {
				break
			}
			composite[p*i] = true
			steps++
			if i%p == 0 {
				break
			}
			m.small[p*i] = -m.small[i]
		}
	}
	for i := 2; i <= y; i++ {
		if i%poll == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m.small[i] += m.small[i-1]
	}
	return nil
}
