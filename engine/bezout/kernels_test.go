package bezout

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

// hardQuotients are x near the bound of floating-point division and near 10^15,
// each with divisors that leave the remainders 0 and d−1, where rounding could
// first reach an integer.
func hardQuotients(yield func(x, d int64)) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int64{floatMax, 1_000_000_000_000_003, 1_000_000_007, 40_000} {
		for range 20_000 {
			d := 13 + rng.Int64N(1<<(4+rng.IntN(20)))
			q := limit / d
			for _, x := range []int64{q*d - 1, q * d, q*d + d - 1, limit - rng.Int64N(5)} {
				if x >= d && x <= floatMax {
					yield(x, d)
				}
			}
		}
	}
}

func TestSumCountsExact(t *testing.T) {
	hardQuotients(func(x, d int64) {
		if x/d >= 1<<48 {
			return // d ≥ 13 keeps quotients below, but for these made-up x and d
		}
		if got, want := sumCounts(float64(x)+0.5, []float64{1 / float64(d)}), countRough(x/d); got != want {
			t.Fatalf("C(⌊%d/%d⌋) = %d, want %d", x, d, got, want)
		}
	})
	// Every residue in several periods, and at the largest quotients.
	for _, from := range []int64{1, 1_000_000_000_000, floatMax/13 - 5000} {
		for q := from; q < from+5000; q++ {
			if got := sumCounts(float64(13*q)+0.5, []float64{1.0 / 13}); got != countRough(q) {
				t.Fatalf("C(%d) = %d, want %d", q, got, countRough(q))
			}
		}
	}
}

func TestSumPrefixExact(t *testing.T) {
	// The table holds its own index, so the result tells what was looked up.
	table := new(prefixTable)
	for i := range table {
		table[i] = uint16(i)
	}
	const mask = int64(len(table) - 1)
	hardQuotients(func(x, d int64) {
		got := sumPrefix((float64(x)+0.5)/2, []float64{1 / float64(d)}, table) + prefixLift
		if want := int64(uint16((x/d + 1) / 2 & mask)); got != want {
			t.Fatalf("index of ⌊%d/%d⌋ is %d, want %d", x, d, got, want)
		}
	})
}

// TestKernelLengths runs the unrolled loops and their rests.
func TestKernelLengths(t *testing.T) {
	table := new(prefixTable)
	for i := range table {
		table[i] = uint16(i * 7)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Int64Range(1<<20, floatMax).Draw(t, "x")
		ds := rapid.SliceOfN(rapid.Int64Range(13, 1<<20), 0, 13).Draw(t, "d")
		inverse := make([]float64, len(ds))
		var counts, prefixes int64
		for i, d := range ds {
			inverse[i] = 1 / float64(d)
			counts += countRough(x / d)
			prefixes += table.at(x / d)
		}
		if got := sumCounts(float64(x)+0.5, inverse); got != counts {
			t.Fatalf("sumCounts = %d, want %d", got, counts)
		}
		if got := sumPrefix((float64(x)+0.5)/2, inverse, table); got != prefixes {
			t.Fatalf("sumPrefix = %d, want %d", got, prefixes)
		}
		k, to := rapid.Int64Range(1, 20).Draw(t, "k"), rapid.Int64Range(0, 1200).Draw(t, "to")
		from := rapid.Int64Range(0, to).Draw(t, "from")
		base := rapid.Int64Range(0, k*roughAt(from)).Draw(t, "base")
		values := make([]int64, k*roughAt(to)-base+1)
		want := int64(0)
		for i := range values {
			values[i] = int64(i) * 3
		}
		for j := from; j < to; j++ {
			want += values[k*roughAt(j)-base]
		}
		if got := sumStrided(values, k, base, from, to); got != want {
			t.Fatalf("sumStrided = %d, want %d", got, want)
		}
	})
}

