package worker

import (
	"fmt"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// cutter cuts an engine's stream of values into the cells of the grid.
type cutter struct {
	task jobs.Task
	grid engine.Grid
	next int64 // the n expected next

	cell  engine.Cell // the cell being filled, clipped to the task
	whole bool
	width int
	data  []byte
	rec   *jobs.Recorder // under KeepSums
}

func newCutter(t jobs.Task, grid engine.Grid) (*cutter, error) {
	c := &cutter{task: t, grid: grid, next: t.Lo}
	return c, c.open()
}

// open begins the cell that holds the next n.
func (c *cutter) open() (err error) {
	full := c.grid.CellAt(c.next)
	c.cell = full.Clip(c.task.Lo, c.task.Hi)
	c.whole = c.cell == full
	c.width = c.grid.Width(c.next)
	switch {
	case c.task.Keep != jobs.KeepSums:
		c.data = make([]byte, 0, c.cell.Len()*int64(c.width))
	case c.rec == nil:
		c.rec, err = jobs.NewRecorder(c.cell, c.width, c.task.Sums, c.task.Checks)
	default:
		c.rec.Reset(c.cell, c.width)
	}
	return err
}

// take consumes the first values of p up to the end of the current cell. It
// returns how many it took, and the cell once it is full.
func (c *cutter) take(p engine.Piece) (int, *jobs.CellValues, error) {
	if p.Lo != c.next || c.next >= c.task.Hi {
		return 0, nil, fmt.Errorf("engine %s gave n = %d where n = %d was due in %d…%d", c.task.Engine, p.Lo, c.next, c.task.Lo, c.task.Hi-1)
	}
	k := int(min(int64(p.Len()), c.cell.Hi-c.next))
	part := p.Slice(0, k)
	var err error
	if c.rec != nil {
		err = c.rec.Add(part)
	} else {
		c.data, err = jobs.AppendValues(c.data, c.width, part)
	}
	if err != nil {
		return 0, nil, err
	}
	c.next += int64(k)
	if c.next < c.cell.Hi {
		return k, nil, nil
	}
	done := &jobs.CellValues{Cell: c.cell, Whole: c.whole, Width: c.width, Data: c.data}
	if c.rec != nil {
		if done.Data, err = c.rec.Encode(); err != nil {
			return 0, nil, err
		}
	}
	done.CRC = jobs.CRC(done.Data)
	if c.next < c.task.Hi {
		err = c.open()
	}
	return k, done, err
}

// complete reports an engine that ended too early.
func (c *cutter) complete() error {
	if c.next != c.task.Hi {
		return fmt.Errorf("engine %s ended at n = %d, want %d", c.task.Engine, c.next-1, c.task.Hi-1)
	}
	return nil
}
