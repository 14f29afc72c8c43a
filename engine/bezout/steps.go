package bezout

import (
	"context"
	"fmt"

	"github.com/nsweep/nsweep/engine"
)

// stepSpan is the number of n sieved at once.
const stepSpan = maxPiece

// steps emits W(lo), …, W(hi−1): a direct W(lo−1), then the step form with φ
// and g from a segmented sieve over the primes up to √hi.
func steps(ctx context.Context, lo, hi int64, out *emitter) error {
	var w engine.Int128
	if lo > 1 {
		var err error
		if w, err = sum(ctx, lo-1, engine.Sink{}); err != nil {
			return fmt.Errorf("bezout: start W(%d): %w", lo-1, err)
		}
	}
	primes, err := primesUpto(ctx, isqrt(hi-1))
	if err != nil {
		return err
	}
	s := newStepSieve(min(hi-lo, stepSpan))
	for a := lo; a < hi; a += stepSpan {
		b := min(a+stepSpan, hi)
		if err := s.run(ctx, a, b, primes); err != nil {
			return err
		}
		for i := range b - a {
			w = w.Add(engine.Int128From(s.step(a+i, i)))
			if err := out.value(w); err != nil {
				return err
			}
		}
	}
	return out.flush()
}

// stepSieve factors the numbers of one segment as far as φ and g need it.
type stepSieve struct {
	rest []int64 // n without the prime powers met so far
	phi  []int64 // φ of what was divided out; φ(n) ≤ n ≤ 10¹⁸
	g    []int32 // g of the odd part divided out; |g| ≤ 2^15, ω(n) ≤ 15 for n ≤ 10¹⁸
}

func newStepSieve(size int64) *stepSieve {
	return &stepSieve{rest: make([]int64, size), phi: make([]int64, size), g: make([]int32, size)}
}

// run factors n in [a, b) by the given primes, which must hold all up to
// √(b−1).
func (s *stepSieve) run(ctx context.Context, a, b int64, primes []uint32) error {
	size := b - a
	for i := range size {
		s.rest[i], s.phi[i], s.g[i] = a+i, 1, 1
	}
	work := int64(0)
	for _, p32 := range primes {
		p := int64(p32)
		if p*p >= b {
			break
		}
		if work += 8 + size/p; work > 1<<20 {
			work = 0
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		for i := (p - a%p) % p; i < size; i += p {
			rest, phi, odd := s.rest[i]/p, p-1, int32(1)
			for rest%p == 0 {
				rest /= p
				phi *= p
				odd = -odd
			}
			s.rest[i] = rest
			s.phi[i] *= phi
			switch p & 3 {
			case 1:
				s.g[i] = 0
			case 3:
				s.g[i] *= -2 * odd
			}
		}
	}
	return ctx.Err()
}

// step returns W(n) − W(n−1) for n at index i of the segment. What is left in
// rest is 1 or one prime, because two primes above √n would exceed n.
func (s *stepSieve) step(n, i int64) int64 {
	phi, g := s.phi[i], int64(s.g[i])
	if r := s.rest[i]; r > 1 {
		phi *= r - 1
		switch r & 3 {
		case 1:
			g = 0
		case 3:
			g *= -2
		}
	}
	if n%2 == 0 {
		return phi
	}
	return (phi - g) / 2
}
