package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// readBytes is about how much one round trip reads.
const readBytes = 8 << 20

// ReadCells returns the cells [first, last) of the sweep's dense part, clipped
// to its set, with the bytes and CRCs that are stored. It does not ask whether
// they are finished: the ledger tells.
//
// Bytes that are not there are left out, never made up: Data is then shorter
// than the cell, and CRC is 0 where none is stored. A caller must check both
// the length and the CRC; an empty Data has the CRC 0.
//
// Data of neighbouring cells shares memory, so that it must not be written to.
// The cells are asked for in few large round trips; the result of a call takes
// as much memory as the cells have bytes.
func (s *Store) ReadCells(ctx context.Context, id jobs.RunID, w jobs.Sweep, first, last int64) ([]jobs.CellValues, error) {
	fail := func(err error) ([]jobs.CellValues, error) {
		return nil, fmt.Errorf("read cells %d…%d of %s of run %s: %w", first, last-1, w.Name, id.Name, err)
	}
	lo, hi := w.Cells()
	if first < lo || last > hi || first > last {
		return fail(fmt.Errorf("the sweep has cells %d…%d", lo, hi-1))
	}
	if first == last {
		return nil, nil
	}
	cells := make([]jobs.CellValues, last-first)
	for i := range cells {
		c, whole := w.Cell(first + int64(i))
		cells[i] = jobs.CellValues{Cell: c, Whole: whole, Width: w.Grid.Width(c.Lo)}
	}
	if err := s.readCRCs(ctx, keysOf(id), w.Name, cells); err != nil {
		return fail(err)
	}
	read := s.readValues
	if w.Keep == jobs.KeepSums {
		read = s.readRecords
	}
	if err := read(ctx, keysOf(id), w.Name, cells); err != nil {
		return fail(err)
	}
	return cells, nil
}

// readCRCs fills in the CRCs of consecutive cells.
func (s *Store) readCRCs(ctx context.Context, k runKeys, sweep string, cells []jobs.CellValues) error {
	for i := 0; i < len(cells); {
		pipe := s.client.Pipeline()
		var cmds []*redis.StringCmd
		var begins []int
		for j := i; j < len(cells) && len(cmds) < pipelined; {
			index := cells[j].Cell.Index
			n := min(int64(len(cells)-j), ChunkCells-index%ChunkCells)
			at := index % ChunkCells
			cmds = append(cmds, pipe.GetRange(ctx, k.crc(sweep, index/ChunkCells), 4*at, 4*(at+n)-1))
			begins = append(begins, j)
			j += int(n)
		}
		_, _ = pipe.Exec(ctx) // each command's own error tells
		for b, cmd := range cmds {
			text, err := cmd.Bytes()
			if err != nil {
				return fmt.Errorf("key %s: %w", k.crc(sweep, cells[begins[b]].Cell.Index/ChunkCells), err)
			}
			for j := 0; j+4 <= len(text); j += 4 {
				cells[begins[b]+j/4].CRC = binary.BigEndian.Uint32(text[j:])
			}
			i = begins[b] + int(min(int64(len(cells)-begins[b]), ChunkCells-cells[begins[b]].Cell.Index%ChunkCells))
		}
	}
	return nil
}

// readRecords fills in the records of consecutive cells.
func (s *Store) readRecords(ctx context.Context, k runKeys, sweep string, cells []jobs.CellValues) error {
	for i := 0; i < len(cells); {
		chunk := cells[i].Cell.Index / ChunkCells
		j := i
		var fields []string
		for ; j < len(cells) && cells[j].Cell.Index/ChunkCells == chunk; j++ {
			fields = append(fields, strconv.FormatInt(cells[j].Cell.Index%ChunkCells, 10))
		}
		key := k.rec(sweep, chunk)
		records, err := s.client.HMGet(ctx, key, fields...).Result()
		if err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		for f, r := range records {
			if text, ok := r.(string); ok {
				cells[i+f].Data = []byte(text)
			}
		}
		i = j
	}
	return nil
}

// blockPart is what is read of one block: places [from, to) and their bytes.
type blockPart struct {
	from, to int64
	data     []byte
}

