package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// commitBytes is the most data that goes into one script call: Redis serves
// nobody else meanwhile, so that a call should stay near a millisecond.
const commitBytes = 1 << 20

// Commit stores finished cells or points. It sends them in calls of at most
// 1 MiB of data and one chunk of the ledger each; every call is atomic, so an
// error leaves whole cells only, and the same commit can be given again.
//
// For a cell that is finished already it compares: the same CRC and bytes are
// counted as Same. Different ones open a dispute: the first value stays, the
// new one is kept beside it, and the cell's first n is listed in Disputed.
// Whoever commits that cell once more has the deciding vote. A claimant is
// known by Commit.Task, or Commit.Worker when that is empty, and has one vote.
//
// Clipped cells whose Rev is not the run's are dropped and counted as Stale,
// and so is every cell whose form the present plan would have different.
//
// With Check, cells and points that are the same are noted as confirmed by this
// worker, and those that are not finished are dropped and counted as Stale; so is one of which this commit decides the dispute, with Check or
// without. Whoever spoke for another value is put into quarantine by that same
// step when more than half of the votes are against it.
//
// Errors: jobs.ErrFenced when the run or its sweep is gone, jobs.ErrQuarantined
// when nothing is taken from this worker any more, *jobs.StateError when the run takes no commits, *jobs.LastingError when the data is not what it
// claims to be, others when the store fails (see jobs.IsLasting).
func (s *Store) Commit(ctx context.Context, c jobs.Commit) (jobs.Committed, error) {
	var total jobs.Committed
	if err := checkCommit(c); err != nil {
		return total, jobs.Lasting(fmt.Errorf("commit to %s of run %s: %w", c.Sweep, c.Run.Name, err))
	}
	for cells := c.Cells; len(cells) > 0; {
		k := callLen(cells)
		got, err := s.commitCells(ctx, c, cells[:k])
		if err != nil {
			return total, fmt.Errorf("commit to %s of run %s: %w", c.Sweep, c.Run.Name, err)
		}
		total.Add(got)
		cells = cells[k:]
	}
	const pointsPerCall = 4096
	for points := c.Points; len(points) > 0; {
		k := min(len(points), pointsPerCall)
		got, err := s.commitPoints(ctx, c, points[:k])
		if err != nil {
			return total, fmt.Errorf("commit to %s of run %s: %w", c.Sweep, c.Run.Name, err)
		}
		total.Add(got)
		points = points[k:]
	}
	return total, nil
}

// checkCommit refuses data that contradicts itself before anything is sent.
// The CRC is checked because it was made where the value was: what was damaged
// since then must not be stored under a bit that says it is good.
func checkCommit(c jobs.Commit) error {
	if c.Origin != nil {
		if err := c.Origin.Check(); err != nil {
			return err
		}
	}
	for i, v := range c.Cells {
		switch {
		case v.Cell.Lo < 1 || v.Cell.Hi <= v.Cell.Lo || v.Cell.Hi-1 > engine.MaxN || v.Cell.Index < 0:
			return fmt.Errorf("cell %d holds %d…%d", v.Cell.Index, v.Cell.Lo, v.Cell.Hi-1)
		case i > 0 && (v.Cell.Index != c.Cells[i-1].Cell.Index+1 || v.Cell.Lo != c.Cells[i-1].Cell.Hi):
			return fmt.Errorf("cells %d and %d are no neighbours", c.Cells[i-1].Cell.Index, v.Cell.Index)
		case v.Cell.Len() > math.MaxUint32:
			return fmt.Errorf("cell %d has %d numbers, more than 32 bits count", v.Cell.Index, v.Cell.Len())
		case c.Keep == jobs.KeepValues && v.Width != 4 && v.Width != 8 && v.Width != 16:
			return fmt.Errorf("cell %d has values of %d bytes", v.Cell.Index, v.Width)
		case c.Keep == jobs.KeepValues && int64(len(v.Data)) != v.Cell.Len()*int64(v.Width):
			return fmt.Errorf("cell %d has %d bytes for %d values of %d", v.Cell.Index, len(v.Data), v.Cell.Len(), v.Width)
		case c.Keep == jobs.KeepSums && len(v.Data) == 0:
			return fmt.Errorf("cell %d has no record", v.Cell.Index)
		case jobs.CRC(v.Data) != v.CRC:
			return fmt.Errorf("cell %d: its bytes do not fit its CRC", v.Cell.Index)
		}
	}
	for _, p := range c.Points {
		if p.N < 1 || p.N > engine.MaxN {
			return fmt.Errorf("point %d", p.N)
		}
		if jobs.PointCRC(p.N, p.Value) != p.CRC {
			return fmt.Errorf("point %d: its value does not fit its CRC", p.N)
		}
	}
	if c.Keep != jobs.KeepValues && c.Keep != jobs.KeepSums && len(c.Cells) > 0 {
		return fmt.Errorf("keep %q", c.Keep)
	}
	return nil
}