func TestRough(t *testing.T) {
	count := int64(0)
	for d := int64(1); d < 10_000; d++ {
		if gcd(d, roughSpan) == 1 {
			if roughAt(count) != d {
				t.Fatalf("roughAt(%d) = %d, want %d", count, roughAt(count), d)
			}
			count++
		}
		if countRough(d) != count {
			t.Fatalf("C(%d) = %d, want %d", d, countRough(d), count)
		}
		if d >= 13 && countRough(d) > d/4 {
			t.Fatalf("C(%d) exceeds %d/4", d, d)
		}
	}
	if sum := reciprocalsTo(t); sum > 5.4 {
		t.Errorf("Σ 1/e = %v", sum)
	}
}

// reciprocalsTo bounds Σ 1/e over the e coprime to 6 from 13 to 2^25.5, a third
// of all numbers: by blocks of 6 it is at most 1/13 + Σ 2/(6i+1), i ≥ 2.
func reciprocalsTo(t *testing.T) float64 {
	t.Helper()
	limit := math.Exp2(25.5)
	return 1.0/13 + (math.Log(limit)-math.Log(7))/3
}

func TestQuadratics(t *testing.T) {
	for _, c := range []struct {
		name      string
		f         *quadratic
		primorial int64
		b         func(q int64) int64
	}{
		{"winning", winning(), 1155, func(q int64) int64 { return q * (q + 1) / 4 }},
		{"totient", totient(), 2310, func(q int64) int64 { return q * (q + 1) / 2 }},
	} {
		direct := func(q int64) int64 {
			sum := int64(0)
			for s := int64(1); s <= min(c.primorial, q); s++ {
				if c.primorial%s == 0 {
					sum += squarefreeSign(s) * c.b(q/s)
				}
			}
			return sum
		}
		check := func(q int64) {
			if got := c.f.at(q); got != engine.Int128From(direct(q)) {
				t.Fatalf("%s(%d) = %s, want %d", c.name, q, got, direct(q))
			}
			if step := direct(q+1) - direct(q); c.f.step(q+1) != step {
				t.Fatalf("step of %s at %d is %d, want %d", c.name, q+1, c.f.step(q+1), step)
			}
		}
		for q := int64(0); q < 200; q++ {
			check(q)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			check(rng.Int64N(1_000_000_000))
		}
		values := []int32{5, -3, 0, 1 << 30, -1 << 30}
		want := engine.Int128{}
		for i, v := range values {
			want = want.Add(mul(c.f.step(999_999_995+int64(i)), int64(v)-7))
		}
		if got := c.f.weighted(999_999_995, values, 7); got != want {
			t.Errorf("weighted %s is %s, want %s", c.name, got, want)
		}
		for _, x := range c.f.beta {
			if x >= 1<<24 || x <= -1<<24 {
				t.Fatalf("%s: beta %d is beyond its bound", c.name, x)
			}
		}
	}
}

func TestMul(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		x := mul(a, b)
		if want := engine.Int128From(a).Big(); x.Big().Cmp(want.Mul(want, engine.Int128From(b).Big())) != 0 {
			t.Fatalf("%d·%d = %s", a, b, x)
		}
		c := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "c")
		small := mul(a>>24, b>>20)
		if want := small.Big(); mulWide(small, c).Big().Cmp(want.Mul(want, engine.Int128From(c).Big())) != 0 {
			t.Fatalf("%s·%d = %s", small, c, mulWide(small, c))
		}
	})
}

func TestIsqrt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Int64Range(0, 3_037_000_498).Draw(t, "r")
		for _, n := range []int64{r * r, r*r + 2*r} {
			if got := isqrt(n); got != r {
				t.Fatalf("⌊√%d⌋ = %d, want %d", n, got, r)
			}
		}
	})
	if got := isqrt(math.MaxInt64); got != 3_037_000_499 {
		t.Errorf("⌊√(2^63−1)⌋ = %d", got)
	}
}
