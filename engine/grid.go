package engine

import "fmt"

// BlockLen is the number of values in one stored block. 4000 values of 4, 8 or
// 16 bytes and the string header stay just under a size class of the Redis
// allocator (16, 32 and 64 KiB); 4096 would spill into the next one and waste
// a fifth.
const BlockLen = 4000

// Band is a stretch of n with one cell size: the n after the band before it,
// up to and including Upto.
type Band struct {
	Upto int64 `json:"upto"`
	Cell int64 `json:"cell"`
}

// WidthBand gives the bytes of a stored value for n up to and including Upto.
type WidthBand struct {
	Upto  int64 `json:"upto"`
	Bytes int   `json:"bytes"`
}

// Grid is the fixed cutting of n = 1, 2, 3, … into cells. Cell 0 starts at
// n = 1. It depends on nothing but n, so a longer range keeps every whole cell
// of a shorter one, and a cell's bytes and digest are the same in every run.
type Grid struct {
	// Version changes with any change of the tables below.
	Version int         `json:"version"`
	Bands   []Band      `json:"bands"`
	Widths  []WidthBand `json:"widths"`
}

// Cell is one cell of a grid: the n in [Lo, Hi).
type Cell struct {
	Index  int64
	Lo, Hi int64
}

// Len returns the number of n in the cell.
func (c Cell) Len() int64 { return c.Hi - c.Lo }

// Check reports whether the tables keep the promises the rest of nsweep builds
// on: bands rise to MaxN, a cell size divides BlockLen or is a multiple of it,
// every border is a multiple of BlockLen and of the cell sizes it separates,
// and widths are 4, 8 or 16 and rise.
func (g Grid) Check() error {
	if len(g.Bands) == 0 || g.Bands[len(g.Bands)-1].Upto < MaxN {
		return fmt.Errorf("grid: bands end before %d", MaxN)
	}
	if len(g.Widths) == 0 || g.Widths[len(g.Widths)-1].Upto < MaxN {
		return fmt.Errorf("grid: widths end before %d", MaxN)
	}
	start := int64(0)
	for i, b := range g.Bands {
		if b.Cell < 1 || (BlockLen%b.Cell != 0 && b.Cell%BlockLen != 0) {
			return fmt.Errorf("grid: cell size %d neither divides %d nor is a multiple of it", b.Cell, BlockLen)
		}
		if b.Upto <= start || b.Upto%BlockLen != 0 || b.Upto%b.Cell != 0 || start%b.Cell != 0 {
			return fmt.Errorf("grid: band %d ends at %d, which does not fit blocks of %d and cells of %d", i, b.Upto, BlockLen, b.Cell)
		}
		start = b.Upto
	}
	start = 0
	last := 0
	for _, w := range g.Widths {
		if (w.Bytes != 4 && w.Bytes != 8 && w.Bytes != 16) || w.Bytes < last {
			return fmt.Errorf("grid: width %d is not 4, 8 or 16, or falls", w.Bytes)
		}
		if w.Upto <= start || w.Upto%BlockLen != 0 {
			return fmt.Errorf("grid: width border %d is not a rising multiple of %d", w.Upto, BlockLen)
		}
		// A border inside a cell would give one cell two widths.
		if c := g.CellAt(w.Upto); c.Hi-1 != w.Upto {
			return fmt.Errorf("grid: width border %d lies inside a cell", w.Upto)
		}
		start, last = w.Upto, w.Bytes
	}
	return nil
}

// CellAt returns the cell that holds n, 1 ≤ n ≤ MaxN.
func (g Grid) CellAt(n int64) Cell {
	start, base := int64(0), int64(0)
	for _, b := range g.Bands {
		if n <= b.Upto {
			k := (n - 1 - start) / b.Cell
			lo := start + k*b.Cell + 1
			return Cell{Index: base + k, Lo: lo, Hi: lo + b.Cell}
		}
		base += (b.Upto - start) / b.Cell
		start = b.Upto
	}
	panic(fmt.Sprintf("engine: n = %d is beyond the grid", n))
}

// Cell returns the cell with the given index, 0 ≤ index.
func (g Grid) Cell(index int64) Cell {
	start, base := int64(0), int64(0)
	for _, b := range g.Bands {
		count := (b.Upto - start) / b.Cell
		if index < base+count {
			lo := start + (index-base)*b.Cell + 1
			return Cell{Index: index, Lo: lo, Hi: lo + b.Cell}
		}
		base += count
		start = b.Upto
	}
	panic(fmt.Sprintf("engine: cell %d is beyond the grid", index))
}

// Range returns the indices [first, last) of the cells that meet [lo, hi).
func (g Grid) Range(lo, hi int64) (first, last int64) {
	if hi <= lo {
		return 0, 0
	}
	return g.CellAt(lo).Index, g.CellAt(hi-1).Index + 1
}

// Clip returns the part of the cell inside [lo, hi).
func (c Cell) Clip(lo, hi int64) Cell {
	c.Lo, c.Hi = max(c.Lo, lo), min(c.Hi, hi)
	return c
}

// Width returns the bytes of a stored value at n, 1 ≤ n ≤ MaxN.
func (g Grid) Width(n int64) int {
	for _, w := range g.Widths {
		if n <= w.Upto {
			return w.Bytes
		}
	}
	panic(fmt.Sprintf("engine: n = %d is beyond the grid", n))
}
