package engine

import (
	"math"
	"math/big"
	"runtime/debug"
	"testing"

	"pgregory.net/rapid"
)

// plainSum is the definition: Σ v^power on big integers.
func plainSum(power int, values []Int128) *big.Int {
	sum := new(big.Int)
	for _, v := range values {
		sum.Add(sum, new(big.Int).Exp(v.Big(), big.NewInt(int64(power)), nil))
	}
	return sum
}

// drawValues draws values of at most the given size so that every kernel and
// the borders between them are met.
func drawValues(t *rapid.T) []Int128 {
	size := rapid.IntRange(0, 127).Draw(t, "size")
	edge := mustInt128(new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(size)), big.NewInt(1)))
	one := rapid.Custom(func(t *rapid.T) Int128 {
		v := genInt128(t, "v")
		shift := uint(rapid.IntRange(0, 127).Draw(t, "shift"))
		small := mustInt128(new(big.Int).Rsh(v.Big(), shift))
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return v
		case 1:
			return edge
		case 2:
			return edge.Neg()
		}
		if small.size() > size {
			return Int128{}
		}
		return small
	})
	return rapid.SliceOfN(one, 1, 40).Draw(t, "values")
}

func mustInt128(v *big.Int) Int128 {
	x, ok := Int128FromBig(v)
	if !ok {
		panic("does not fit")
	}
	return x
}

func TestPowerSumAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		power := rapid.IntRange(1, 9).Draw(t, "power")
		s := NewPowerSum(power)
		var all []Int128
		for range rapid.IntRange(1, 3).Draw(t, "pieces") {
			values := drawValues(t)
			all = append(all, values...)
			p := Piece{Wide: values}
			least, greatest := p.Extremes()
			size := Size(least, greatest)
			if narrow, ok := narrowed(values); ok && rapid.Bool().Draw(t, "narrow") {
				p = Piece{Narrow: narrow}
			}
			s.Add(p, size)
		}
		if got, want := s.Value(), plainSum(power, all); got.Cmp(want) != 0 {
			t.Fatalf("sum of powers %d of %v = %s, want %s", power, all, got, want)
		}
		s.Reset()
		if s.Value().Sign() != 0 {
			t.Fatalf("sum after Reset is %s", s.Value())
		}
	})
}

func narrowed(values []Int128) ([]int64, bool) {
	out := make([]int64, len(values))
	for i, v := range values {
		x, ok := v.Int64()
		if !ok {
			return nil, false
		}
		out[i] = x
	}
	return out, true
}

// TestPowerSumAtBorders walks each kernel up to the last value for which it is
// chosen and one bit beyond.
func TestPowerSumAtBorders(t *testing.T) {
	for power := 1; power <= 7; power++ {
		for size := 1; size <= 63; size++ {
			for _, count := range []int{1, 2, 3, 4, 7, 8, 65} {
				for _, sign := range []int64{1, -1} {
					v := sign * (math.MaxInt64 >> (63 - size))
					values, narrow := make([]Int128, count), make([]int64, count)
					for i := range values {
						values[i], narrow[i] = Int128From(v), v
					}
					s := NewPowerSum(power)
					s.Add(Piece{Narrow: narrow}, size)
					if got, want := s.Value(), plainSum(power, values); got.Cmp(want) != 0 {
						t.Fatalf("%d times %d^%d = %s, want %s", count, v, power, got, want)
					}
				}
			}
		}
	}
}

func TestPowerSumSpills(t *testing.T) {
	s := NewPowerSum(1)
	top := Int128{Hi: math.MaxInt64, Lo: math.MaxUint64}
	for range 3 {
		s.AddBig(top.Big())
	}
	s.AddBig(new(big.Int).Lsh(big.NewInt(1), 200))
	want := new(big.Int).Mul(top.Big(), big.NewInt(3))
	want.Add(want, new(big.Int).Lsh(big.NewInt(1), 200))
	if s.Value().Cmp(want) != 0 {
		t.Fatalf("sum = %s, want %s", s.Value(), want)
	}
	for range 5 {
		s.AddBig(Int128{Hi: math.MinInt64}.Big())
	}
	want.Sub(want, new(big.Int).Mul(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(5)))
	if s.Value().Cmp(want) != 0 {
		t.Fatalf("sum = %s, want %s", s.Value(), want)
	}
}

func TestExtremesAndIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t)
		p := Piece{Lo: 1, Wide: values}
		if narrow, ok := narrowed(values); ok {
			p = Piece{Lo: 1, Narrow: narrow}
		}
		least, greatest := p.Extremes()
		for _, v := range values {
			if v.Cmp(least) < 0 || v.Cmp(greatest) > 0 {
				t.Fatalf("%s is outside of %s…%s", v, least, greatest)
			}
		}
		for _, v := range []Int128{least, greatest} {
			i := p.Index(v)
			if i < 0 || values[i] != v {
				t.Fatalf("Index(%s) = %d in %v", v, i, values)
			}
			for j := range i {
				if values[j] == v {
					t.Fatalf("Index(%s) = %d is not the first in %v", v, i, values)
				}
			}
		}
		size := Size(least, greatest)
		limit := new(big.Int).Lsh(big.NewInt(1), uint(size))
		m := least.Big()
		if m.Abs(m); m.Cmp(greatest.Big().Abs(greatest.Big())) < 0 {
			m = greatest.Big()
			m.Abs(m)
		}
		if m.Cmp(limit) >= 0 || (size > 0 && m.Cmp(limit.Rsh(limit, 1)) < 0) {
			t.Fatalf("Size(%s, %s) = %d", least, greatest, size)
		}
	})
}

func TestPowerSumDoesNotAllocate(t *testing.T) {
	narrow := make([]int64, 1000)
	for i := range narrow {
		narrow[i] = int64(i) * 1_000_003
	}
	s := NewPowerSum(3)
	// A collection in between would allocate a little of its own.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if n := testing.AllocsPerRun(10, func() { s.Add(Piece{Narrow: narrow}, 30) }); n != 0 {
		t.Errorf("%v allocations for 1000 cubes, want none", n)
	}
}

func BenchmarkPowerSum(b *testing.B) {
	for _, c := range []struct {
		name        string
		power, size int
	}{{"cube-16bit", 3, 16}, {"cube-21bit", 3, 21}, {"cube-36bit", 3, 36}, {"cube-62bit", 3, 62}, {"first-62bit", 1, 62}} {
		narrow := make([]int64, 4096)
		for i := range narrow {
			narrow[i] = int64(uint64(i+1)*0x9e3779b97f4a7c15>>1) >> (63 - c.size)
		}
		b.Run(c.name, func(b *testing.B) {
			s := NewPowerSum(c.power)
			for b.Loop() {
				s.Add(Piece{Narrow: narrow}, c.size)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/value")
		})
	}
}
