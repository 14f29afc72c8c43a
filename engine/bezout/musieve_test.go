package bezout

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
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

// roughMu returns μ(v), and 0 for multiples of 7 and 11, by trial division.
func roughMu(v int64, primes []uint32) int {
	sign := 1
	for _, p32 := range primes {
		p := int64(p32)
		if p*p > v {
			break
		}
		if v%p == 0 {
			if v /= p; v%p == 0 || p <= 11 {
				return 0
			}
			sign = -sign
		}
	}
	if v > 1 {
		if v <= 11 {
			return 0
		}
		sign = -sign
	}
	return sign
}

// TestMuSieveFar looks at segments far from the start, where large squares wait
// in buckets, including around squares of primes and where p·q with p, q near √v.
func TestMuSieveFar(t *testing.T) {
	const words = 512
	for _, around := range []int64{99_991 * 99_991, 99_989 * 99_991, 9_999_991 * 9_999, 1_000_003 * 1_000_003, 1 << 41} {
		start := around/wheelSpan - 3*words
		limit := around + 6*wheelSpan*words
		primes, err := primesUpto(context.Background(), isqrt(limit)+1)
		if err != nil {
			t.Fatal(err)
		}
		s := newMuSieve(primes, words, start, limit)
		for range 6 {
			base := s.next()
			for i := range int64(8 * words) {
				v := base + wheelSpan*(i/8) + residues[i%8]
				if i%61 != 0 && v != around && v%(99_991*99_991) != 0 && v%9_999_991 != 0 {
					continue
				}
				if got, want := muAt(s, i), roughMu(v, primes); got != want {
					t.Fatalf("μ(%d) = %d, want %d", v, got, want)
				}
			}
		}
	}
}

// TestWeights checks the bound that the threshold rests on.
func TestWeights(t *testing.T) {
	primes, err := primesUpto(context.Background(), 1<<21)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range primes {
		w := weight(int64(p))
		if exact := logScale * math.Log2(float64(p)); w%2 != 1 || math.Abs(float64(w)-exact) > 1 {
			t.Fatalf("weight(%d) = %d, logarithm %v", p, w, exact)
		}
	}
	for word := int64(0); word < muSieveMax/wheelSpan; word += 1 + word/3 {
		got, until := threshold(word)
		if want := logScale * 0.75 * math.Log2(float64(wheelSpan*word+15)); math.Abs(float64(got)-want) > 0.5+1e-9 && word > 0 {
			t.Fatalf("threshold of word %d is %d, want near %v", word, got, want)
		}
		if next, _ := threshold(until); until <= word || next == got {
			t.Fatalf("threshold %d of word %d lasts until %d", got, word, until)
		}
	}
}

// TestPrefixRange is the computation behind the 16 bits of prefixTable.
func TestPrefixRange(t *testing.T) {
	soak(t)
	const limit = 1_000_000_000
	primes, err := primesUpto(context.Background(), isqrt(limit)+1)
	if err != nil {
		t.Fatal(err)
	}
	s := newMuSieve(primes, 16384, 0, limit)
	f, most, at := int64(0), int64(0), int64(0)
	for base := s.next(); base <= limit; base = s.next() {
		for i := range int64(len(s.buf)) {
			v := base + wheelSpan*(i/8) + residues[i%8]
			if v > limit {
				break
			}
			if f += int64(muAt(s, i)); max(f, -f) > most {
				most, at = max(f, -f), v
			}
		}
	}
	if most != 19547 {
		t.Errorf("the largest |F(t)| for t ≤ 10^9 is %d at %d, want 19547", most, at)
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
