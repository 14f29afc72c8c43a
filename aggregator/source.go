package aggregator

import (
	"context"
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

// source reads the stored values of one sweep and checks them.
type source struct {
	id jobs.RunID
	s  jobs.Sweep
}

// readCells reads the cells [first, end) in batches and hands them to use in
// order. While one batch is used the next is read by a goroutine, for which
// readCells waits before it returns.
func (s source) readCells(ctx context.Context, r Reader, first, end int64, use func(batch) error) error {
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
		last := s.batchEnd(first, end)
		reading = true
		go func() {
			cells, err := r.ReadCells(ctx, s.id, s.s, first, last)
			answers <- batch{first, last, cells, err}
		}()
	}
	for read(first); reading; {
		b := <-answers
		reading = false
		if b.err != nil {
			c, _ := s.s.Cell(b.first)
			return fmt.Errorf("sweep %s: read cells from n = %d on: %w", s.s.Name, c.Lo, b.err)
		}
		read(b.last)
		if err := use(b); err != nil {
			return err
		}
	}
	return nil
}

// batchEnd returns where a batch that starts with cell first ends: at end or
// when it is full.
func (s source) batchEnd(first, end int64) int64 {
	var bytes int64
	for i := first; i < end; i++ {
		if s.s.Keep == jobs.KeepSums {
			bytes += recordBytes
		} else {
			c, _ := s.s.Cell(i)
			bytes += c.Len() * int64(s.s.Grid.Width(c.Lo))
		}
		if bytes > batchBytes && i > first {
			return i
		}
	}
	return end
}

// sound returns how many cells at the front of the batch are whole and in their
// place, and a *CorruptError about the next if there is one.
func (s source) sound(b batch) (good int, damage error) {
	for i := b.first; i < b.last; i++ {
		if err := s.examine(i, b.cells, good); err != nil {
			return good, err
		}
		good++
	}
	return good, nil
}

// examine checks that cells[at] is there, is the cell with this grid index and
// carries the bytes that were computed.
func (s source) examine(index int64, cells []jobs.CellValues, at int) error {
	want, _ := s.s.Cell(index)
	corrupt := func(format string, args ...any) error {
		return &CorruptError{Sweep: s.s.Name, Cell: want, Why: fmt.Sprintf(format, args...)}
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
	if s.s.Keep != jobs.KeepSums {
		width := s.s.Grid.Width(want.Lo)
		if size := want.Len() * int64(width); c.Width != width || int64(len(c.Data)) != size {
			return corrupt("it has %d bytes for values of %d bytes, want %d for values of %d", len(c.Data), c.Width, size, width)
		}
	}
	if got := jobs.CRC(c.Data); got != c.CRC {
		return corrupt("%s", crcText(got, c.CRC))
	}
	return nil
}

// decoder turns stored cells into pieces of at most chunkLen values.
type decoder struct {
	narrow []int64
	wide   []engine.Int128
}

// next decodes the first cell, or several small ones of the same width together,
// gives the values to emit and returns how many cells it took. The pieces are
// valid during emit only.
func (d *decoder) next(cells []jobs.CellValues, emit func(engine.Piece) error) (int, error) {
	width := cells[0].Width
	d.narrow, d.wide = d.narrow[:0], d.wide[:0]
	lo, pending := cells[0].Cell.Lo, 0
	flush := func() error {
		p := engine.Piece{Lo: lo, Narrow: d.narrow}
		if width == 16 {
			p = engine.Piece{Lo: lo, Wide: d.wide}
		}
		lo += int64(pending)
		d.narrow, d.wide, pending = d.narrow[:0], d.wide[:0], 0
		return emit(p)
	}
	k := 0
	for k < len(cells) && cells[k].Width == width && (k == 0 || pending < chunkLen) {
		for data := cells[k].Data; len(data) > 0; {
			if pending == chunkLen {
				if err := flush(); err != nil {
					return k, err
				}
			}
			part := data[:min(len(data), (chunkLen-pending)*width)]
			d.append(width, part)
			pending += len(part) / width
			data = data[len(part):]
		}
		k++
	}
	return k, flush()
}

// append appends values in the stored encoding.
func (d *decoder) append(width int, b []byte) {
	switch width {
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			d.narrow = append(d.narrow, int64(binary.BigEndian.Uint32(b)))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			d.narrow = append(d.narrow, int64(binary.BigEndian.Uint64(b)))
		}
	default:
		for ; len(b) >= 16; b = b[16:] {
			d.wide = append(d.wide, engine.Int128FromBytes(b))
		}
	}
}
