package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.SampledFrom([]int64{1, 9, 99, 1000, 99_999_999, 999_999_999, MaxN - 50}).Draw(t, "near")
		lo := max(1, near-rapid.Int64Range(0, 20).Draw(t, "before"))
		values := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})), 1, 40).Draw(t, "values")
		p, q := Piece{Lo: lo, Narrow: values}, Piece{Lo: lo}
		want, wide := "x", "x"
		for i, v := range values {
			want += fmt.Sprintf("%d,%d\n", lo+int64(i), v)
			x := Int128{Hi: v >> rapid.IntRange(0, 63).Draw(t, "shift"), Lo: uint64(v)}
			q.Wide = append(q.Wide, x)
			wide += fmt.Sprintf("%d,%s\n", lo+int64(i), x)
		}
		if got := string(p.AppendLines([]byte("x"), ',')); got != want {
			t.Fatalf("narrow: %q, want %q", got, want)
		}
		if got := string(q.AppendLines([]byte("x"), ',')); got != wide {
			t.Fatalf("wide: %q, want %q", got, wide)
		}
	})
	if got := (Piece{Lo: 3}).AppendLines(nil, ' '); len(got) != 0 {
		t.Errorf("no values give %q", got)
	}
	longest := Piece{Lo: MaxN, Wide: []Int128{{Hi: math.MinInt64}, {Hi: math.MinInt64}}}
	if got := string(longest.AppendLines(nil, ' ')); strings.Count(got, "-170141183460469231731687303715884105728\n") != 2 {
		t.Errorf("the longest lines are %q", got)
	}
}

func TestPutInt(t *testing.T) {
	var b [24]byte
	try := func(v int64) {
		t.Helper()
		if got, want := string(b[:putInt(b[:], 0, v)]), fmt.Sprint(v); got != want {
			t.Errorf("putInt(%d) = %s", v, got)
		}
	}
	for _, p := range pow10 {
		for d := int64(-2); d <= 2; d++ {
			try(int64(p) + d)
			try(-int64(p) + d)
		}
	}
	for k := range 64 {
		for d := int64(-2); d <= 2; d++ {
			try(1<<k + d)
		}
	}
	var d decimal
	for _, lo := range []int64{0, 8, 99_990, 9_999_990, 99_999_990, 999_999_999_990, MaxN - 5} {
		d.set(lo)
		for n := lo; n < lo+30; n++ {
			if got, want := string(b[:d.put(b[:], 0)]), fmt.Sprint(n); got != want {
				t.Errorf("counter at %d is %s", n, got)
			}
			d.inc(n + 1)
		}
	}
}

func BenchmarkAppendLines(b *testing.B) {
	p := Piece{Lo: 1_000_000_001, Narrow: make([]int64, 256)}
	for i := range p.Narrow {
		p.Narrow[i] = 200_000_000_400_000_000 + int64(i)*400_000_000
	}
	var buf []byte
	for b.Loop() {
		buf = p.AppendLines(buf[:0], ' ')
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/value")
}
