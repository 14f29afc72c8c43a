package bezout

import (
	"context"
	"math"
)

// isqrt returns ⌊√n⌋ for 0 ≤ n < 2⁶³.
func isqrt(n int64) int64 {
	// The rounded root is off by one at most for n < 2⁶³, and r² < 2⁶³ + 2³³
	// needs the unsigned comparison.
	r := int64(math.Sqrt(float64(n)))
	for uint64(r)*uint64(r) > uint64(n) {
		r--
	}
	for uint64(r+1)*uint64(r+1) <= uint64(n) {
		r++
	}
	return r
}

// primesUpto returns the primes p ≤ x, x < 2³², in order. It sieves the odd
// numbers in segments and looks at ctx between them. O(x log log x) time,
// O(√x) memory besides the result.
func primesUpto(ctx context.Context, x int64) ([]uint32, error) {
	if x < 2 {
		return nil, nil
	}
	primes := make([]uint32, 0, int(1.2*float64(x)/math.Log(float64(x)+2))+16)
	primes = append(primes, 2)
	const span = 1 << 16 // odd numbers in one segment
	type base struct{ p, next int64 }
	var bases []base
	composite := make([]bool, span)
	if x >= 9 {
		small, err := primesUpto(ctx, isqrt(x))
		if err != nil {
			return nil, err
		}
		for _, p := range small[1:] {
			bases = append(bases, base{int64(p), int64(p) * int64(p) / 2})
		}
	}
	// Index i of a segment that starts at lo stands for the odd number
	// 2(lo+i)+1; multiples of p are p indices apart.
	for lo := int64(0); 2*lo+1 <= x; lo += span {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(composite)
		for k := range bases {
			b := &bases[k]
			i := b.next - lo
			for ; i < span; i += b.p {
				composite[i] = true
			}
			b.next = lo + i
		}
		for i, c := range composite {
			v := 2*(lo+int64(i)) + 1
			if v > x {
				break
			}
			if !c && v > 1 {
				primes = append(primes, uint32(v))
			}
		}
	}
	return primes, nil
}
