package hopping

import (
	"context"
	"fmt"
	"testing"
)

// benchmarkWork times M(n) for lo ≤ n ≤ hi with warm scratch memory and reports
// the evaluations (or updates) and their time.
func benchmarkWork(b *testing.B, s solver, lo, hi int) {
	p := newPoller(context.Background())
	for n := hi; n > hi-4 && n >= lo; n-- {
		mustSolve(b, s, n)
	}
	mustSolve(b, s, hi) // a first n is not the rule
	work := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		work = 0
		for n := lo; n <= hi; n++ {
			r, err := s.solve(n, p)
			if err != nil {
				b.Fatal(err)
			}
			work += r.work
		}
	}
	perOp := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(float64(work), "evals/op")
	b.ReportMetric(perOp/float64(work), "ns/eval")
}

// The sums are those that testdata/bench/table.cpp times in C++.
func BenchmarkClasses(b *testing.B) {
	b.Run("sum-1000", func(b *testing.B) { benchmarkWork(b, newClasses(), 1, 1000) })
	b.Run("sum-10000", func(b *testing.B) { benchmarkWork(b, newClasses(), 1, 10_000) })
	for _, n := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("one-%d", n), func(b *testing.B) { benchmarkWork(b, newClasses(), n, n) })
	}
	b.Run("cold-1000000", func(b *testing.B) {
		p := newPoller(context.Background())
		for b.Loop() {
			if _, err := newClasses().solve(1_000_000, p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTable(b *testing.B) {
	b.Run("sum-1000", func(b *testing.B) { benchmarkWork(b, new(table), 1, 1000) })
	b.Run("one-10000", func(b *testing.B) { benchmarkWork(b, new(table), 10_000, 10_000) })
	b.Run("one-100000", func(b *testing.B) { benchmarkWork(b, new(table), 100_000, 100_000) })
}

func BenchmarkPlain(b *testing.B) {
	b.Run("labels-16", func(b *testing.B) { benchmarkWork(b, new(labels), 16, 16) })
	b.Run("grundy-16", func(b *testing.B) { benchmarkWork(b, new(grundy), 16, 16) })
	b.Run("walk-20", func(b *testing.B) { benchmarkWork(b, walk{}, 20, 20) })
}
