package bezout

import (
	"context"
	"fmt"
	"math"

	"github.com/nsweep/nsweep/engine"
)

// summation evaluates one W(n).
//
// Write F(x) = Σ μ(e) over rough e ≤ x (coprime to 2310) and C(x) for the number
// of rough d ≤ x. Then
//
//	W(n) = Σ μ(e)·H(⌊n/e⌋) over rough e ≤ n,  H = winning,
//	Σ F(⌊x/d⌋) = 1 over rough d ≤ x.
//
// With R = ⌊√n⌋ and L = ⌊n/(R+1)⌋ the first becomes, by counting the pairs (e, m)
// with em ≤ n on both sides of e = R,
//
//	W(n) = Σ_{e≤R} μ(e)·H(⌊n/e⌋) + Σ_{m≤L} δH(m)·(F(⌊n/m⌋) − F(R)),
//
// δH(m) = H(m) − H(m−1), and the second, with x = ⌊n/k⌋ and r = ⌊√x⌋,
//
//	F(x) = 1 − Σ_{1<d≤r} F(⌊n/(kd)⌋) − Σ_{e≤r} μ(e)·C(⌊x/e⌋) + F(r)·C(r).
//
// So F is needed at ⌊n/m⌋ for m ≤ L and at all t ≤ R. The sieve runs up to
// y = ⌊n/(K+1)⌋ and passes all of them but those with m ≤ K; the sums for these
// K values are collected while it passes, so nothing larger than a segment, a
// batch and K numbers is ever kept:
//
//   - up to R (low) each segment serves as the table of F(t), for the d with
//     t = ⌊n/(kd)⌋ in the segment, and as the list of e;
//   - above R (high) it yields F(⌊n/m⌋) for descending m, gathered in batches
//     that are subtracted wherever m = kd.
//
// O(n^(2/3)) time for K ≈ n^(1/3), O(n^(1/3)) memory besides constants. The sums
// for F are taken modulo 2⁶⁴ and those for W modulo 2¹²⁸: |F(x)| ≤ 10¹⁸ < 2⁶³ and
// W(n) ≤ n(n+1)/4 < 2¹²⁷ make the results exact whatever happens in between.
type summation struct {
	n     int64
	root  int64 // R
	upper int64 // L
	cut   int64 // K
	limit int64 // y
	opts  sumOptions
	pace  *pacer

	primes []uint32
	acc    []int64 // acc[k]: what is known of F(⌊n/k⌋), k ≤ K

	// Where the walk stands: everything below word is done, and of a low
	// segment at word also all k below nextK. nextK is 0 above R.
	word  int64
	nextK int64
	next  int64 // the largest m whose F(⌊n/m⌋) has not been met
	f     int64 // F(30·word − 1)
	fRoot int64 // F(R)

	// The two summands of funcs summed, and F(⌊n/s⌋) for s | 2310.
	funcs  []*quadratic
	totals []engine.Int128
	parts  [roughSpan + 1]int64
}

// sumOptions tune a summation. The zero value is right for use; tests force
// other cuts and slower ways.
type sumOptions struct {
	cut       int64 // K, or 0 for the balanced one; −1 for none
	highWords int64 // words of a segment above R
	exact     bool  // never divide in floating point
	details   bool  // sum Φ(n) too
}

// lowWords is the size of a segment up to R. Its 15 odd numbers a word fit
// prefixTable.
const lowWords = 16384

// balancedCut is the K for which sieving up to n/K and evaluating K values by
// recursion take least time together.
func balancedCut(n int64) int64 {
	if n < 100_000 {
		return 0
	}
	return int64(math.Cbrt(float64(n)))
}

// cutAndLimit returns K as near to cut as the sieve and L allow, and y.
func cutAndLimit(n, cut int64) (k, y int64) {
	k = min(max(cut, n/muSieveMax, 0), n/(isqrt(n)+1))
	return k, n / (k + 1)
}

// balancedWords is the size of a segment above R: primes up to √y pay a few
// nanoseconds each a segment, which should stay within the second-level cache.
func balancedWords(y int64) int64 {
	return min(max(16384, isqrt(y)/8192*8192), 131072)
}

func newSummation(ctx context.Context, n int64, opts sumOptions) (*summation, error) {
	s := &summation{n: n, root: isqrt(n), opts: opts}
	s.upper = n / (s.root + 1)
	cut := opts.cut
	if cut == 0 {
		cut = balancedCut(n)
	}
	s.cut, s.limit = cutAndLimit(n, cut)
	if s.opts.highWords == 0 {
		s.opts.highWords = balancedWords(s.limit)
	}
	var err error
	if s.primes, err = primesUpto(ctx, isqrt(s.limit)+1); err != nil {
		return nil, err
	}
	s.acc = make([]int64, s.cut+1)
	for k := range s.acc {
		s.acc[k] = 1
	}
	s.nextK, s.next = 1, s.upper
	s.funcs = []*quadratic{winning()}
	if opts.details {
		s.funcs = append(s.funcs, totient())
	}
	s.totals = make([]engine.Int128, len(s.funcs))
	return s, nil
}

// run completes the summation.
func (s *summation) run(ctx context.Context, sink engine.Sink) error {
	if s.pace == nil {
		s.pace = newPacer(s, sink)
	}
	s.restore(sink)
	if s.nextK > 0 {
		if err := s.low(ctx); err != nil {
			return err
		}
	}
	if s.next > s.cut {
		if err := s.high(ctx); err != nil {
			return err
		}
	}
	for k := s.cut; k >= 1; k-- {
		if k%lookEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		s.acc[k] -= sumStrided(s.acc, k, 0, 1, countRough(s.cut/k))
		for i, q := range s.funcs {
			s.totals[i] = s.totals[i].Add(mul(q.step(k), s.acc[k]-s.fRoot))
		}
		if k <= roughSpan {
			s.parts[k] = s.acc[k]
		}
	}
	return nil
}

// mertens returns M(n) = Σ μ(s)·F(⌊n/s⌋), s | 2310.
func (s *summation) mertens() int64 {
	sum := int64(0)
	for q := int64(1); q <= min(s.n, roughSpan); q++ {
		if roughSpan%q == 0 {
			sum += squarefreeSign(q) * s.parts[q]
		}
	}
	return sum
}

// sum returns W(n), 1 ≤ n ≤ 10¹⁸. A state offered by the sink is used when it
// belongs to the same n.
func sum(ctx context.Context, n int64, sink engine.Sink) (engine.Int128, error) {
	s, err := newSummation(ctx, n, sumOptions{})
	if err != nil {
		return engine.Int128{}, err
	}
	if err := s.run(ctx, sink); err != nil {
		return engine.Int128{}, fmt.Errorf("bezout: W(%d): %w", n, err)
	}
	return s.totals[0], nil
}
