package bezout

import (
	"context"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// The names are made for benchstat; testdata/bench holds the programs to compare
// with.

func BenchmarkSum(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int64
	}{{"1e9", 1e9}, {"1e10", 1e10}, {"1e11", 1e11}, {"1e12", 1e12}, {"1e13", 1e13}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := sum(context.Background(), c.n, engine.Sink{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDense(b *testing.B) {
	for _, c := range []struct {
		name  string
		lo, n int64
	}{
		{"from-1", 1, 100_000_000}, {"window-1e8", 100_000_001, 20_000_000},
		{"window-1e9", 1_000_000_001, 20_000_000}, {"window-5e9", 5_000_000_001, 20_000_000},
		{"window-1e12", 1_000_000_000_001, 2_000_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := engine.Work{Algorithm: algSteps, Lo: c.lo, Hi: c.lo + c.n}
			for b.Loop() {
				if err := New().Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return nil }}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(c.n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}

// BenchmarkKernel times the inner loops, per element.
func BenchmarkKernel(b *testing.B) {
	const n = 2048
	inverse := make([]float64, n)
	for j := range inverse {
		inverse[j] = 1 / float64(roughAt(int64(j+1)))
	}
	x, table := 2e8+0.5, new(prefixTable)
	buf := make([]byte, 8*n)
	cells, marks, out := make([]cell[uint32], n), make([]uint8, n), make([]uint32, n)
	for i := range cells {
		cells[i] = cell[uint32]{c: uint32(2*i + 1), phi: 1}
	}
	values, octets := new([8 * blockOctets]int64), new([blockOctets]int64)
	odd, twice, fourfold := new([4 * blockOctets]uint32), new([2 * blockOctets]uint32), new([blockOctets]uint32)
	sink := int64(0)
	for _, k := range []struct {
		name  string
		count int
		f     func()
	}{
		{"counts", n, func() { sink += sumCounts(x, inverse) }},
		{"prefixes", n, func() { sink += sumPrefix(x/2, inverse, table) }},
		{"mu-words", n, func() { sink += sumBytes(buf, 5*eachByte) }},
		{"steps", n, func() { finishSteps(out, cells, marks) }},
		{"totients", n, func() { finishTotients(out, cells) }},
		{"values", 8 * blockOctets, func() { addSteps(values, sink, odd, twice, fourfold, octets) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			for b.Loop() {
				k.f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k.count), "ns/element")
		})
	}
}
