package engine

import (
	"testing"

	"pgregory.net/rapid"
)

var testGrid = Grid{
	Version: 1,
	Bands:   []Band{{Upto: 1_000_000, Cell: 1000}, {Upto: 100_000_000, Cell: 20_000}, {Upto: MaxN, Cell: 40_000}},
	Widths:  []WidthBand{{Upto: 6_000_000_000, Bytes: 8}, {Upto: MaxN, Bytes: 16}},
}

func TestGridCellsTileTheLine(t *testing.T) {
	if err := testGrid.Check(); err != nil {
		t.Fatal(err)
	}
	near := rapid.Custom(func(t *rapid.T) int64 {
		c := rapid.SampledFrom([]int64{2, 1000, 1_000_000, 100_000_000, 6_000_000_000, MaxN - 100_000}).Draw(t, "c")
		return max(1, c+rapid.Int64Range(-50_000, 50_000).Draw(t, "d"))
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(near, rapid.Int64Range(1, MaxN-40_000)).Draw(t, "n")
		c := testGrid.CellAt(n)
		if n < c.Lo || n >= c.Hi {
			t.Fatalf("n = %d is not in its cell %v", n, c)
		}
		if back := testGrid.Cell(c.Index); back != c {
			t.Fatalf("Cell(%d) = %v, CellAt gave %v", c.Index, back, c)
		}
		if next := testGrid.Cell(c.Index + 1); next.Lo != c.Hi {
			t.Fatalf("cell %v is followed by %v", c, next)
		}
		if testGrid.Width(c.Lo) != testGrid.Width(c.Hi-1) {
			t.Fatalf("cell %v has two widths", c)
		}
	})
}

func TestGridCheckRefuses(t *testing.T) {
	for name, change := range map[string]func(*Grid){
		"ends early":        func(g *Grid) { g.Bands = g.Bands[:2] },
		"odd cell":          func(g *Grid) { g.Bands = []Band{{MaxN, 3000}} },
		"border in a cell":  func(g *Grid) { g.Bands = []Band{{1_004_000, 1000}, {MaxN, 20_000}} },
		"width not a power": func(g *Grid) { g.Widths = []WidthBand{{MaxN, 5}} },
		"width falls":       func(g *Grid) { g.Widths = []WidthBand{{4000, 8}, {MaxN, 4}} },
		"width in a cell":   func(g *Grid) { g.Widths = []WidthBand{{1_004_000, 8}, {MaxN, 16}} },
	} {
		g := testGrid
		change(&g)
		if g.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestGridGolden(t *testing.T) {
	for _, c := range []struct{ n, index, lo, hi int64 }{
		{1, 0, 1, 1001}, {1000, 0, 1, 1001}, {1001, 1, 1001, 2001},
		{1_000_000, 999, 999_001, 1_000_001}, {1_000_001, 1000, 1_000_001, 1_020_001},
		{100_000_000, 5949, 99_980_001, 100_000_001}, {100_000_001, 5950, 100_000_001, 100_040_001},
	} {
		if got := testGrid.CellAt(c.n); got != (Cell{c.index, c.lo, c.hi}) {
			t.Errorf("CellAt(%d) = %v, want %v", c.n, got, c)
		}
	}
}
