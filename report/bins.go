package report

import "math"

// bins counts points in columns of equal width along x and rows of equal height
// along y. The range of y need not be known beforehand: rows are numbered by
// ⌊y/step⌋, and when the numbers in use spread over more than binRows the step
// is doubled, which joins rows 2k and 2k+1. So any number of points takes the
// same memory, and no single point is ever lost among many.
type bins struct {
	columns int
	step    float64
	lo, hi  int64 // rows in use: lo ≤ row ≤ hi, hi − lo < binRows
	used    bool
	last    int // the largest column in use
	counts  []uint32
	scratch []uint32
}

// binRows is a power of two, several times the height of a picture.
const binRows = 4096

// newBins returns empty bins whose first rows are step high: step must be small
// beside what is to be told apart.
func newBins(columns int, step float64) *bins {
	return &bins{columns: columns, step: step, counts: make([]uint32, columns*binRows), scratch: make([]uint32, binRows)}
}

// at is where column and row are counted. Rows in use differ by less than
// binRows, so none share a place.
func (b *bins) at(column int, row int64) *uint32 {
	return &b.counts[column*binRows+int(row&(binRows-1))]
}

// maxRow keeps row numbers far from the ends of int64.
const maxRow = 1 << 60

// add counts one point; y must be finite.
func (b *bins) add(column int, y float64) {
	for math.Abs(y/b.step) > maxRow {
		b.double()
	}
	row := int64(math.Floor(y / b.step))
	if !b.used {
		b.used, b.lo, b.hi = true, row, row
	}
	if row < b.lo || row > b.hi {
		for max(b.hi, row)-min(b.lo, row) >= binRows {
			b.double()
			row >>= 1
		}
		b.lo, b.hi = min(b.lo, row), max(b.hi, row)
	}
	b.last = max(b.last, column)
	if c := b.at(column, row); *c != math.MaxUint32 {
		*c++
	}
}

// double joins neighbouring rows.
func (b *bins) double() {
	b.step *= 2
	if !b.used {
		return
	}
	for column := range b.last + 1 {
		clear(b.scratch)
		for row := b.lo; row <= b.hi; row++ {
			c := &b.scratch[(row>>1)&(binRows-1)]
			if sum := uint64(*c) + uint64(*b.at(column, row)); sum < math.MaxUint32 {
				*c = uint32(sum)
			} else {
				*c = math.MaxUint32
			}
		}
		copy(b.counts[column*binRows:], b.scratch)
	}
	b.lo >>= 1 // rounds down, also below zero
	b.hi >>= 1
}

// columnsOf maps n, rising, to columns of equal width on a linear or logarithmic
// axis from lo to hi.
type columnsOf struct {
	columns int
	x       func(n float64) float64
	x0, dx  float64
	column  int
	next    float64 // the first n that may belong to a later column
}

func newColumns(columns int, lo, hi int64, log bool) *columnsOf {
	c := &columnsOf{columns: columns, x: func(n float64) float64 { return n }}
	if log {
		c.x = math.Log10
	}
	c.x0 = c.x(float64(lo))
	c.dx = (c.x(float64(hi)) - c.x0) / float64(columns)
	return c
}

// of returns the column of n, which must not be less than the n before.
func (c *columnsOf) of(n float64) int {
	if n < c.next {
		return c.column
	}
	if c.dx > 0 {
		c.column = max(0, min(int((c.x(n)-c.x0)/c.dx), c.columns-1))
	}
	// Where the next column begins is found by its number, not by inverting x:
	// rounding then cannot put an n on both sides.
	c.next = n + 1
	for step := 1.0; c.dx > 0 && c.column < c.columns-1; step *= 2 {
		if m := c.next + step; int((c.x(m)-c.x0)/c.dx) == c.column {
			c.next = m
		} else {
			break
		}
	}
	return c.column
}