// readValues fills in the values of consecutive cells. Blocks are read in
// batches; a cell takes what it needs from the blocks as they pass.
func (s *Store) readValues(ctx context.Context, k runKeys, sweep string, cells []jobs.CellValues) error {
	for i := 0; i < len(cells); {
		// A batch is of one width, and ends with a cell.
		width := int64(cells[i].Width)
		lo := cells[i].Cell.Lo
		j := i
		for j < len(cells) && int64(cells[j].Width) == width && (j == i || (cells[j].Cell.Hi-lo)*width <= readBytes) {
			j++
		}
		hi := cells[j-1].Cell.Hi
		parts, err := s.readBlocks(ctx, k, sweep, lo, hi, width)
		if err != nil {
			return err
		}
		base, _ := blockOf(lo)
		for ; i < j; i++ {
			cells[i].Data = gather(parts, base, cells[i].Cell, width)
		}
	}
	return nil
}

// readBlocks reads the stored bytes of n in [lo, hi), block by block.
func (s *Store) readBlocks(ctx context.Context, k runKeys, sweep string, lo, hi, width int64) ([]blockPart, error) {
	pipe := s.client.Pipeline()
	var cmds []*redis.StringCmd
	var parts []blockPart
	base, _ := blockOf(lo)
	for n := lo; n < hi; {
		block, place := blockOf(n)
		count := min(engine.BlockLen-place, hi-n)
		cmds = append(cmds, pipe.GetRange(ctx, k.val(sweep, block), place*width, (place+count)*width-1))
		parts = append(parts, blockPart{from: place, to: place + count})
		n += count
	}
	_, _ = pipe.Exec(ctx) // each command's own error tells
	for i, cmd := range cmds {
		data, err := cmd.Bytes()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("key %s: %w", k.val(sweep, base+int64(i)), err)
		}
		parts[i].data = data
	}
	return parts, nil
}

// gather returns the bytes of a cell up to the first that is missing. parts[0]
// is of block base. Within one block it returns a part of what was read.
func gather(parts []blockPart, base int64, c engine.Cell, width int64) []byte {
	var out []byte
	for n := c.Lo; n < c.Hi; {
		block, place := blockOf(n)
		p := parts[block-base]
		count := min(engine.BlockLen-place, c.Hi-n)
		from := min((place-p.from)*width, int64(len(p.data)))
		to := min((place-p.from+count)*width, int64(len(p.data)))
		piece := p.data[from:to:to]
		if n == c.Lo && count == c.Len() {
			return piece
		}
		out = append(out, piece...)
		if int64(len(piece)) < count*width {
			break
		}
		n += count
	}
	return out
}

// ReadPoints returns those of the points ns that have a value, in the order of
// ns, with the CRCs that are stored. An error names the key and n of a value or
// CRC that cannot be read.
func (s *Store) ReadPoints(ctx context.Context, id jobs.RunID, sweep string, ns []int64) ([]jobs.PointValue, error) {
	fail := func(err error) ([]jobs.PointValue, error) {
		return nil, fmt.Errorf("read points of %s of run %s: %w", sweep, id.Name, err)
	}
	k := keysOf(id)
	var out []jobs.PointValue
	for len(ns) > 0 {
		some := ns[:min(len(ns), 10*pipelined)]
		ns = ns[len(some):]
		fields := make([]string, len(some))
		for i, n := range some {
			fields[i] = strconv.FormatInt(n, 10)
		}
		pipe := s.client.Pipeline()
		values := pipe.HMGet(ctx, k.points(sweep), fields...)
		crcs := pipe.HMGet(ctx, k.pointCRCs(sweep), fields...)
		if _, err := pipe.Exec(ctx); err != nil {
			return fail(err)
		}
		for i, n := range some {
			text, ok := values.Val()[i].(string)
			if !ok {
				continue
			}
			v, err := engine.ParseInt128(text)
			if err != nil {
				return fail(jobs.Lasting(fmt.Errorf("key %s, n = %d: %w", k.points(sweep), n, err)))
			}
			hex, _ := crcs.Val()[i].(string)
			hex, _, _ = strings.Cut(hex, " ") // author and checker follow
			crc, err := strconv.ParseUint(hex, 16, 32)
			if err != nil {
				return fail(jobs.Lasting(fmt.Errorf("key %s, n = %d: CRC %q", k.pointCRCs(sweep), n, hex)))
			}
			out = append(out, jobs.PointValue{N: n, Value: v, CRC: uint32(crc)})
		}
	}
	return out, nil
}
