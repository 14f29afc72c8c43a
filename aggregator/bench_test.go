package aggregator

import (
	"context"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// shelf is a Reader that has every cell ready.
type shelf struct {
	first int64
	cells []jobs.CellValues
}

func newShelf(m *memory) *shelf {
	first, last := m.sweep.Cells()
	s := &shelf{first: first}
	for i := first; i < last; i++ {
		s.cells = append(s.cells, m.cell(i))
	}
	return s
}

func (s *shelf) ReadCells(_ context.Context, _ jobs.RunID, _ jobs.Sweep, first, last int64) ([]jobs.CellValues, error) {
	return s.cells[first-s.first : last-s.first], nil
}

func (s *shelf) ReadPoints(context.Context, jobs.RunID, string, []int64) ([]jobs.PointValue, error) {
	return nil, nil
}

// BenchmarkFold measures values a second through CRC, digests, sums and
// extremes, beside reading them.
func BenchmarkFold(b *testing.B) {
	const count = 2_000_000
	hop := engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: 50}}, Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 4}}}
	bez := engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: 20_000}}, Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 8}}}
	wide := engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: 20_000}}, Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 16}}}
	scattered := func(n int64) engine.Int128 {
		return engine.Int128{Lo: uint64(n) * 0x9e3779b97f4a7c15 >> 32 % uint64(n+1)}
	}
	square := func(n int64) engine.Int128 { return engine.Int128From(n * n / 5) }
	for _, c := range []struct {
		name  string
		grid  engine.Grid
		lo    int64
		keep  jobs.Keep
		sums  []int
		value func(int64) engine.Int128
	}{
		{"hopping-cubes-cells-of-50", hop, 1, jobs.KeepValues, []int{3}, scattered},
		{"hopping-cubes", engine.Grid{Version: 1, Bands: bez.Bands, Widths: hop.Widths}, 1, jobs.KeepValues, []int{3}, scattered},
		{"bezout-first-powers", bez, 1_000_000_001, jobs.KeepValues, []int{1}, square},
		{"bezout-cubes", bez, 1_000_000_001, jobs.KeepValues, []int{3}, square},
		{"bezout-wide", wide, 1_000_000_001, jobs.KeepValues, []int{1}, square},
		{"bezout-records", bez, 1_000_000_001, jobs.KeepSums, []int{1}, square},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := jobs.Sweep{Name: "x", Keep: c.keep, Set: mustSet(c.lo, c.lo+count), Grid: c.grid, Sums: c.sums}
			r, l := newShelf(newMemory(s, c.value)), fullLedger(s)
			for b.Loop() {
				f := NewFold(testID, s)
				mustAdvance(b, f, r, l)
				if !f.Result().Complete {
					b.Fatal("not complete")
				}
			}
			b.ReportMetric(count*float64(b.N)/1e6/b.Elapsed().Seconds(), "Mvalues/s")
		})
	}
}

// BenchmarkAdvanceNothingNew measures a look at a ledger without news.
func BenchmarkAdvanceNothingNew(b *testing.B) {
	s := jobs.Sweep{Name: "x", Keep: jobs.KeepValues, Set: mustSet(1, 1_000_001), Grid: smallGrid(4, 8), Sums: []int{3}}
	for n := range int64(1000) {
		s.Checkpoints = append(s.Checkpoints, value(1000*(n+1), "1"))
	}
	f, r, l := NewFold(testID, s), newMemory(s, engine.Int128From), jobs.NewLedger(s.Cells())
	for b.Loop() {
		mustAdvance(b, f, r, l)
	}
}
