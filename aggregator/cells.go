package aggregator

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// batchBytes bounds what one ReadCells asks for, unless a single cell is
// larger. Two batches are in memory at a time.
const batchBytes = 2 << 20

// recordBytes is what one cell record is taken to need.
const recordBytes = 200

// chunkLen is how many values are decoded and folded at once: they stay in the
// first-level cache over the passes for extremes, sums and text.
const chunkLen = 1024

// batch is an answer to ReadCells.
type batch struct {
	first, last int64
	cells       []jobs.CellValues
	err         error
}

// foldCells folds the finished cells from f.cell on. While one batch is folded
// the next is read by a goroutine, for which foldCells waits before it returns.
func (f *Fold) foldCells(ctx context.Context, r Reader, l *jobs.Ledger) error {
	end := min(l.NextOpen(f.cell), f.lastCell)
	if f.cell >= end || !l.Done(f.cell) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan batch, 1)
	reading := false
	defer func() {
		cancel()
		if reading {
			<-answers
		}
	}()
	read := func(first int64) {
		if first >= end {
			return
		}
		last := f.batchEnd(first, end)
		reading = true
		go func() {
			cells, err := r.ReadCells(ctx, f.id, f.s, first, last)
			answers <- batch{first, last, cells, err}
		}()
	}
	for read(f.cell); reading; {
		b := <-answers
		reading = false
		if b.err != nil {
			return fmt.Errorf("sweep %s: read cells of n = %d…: %w", f.s.Name, f.lo(b.first), b.err)
		}
		read(b.last)
		if err := f.foldBatch(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fold) lo(cell int64) int64 {
	c, _ := f.s.Cell(cell)
	return c.Lo
}

// batchEnd returns where a batch that starts with cell first ends: at end or
// when it is full.
func (f *Fold) batchEnd(first, end int64) int64 {
	var bytes int64
	for i := first; i < end; i++ {
		if f.s.Keep == jobs.KeepSums {
			bytes += recordBytes
		} else {
			c, _ := f.s.Cell(i)
			bytes += c.Len() * int64(f.s.Grid.Width(c.Lo))
		}
		if bytes > batchBytes && i > first {
			return i
		}
	}
	return end
}

// foldBatch folds the cells of a batch, which start at f.cell, up to the first
// that is damaged or has a checkpoint that is not met.
func (f *Fold) foldBatch(ctx context.Context, b batch) error {
	var damage error
	good := 0
	for i := b.first; i < b.last; i++ {
		if damage = f.examine(i, b.cells, good); damage != nil {
			break
		}
		good++
	}
	fold := f.foldStored
	if f.s.Keep == jobs.KeepSums {
		fold = f.foldRecord
	}
	for cells := b.cells[:good]; len(cells) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		k, err := fold(cells)
		if err != nil {
			return err
		}
		f.cell += int64(k)
		if err := f.checks.take(f.s.Name); err != nil {
			return err
		}
		cells = cells[k:]
	}
	return damage
}

// examine checks that cells[at] is there, is the cell with this grid index and
// carries the bytes that were computed.
func (f *Fold) examine(index int64, cells []jobs.CellValues, at int) error {
	want, _ := f.s.Cell(index)
	corrupt := func(format string, args ...any) error {
		return &CorruptError{Sweep: f.s.Name, Cell: want, Why: fmt.Sprintf(format, args...)}
	}
	if at >= len(cells) {
		return corrupt("it is missing though the ledger has it as finished")
	}
	c := cells[at]
	if c.Cell != want {
		return corrupt("the store has n = %d…%d in its place", c.Cell.Lo, c.Cell.Hi-1)
	}
	if len(c.Data) == 0 {
		return corrupt("its bytes are missing though the ledger has it as finished")
	}
	if f.s.Keep != jobs.KeepSums {
		width := f.s.Grid.Width(want.Lo)
		if size := want.Len() * int64(width); c.Width != width || int64(len(c.Data)) != size {
			return corrupt("it has %d bytes for values of %d bytes, want %d for values of %d", len(c.Data), c.Width, size, width)
		}
	}
	if got := jobs.CRC(c.Data); got != c.CRC {
		return corrupt("%s", crcText(got, c.CRC))
	}
	return nil
}

// foldStored folds one cell, or several small ones of the same width together,
// and returns how many.
func (f *Fold) foldStored(cells []jobs.CellValues) (int, error) {
	width := cells[0].Width
	vals := engine.Piece{Lo: cells[0].Cell.Lo, Narrow: f.vals.Narrow[:0], Wide: f.vals.Wide[:0]}
	pending := 0
	k := 0
	for k < len(cells) && cells[k].Width == width && (k == 0 || pending < chunkLen) {
		c := cells[k]
		f.tree.cell(c.Cell.Lo, c.Cell.Hi, sha256.Sum256(c.Data))
		for data := c.Data; len(data) > 0; {
			part := data[:min(len(data), (chunkLen-pending)*width)]
			vals = appendDecoded(vals, width, part)
			data = data[len(part):]
			if pending += len(part) / width; pending == chunkLen && len(data) > 0 {
				f.foldDecoded(vals, width)
				vals.Lo += int64(pending)
				vals.Narrow, vals.Wide, pending = vals.Narrow[:0], vals.Wide[:0], 0
			}
		}
		k++
	}
	f.foldDecoded(vals, width)
	f.vals = vals
	return k, nil
}

// foldDecoded folds the values of vals, of which the slice for the other width
// is empty but may have memory.
func (f *Fold) foldDecoded(vals engine.Piece, width int) {
	if width == 16 {
		vals.Narrow = nil
	} else {
		vals.Wide = nil
	}
	f.foldValues(vals)
}

// appendDecoded appends values in the stored encoding to p.
func appendDecoded(p engine.Piece, width int, b []byte) engine.Piece {
	switch width {
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			p.Narrow = append(p.Narrow, int64(binary.BigEndian.Uint32(b)))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			p.Narrow = append(p.Narrow, int64(binary.BigEndian.Uint64(b)))
		}
	default:
		for ; len(b) >= 16; b = b[16:] {
			p.Wide = append(p.Wide, engine.Int128FromBytes(b))
		}
	}
	return p
}
