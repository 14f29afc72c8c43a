package bezout

import "context"

// plainSieve factors a segment of numbers by repeated division. It serves where
// the dense sieve does not pay or does not reach: short ranges, n beyond
// denseMax, and the few numbers divisible by a high power of 2.
type plainSieve struct {
	rest []int64 // n without the prime powers met so far
	phi  []int64 // φ of what was divided out; φ(n) ≤ n ≤ 10¹⁸
	g    []int32 // g of the odd part divided out; |g| ≤ 2¹⁵, as ω(n) ≤ 15 for n ≤ 10¹⁸
}

func newPlainSieve(size int64) *plainSieve {
	return &plainSieve{rest: make([]int64, size), phi: make([]int64, size), g: make([]int32, size)}
}

// run factors n in [a, b) by the given primes, which must hold all up to
// √(b−1).
func (s *plainSieve) run(ctx context.Context, a, b int64, primes []uint32) error {
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

// totient returns φ of the number at index i. What is left in rest is 1 or one
// prime, because two primes above √n would exceed n.
func (s *plainSieve) totient(i int64) int64 {
	if r := s.rest[i]; r > 1 {
		return s.phi[i] * (r - 1)
	}
	return s.phi[i]
}

// step returns W(n) − W(n−1) for n at index i.
func (s *plainSieve) step(n, i int64) int64 {
	phi, g := s.totient(i), int64(s.g[i])
	if n%2 == 0 {
		return phi
	}
	if r := s.rest[i]; r > 1 {
		switch r & 3 {
		case 1:
			g = 0
		case 3:
			g *= -2
		}
	}
	return (phi - g) / 2
}