// callLen returns how many of the cells go into the next call: those of the
// first one's chunk and width, up to commitBytes, at least one.
func callLen(cells []jobs.CellValues) int {
	size := 0
	for i, v := range cells {
		size += len(v.Data)
		if i > 0 && (size > commitBytes || v.Width != cells[0].Width || v.Cell.Index/ChunkCells != cells[0].Cell.Index/ChunkCells) {
			return i
		}
	}
	return len(cells)
}

// buffers holds memory in which cells are laid end to end.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// commitCells sends one call.
func (s *Store) commitCells(ctx context.Context, c jobs.Commit, cells []jobs.CellValues) (jobs.Committed, error) {
	k := keysOf(c.Run)
	first, last := cells[0].Cell, cells[len(cells)-1].Cell
	chunk := first.Index / ChunkCells
	keys := []string{k.manifest(), k.counts(), k.done(c.Sweep, chunk), k.crc(c.Sweep, chunk), k.clips(c.Sweep), k.disputes(c.Sweep)}

	crcs := make([]byte, 0, 4*len(cells))
	sizes := make([]byte, 0, 4*len(cells))
	var clips strings.Builder
	for i, v := range cells {
		crcs = binary.BigEndian.AppendUint32(crcs, v.CRC)
		sizes = binary.BigEndian.AppendUint32(sizes, uint32(v.Cell.Len()))
		if !v.Whole {
			fmt.Fprintf(&clips, "%d %d %d ", i, v.Cell.Lo, v.Cell.Hi)
		}
	}
	args := []any{c.Sweep, c.Rev, claimant(c), chunk, first.Index % ChunkCells, len(cells), crcs, sizes, clips.String(), last.Hi - first.Lo}

	script := scriptSums
	if c.Keep == jobs.KeepSums {
		keys = append(keys, k.rec(c.Sweep, chunk))
		for _, v := range cells {
			args = append(args, v.Data)
		}
	} else {
		script = scriptValues
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		data := (*buf)[:0]
		for _, v := range cells {
			data = append(data, v.Data...)
		}
		*buf = data
		width := int64(cells[0].Width)
		args = append(args, width)
		for lo := first.Lo; lo < last.Hi; {
			block, place := blockOf(lo)
			n := min(engine.BlockLen-place, last.Hi-lo)
			keys = append(keys, k.val(c.Sweep, block))
			args = append(args, engine.BlockLen*width, place*width, data[:n*width])
			data, lo = data[n*width:], lo+n
		}
	}
	origin, err := originOf(c)
	if err != nil {
		return jobs.Committed{}, err
	}
	r, err := s.run(ctx, script, c.Run, keys, append(args, origin...)...)
	if err != nil {
		return jobs.Committed{}, err
	}
	return committed(r, c, func(i int64) int64 { return cells[i].Cell.Lo })
}

// commitPoints sends one call.
func (s *Store) commitPoints(ctx context.Context, c jobs.Commit, points []jobs.PointValue) (jobs.Committed, error) {
	k := keysOf(c.Run)
	args := []any{c.Sweep, claimant(c)}
	for _, p := range points {
		args = append(args, p.N, p.Value.String(), fmt.Sprintf("%08x", p.CRC))
	}
	origin, err := originOf(c)
	if err != nil {
		return jobs.Committed{}, err
	}
	r, err := s.run(ctx, scriptPoints, c.Run,
		[]string{k.manifest(), k.counts(), k.points(c.Sweep), k.pointCRCs(c.Sweep), k.disputes(c.Sweep)}, append(args, origin...)...)
	if err != nil {
		return jobs.Committed{}, err
	}
	return committed(r, c, func(i int64) int64 { return points[i].N })
}

// committed reads what a commit script answered; n gives the first n of the
// i-th cell or point of the call.
func committed(r reply, c jobs.Commit, n func(i int64) int64) (jobs.Committed, error) {
	if r.word == "nosweep" {
		return jobs.Committed{}, fmt.Errorf("%w: the run has no sweep %s now", jobs.ErrFenced, c.Sweep)
	}
	var v [3]int64
	for i := range v {
		var err error
		if v[i], err = r.number(i); err != nil {
			return jobs.Committed{}, err
		}
	}
	got := jobs.Committed{Stored: int(v[0]), Same: int(v[1]), Stale: int(v[2])}
	for i := len(v); i < len(r.rest); i++ {
		k, err := r.number(i)
		if err != nil {
			return got, err
		}
		got.Disputed = append(got.Disputed, n(k))
	}
	return got, nil
}

// claimant names who speaks for a value in a dispute. A task that is sent
// twice has one vote.
func claimant(c jobs.Commit) string {
	if c.Task == "" {
		return strconv.Quote(c.Worker)
	}
	return strconv.Quote(c.Worker) + " " + c.Task
}
