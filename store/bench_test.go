package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/embedredis"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// The shapes of the two functions that nsweep knows: M(n) in cells of 50
// values of 4 bytes, W(n) in cells of 1000 and 20000 of 8.
var (
	gridM = engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: 50}}, Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 4}}}
	gridW = engine.Grid{
		Version: 1,
		Bands:   []engine.Band{{Upto: 400_000, Cell: 1000}, {Upto: engine.MaxN, Cell: 20_000}},
		Widths:  []engine.WidthBand{{Upto: engine.MaxN, Bytes: 8}},
	}
)

// filled returns a sweep of 1 … n on a grid, and all its cells with data that
// does not compress.
func filled(n int64, grid engine.Grid) (jobs.Sweep, []jobs.CellValues) {
	w := jobs.Sweep{Name: "s", Engine: "test", Version: 1, Keep: jobs.KeepValues, Set: jobs.Set{Lo: 1, Hi: n + 1}, Grid: grid}
	first, last := w.Cells()
	cells := make([]jobs.CellValues, 0, last-first)
	x := uint64(1)
	for i := first; i < last; i++ {
		c, whole := w.Cell(i)
		width := grid.Width(c.Lo)
		data := make([]byte, c.Len()*int64(width))
		for j := range data {
			x = x*6364136223846793005 + 1442695040888963407
			data[j] = byte(x >> 56)
		}
		cells = append(cells, jobs.CellValues{Cell: c, Whole: whole, Width: width, Data: data, CRC: jobs.CRC(data)})
	}
	return w, cells
}

// BenchmarkCommit stores 2^20 values a round, in commits of so many cells.
func BenchmarkCommit(b *testing.B) {
	const n = 1 << 20
	for _, shape := range []struct {
		name string
		grid engine.Grid
	}{{"u32", gridM}, {"i64", gridW}} {
		for _, server := range []string{"redis", "embedded"} {
			for _, size := range []int{20, 1 << 20} {
				name := fmt.Sprintf("%s/%s/commit=%dcells", shape.name, server, size)
				if size == 1<<20 {
					name = fmt.Sprintf("%s/%s/commit=1MiB", shape.name, server)
				}
				b.Run(name, func(b *testing.B) {
					s := openBench(b, server)
					ctx := context.Background()
					w, cells := filled(n, shape.grid)
					b.SetBytes(n * int64(cells[0].Width))
					for i := 0; b.Loop(); i++ {
						run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: fmt.Sprintf("r%d", i)}, Sweeps: []jobs.Sweep{w}})
						if err != nil {
							b.Fatal(err)
						}
						for rest := cells; len(rest) > 0; {
							k := min(size, len(rest))
							c := jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues, Cells: rest[:k], Worker: "w"}
							got, err := s.Commit(ctx, c)
							if err != nil || got.Stored != k {
								b.Fatal(got, err)
							}
							rest = rest[k:]
						}
						b.StopTimer()
						if err := s.Delete(ctx, run.ID); err != nil {
							b.Fatal(err)
						}
						b.StartTimer()
					}
					b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
				})
			}
		}
	}
}

// BenchmarkAgain commits 2^20 values that are stored already.
func BenchmarkAgain(b *testing.B) {
	const n = 1 << 20
	for _, server := range []string{"redis", "embedded"} {
		b.Run("u32/"+server, func(b *testing.B) {
			s := openBench(b, server)
			ctx := context.Background()
			w, cells := filled(n, gridM)
			run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: []jobs.Sweep{w}})
			if err != nil {
				b.Fatal(err)
			}
			c := jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues, Cells: cells}
			if _, err := s.Commit(ctx, c); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(4 * n)
			for b.Loop() {
				if got, err := s.Commit(ctx, c); err != nil || got.Same != len(cells) {
					b.Fatal(got, err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}

// BenchmarkRead reads 2^20 stored values a round.
func BenchmarkRead(b *testing.B) {
	const n = 1 << 20
	for _, server := range []string{"redis", "embedded"} {
		b.Run("u32/"+server, func(b *testing.B) {
			s := openBench(b, server)
			ctx := context.Background()
			w, cells := filled(n, gridM)
			run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: []jobs.Sweep{w}})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Commit(ctx, jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues, Cells: cells}); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(4 * n)
			for b.Loop() {
				if _, err := s.ReadCells(ctx, run.ID, w, 0, int64(len(cells))); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}

func openBench(b *testing.B, server string) *store.Store {
	b.Helper()
	if server == "redis" {
		return openRedis(b, redistest.Start(b))
	}
	m, err := embedredis.Open(embedredis.Options{Dir: b.TempDir(), Persist: store.Lasting})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	s, err := store.Open(context.Background(), store.Options{Embedded: true, Dialer: m.Dial})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}
