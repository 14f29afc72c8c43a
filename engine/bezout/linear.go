package bezout

import (
	"context"

	"github.com/nsweep/nsweep/engine"
)

// linearReach bounds the algorithm linear by its memory, 6 bytes for each n and
// 4 for each prime: 1.3 GB. φ(n) < 2^31 and |g(n)| ≤ 2^8 fit their types, since
// the product of the nine smallest primes ≡ 3 mod 4 is beyond it, and W(n) <
// 10^16 fits 64 bits.
const linearReach = int64(200_000_000)

// linear is the plain way to many values: φ and g of every n up to hi−1 by one
// linear sieve, which meets each number once by its least prime factor p,
//
//	φ(ip) = φ(i)·p and g(ip) = −g(i)   where p divides i,
//	φ(ip) = φ(i)(p−1) and g(ip) = g(i)·g(p)   otherwise,
//
// with g(p) = −2 for p ≡ 3 mod 4 and 0 else, and the running sum of the steps.
// It takes O(hi) time and memory and shares nothing with the segmented sieve,
// whose oracle and baseline it is.
func linear(ctx context.Context, lo, hi int64, out *emitter) error {
	phi := make([]int32, hi)
	if err := ctx.Err(); err != nil { // clearing memory takes its time
		return err
	}
	g := make([]int16, hi)
	var primes []int32
	w := int64(0)
	// A prime i has up to π(i) multiples, so these count too.
	steps := 0
	for i := int64(1); i < hi; i++ {
		if steps++; steps > poll/16 {
			steps = 0
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if i == 1 {
			phi[1], g[1] = 1, 1
		} else if phi[i] == 0 {
			primes = append(primes, int32(i))
			phi[i] = int32(i - 1)
			if i%4 == 3 {
				g[i] = -2
			}
		}
		switch {
		case i == 1: // no positions
		case i%2 == 0:
			w += int64(phi[i])
		default:
			w += (int64(phi[i]) - int64(g[i])) / 2
		}
		if i >= lo {
			if err := out.value(engine.Int128From(w)); err != nil {
				return err
			}
		}
		if i == 1 {
			continue
		}
		for _, p := range primes {
			k := i * int64(p)
			if k >= hi {
				break
			}
			steps++
			if i%int64(p) == 0 {
				phi[k], g[k] = phi[i]*p, -g[i]
				break
			}
			phi[k], g[k] = phi[i]*(p-1), g[i]*g[p]
		}
	}
	return out.flush()
}
