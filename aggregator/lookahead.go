package aggregator

import (
	"context"
	"fmt"
	"math/big"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// lookAhead finds value checkpoints beyond the folded prefix whose own n is
// finished, and reads just those cells and points.
func (f *Fold) lookAhead(ctx context.Context, r Reader, l *jobs.Ledger) error {
	var cells, points []*check
	keep := f.checks.early[:0]
	for _, c := range f.checks.early {
		if c.got != nil {
			continue
		}
		keep = append(keep, c)
		if c.N < f.s.Set.Lo || c.N >= f.s.Set.Hi {
			if l.PointDone(c.N) {
				points = append(points, c)
			}
		} else if l.Done(f.s.Grid.CellAt(c.N).Index) {
			cells = append(cells, c)
		}
	}
	f.checks.early = keep
	for len(points) > 0 {
		k := min(len(points), pointBatch)
		if err := f.lookUpPoints(ctx, r, points[:k]); err != nil {
			return err
		}
		points = points[k:]
	}
	for len(cells) > 0 {
		k, err := f.lookUpCells(ctx, r, cells)
		if err != nil {
			return err
		}
		cells = cells[k:]
	}
	return nil
}

// lookUpPoints finds checkpoints, rising by n, at finished points.
func (f *Fold) lookUpPoints(ctx context.Context, r Reader, checks []*check) error {
	var ns []int64
	for _, c := range checks {
		if len(ns) == 0 || ns[len(ns)-1] != c.N {
			ns = append(ns, c.N)
		}
	}
	values, err := f.readPoints(ctx, r, ns)
	for _, c := range checks {
		if len(values) > 0 && values[0].N < c.N {
			values = values[1:]
		}
		if len(values) == 0 {
			break
		}
		f.checks.found(c, values[0].Value.Big())
	}
	return err
}

// lookUpCells finds those of the checkpoints, rising by n, that lie in the
// first one's cell or the unbroken row of cells after it, and returns how many.
func (f *Fold) lookUpCells(ctx context.Context, r Reader, checks []*check) (int, error) {
	index := func(c *check) int64 { return f.s.Grid.CellAt(c.N).Index }
	first := index(checks[0])
	row := first + 1
	n := 1
	for ; n < len(checks) && index(checks[n]) <= row; n++ {
		row = index(checks[n]) + 1
	}
	last := f.batchEnd(first, row)
	cells, err := r.ReadCells(ctx, f.id, f.s, first, last)
	if err != nil {
		return 0, fmt.Errorf("sweep %s: read the cell of n = %d: %w", f.s.Name, checks[0].N, err)
	}
	for i := range n {
		at := index(checks[i])
		if at >= last {
			return i, nil
		}
		if i == 0 || index(checks[i-1]) != at {
			if err := f.examine(at, cells, int(at-first)); err != nil {
				return 0, err
			}
		}
		v, err := f.valueAt(cells[at-first], checks[i].N)
		if err != nil {
			return 0, err
		}
		f.checks.found(checks[i], v)
	}
	return n, nil
}

// valueAt returns the value at n out of its examined cell.
func (f *Fold) valueAt(c jobs.CellValues, n int64) (*big.Int, error) {
	if f.s.Keep == jobs.KeepSums {
		r, err := f.record(c)
		if err != nil {
			return nil, err
		}
		state, err := f.stateAt(r, c.Cell, n)
		if err != nil {
			return nil, err
		}
		return state.Value.Big(), nil
	}
	at := (n - c.Cell.Lo) * int64(c.Width)
	var value *big.Int
	c.Data = c.Data[at : at+int64(c.Width)]
	_, err := new(decoder).next([]jobs.CellValues{c}, func(p engine.Piece) error {
		value = p.At(0).Big()
		return nil
	})
	return value, err
}
