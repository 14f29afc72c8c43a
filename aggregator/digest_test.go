package aggregator

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"pgregory.net/rapid"
)

func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.SampledFrom([]int64{1, 9, 99, 1000, 999_999_999, engine.MaxN - 50}).Draw(t, "near")
		lo := max(1, near-rapid.Int64Range(0, 20).Draw(t, "before"))
		values := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})), 1, 40).Draw(t, "values")
		var want strings.Builder
		p := engine.Piece{Lo: lo, Narrow: values}
		for i, v := range values {
			fmt.Fprintf(&want, "%d %d\n", lo+int64(i), v)
		}
		narrow, wide := newLines(), newLines()
		narrow.values(p)
		q := engine.Piece{Lo: lo}
		for _, v := range values {
			q.Wide = append(q.Wide, engine.Int128From(v))
		}
		wide.values(q)
		if got := narrow.sum(); got != hexSum(want.String()) || wide.sum() != got || narrow.sum() != got {
			t.Fatalf("digests of %q: %s, %s, want %s", want.String(), got, wide.sum(), hexSum(want.String()))
		}
	})
}

// BenchmarkTextDigest measures the lines of values of 18 digits.
func BenchmarkTextDigest(b *testing.B) {
	p := engine.Piece{Lo: 1_000_000_001, Narrow: make([]int64, 1024)}
	for i := range p.Narrow {
		p.Narrow[i] = 200_000_000_400_000_000 + int64(i)*400_000_000
	}
	l := newLines()
	for b.Loop() {
		l.values(p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/value")
}
