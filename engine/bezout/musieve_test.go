package bezout

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
)

// plainMu returns μ(0), …, μ(n) by crossing out.
func plainMu(n int64) []int8 {
	mu := make([]int8, n+1)
	composite := make([]bool, n+1)
	for i := range mu {
		mu[i] = 1
	}
	mu[0] = 0
	for p := int64(2); p <= n; p++ {
		if composite[p] {
			continue
		}
		for m := p; m <= n; m += p {
			composite[m] = true
			mu[m] = -mu[m]
		}
		for m := p * p; m <= n; m += p * p {
			mu[m] = 0
		}
	}
	return mu
}

// muAt reads μ of the number with the given byte out of a sieve.
func muAt(s *muSieve, i int64) int {
	word := s.start + i/8
	x := binary.LittleEndian.Uint64(s.buf[i&^7:])
	bias, _ := biasAt(word)
	nz, neg := signs(x, bias)
	mask := uint64(0x80) << (8 * (i & 7))
	return int(sumSigns(nz&mask, neg&mask))
}

func TestMuSieve(t *testing.T) {
	const limit = 3_000_000
	mu := plainMu(limit)
	for _, words := range []int64{64, 500, 1024, 4096, 16384} {
		primes, err := primesUpto(context.Background(), isqrt(limit))
		if err != nil {
			t.Fatal(err)
		}
		s := newMuSieve(primes, words, 0, limit)
		for v := int64(0); v <= limit; {
			base := s.next()
			for i := range 8 * words {
				v = base + wheelSpan*(i/8) + residues[i%8]
				if v > limit {
					break
				}
				want := int(mu[v])
				if v%7 == 0 || v%11 == 0 {
					want = 0
				}
				if got := muAt(s, i); got != want {
					t.Fatalf("words %d: μ(%d) = %d, want %d", words, v, got, want)
				}
			}
		}
	}
}

func BenchmarkMuSieve(b *testing.B) {
	for _, at := range []int64{0, 100_000_000, 10_000_000_000, 1_000_000_000_000} {
		for _, words := range []int64{4096, 8192, 16384, 32768, 65536, 131072} {
			b.Run(fmt.Sprintf("%.0e/words-%d", float64(at), words), func(b *testing.B) {
				start := at / 30 / words * words
				limit := at + 100_000_000
				primes, err := primesUpto(context.Background(), isqrt(limit))
				if err != nil {
					b.Fatal(err)
				}
				s := newMuSieve(primes, words, start, limit)
				s.next()
				b.ResetTimer()
				n := 0
				for b.Loop() {
					if s.start*30+2*30*words > limit {
						s = newMuSieve(primes, words, start, limit)
					}
					s.next()
					n++
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/float64(30*words), "ns/number")
			})
		}
	}
}
