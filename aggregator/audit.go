package aggregator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Damage is a finished cell or point of which the store does not hold what was
// computed.
type Damage struct {
	// Cell is the cell, clipped to the set, with its grid index. Its Len is 0
	// for a point.
	Cell engine.Cell
	// N is the point, or 0.
	N   int64
	Why string
}

// Audit reads everything of a sweep that is finished and hands each damaged cell
// and point to found, in the order of n, first the dense part. Unlike a fold it
// goes on after damage. It returns the number of cells and points that it looked
// at. The error is found's, ctx's, or the reader's: one that lasts although the
// store answers ([jobs.IsLasting]) counts as damage of what was to be read.
//
// Every value is read once; memory is a few MiB.
func Audit(ctx context.Context, r Reader, id jobs.RunID, s jobs.Sweep, l *jobs.Ledger, found func(Damage) error) (int64, error) {
	src := source{id, s}
	var looked int64
	_, last := s.Cells()
	for i := l.NextDone(l.First); i < last; {
		end := min(l.NextOpen(i), last)
		for i < end {
			to := src.batchEnd(i, end)
			if err := src.auditCells(ctx, r, i, to, found); err != nil {
				return looked, err
			}
			looked += to - i
			i = to
		}
		i = l.NextDone(end)
	}
	var ns []int64
	for _, n := range s.Set.Points {
		if l.PointDone(n) {
			ns = append(ns, n)
		}
	}
	for len(ns) > 0 {
		some := ns[:min(len(ns), pointBatch)]
		if err := src.auditPoints(ctx, r, some, found); err != nil {
			return looked, err
		}
		looked += int64(len(some))
		ns = ns[len(some):]
	}
	return looked, nil
}

// auditCells looks at the finished cells [first, last).
func (s source) auditCells(ctx context.Context, r Reader, first, last int64, found func(Damage) error) error {
	cells, err := r.ReadCells(ctx, s.id, s.s, first, last)
	if err != nil && jobs.IsLasting(err) && last-first > 1 {
		// One of them cannot be read: look at each for itself.
		for i := first; i < last; i++ {
			if err := s.auditCells(ctx, r, i, i+1, found); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil && !jobs.IsLasting(err) {
		c, _ := s.s.Cell(first)
		return fmt.Errorf("sweep %s: read cells from n = %d on: %w", s.s.Name, c.Lo, err)
	}
	at := 0
	for i := first; i < last; i++ {
		want, _ := s.s.Cell(i)
		for at < len(cells) && cells[at].Cell.Index < i {
			at++
		}
		damage := err
		if damage == nil && (at >= len(cells) || cells[at].Cell.Index > i) {
			damage = s.examine(i, nil, 0)
		} else if damage == nil {
			if damage = s.examine(i, cells, at); damage == nil {
				damage = s.auditRecord(cells[at])
			}
			at++
		}
		if damage == nil {
			continue
		}
		if err := found(Damage{Cell: want, Why: why(damage)}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// auditRecord checks what a record says of itself.
func (s source) auditRecord(c jobs.CellValues) error {
	if s.s.Keep != jobs.KeepSums {
		return nil
	}
	r, err := jobs.DecodeRecord(c.Data)
	switch {
	case err != nil:
		return err
	case r.Lo != c.Cell.Lo || int64(r.Count) != c.Cell.Len():
		return fmt.Errorf("its record is about n = %d…%d", r.Lo, r.Lo+int64(r.Count)-1)
	}
	for _, p := range s.s.Powers() {
		if !slices.Contains(r.Powers, p) {
			return fmt.Errorf("its record, made earlier, holds no sum of power %d", p)
		}
	}
	for _, n := range s.s.CheckNs() {
		in := n >= c.Cell.Lo && n < c.Cell.Hi
		if in && !slices.ContainsFunc(r.Checks, func(k jobs.RecordCheck) bool { return k.N == n }) {
			return fmt.Errorf("its record, made earlier, holds no checkpoint at n = %d", n)
		}
	}
	return nil
}

// auditPoints looks at finished points.
func (s source) auditPoints(ctx context.Context, r Reader, ns []int64, found func(Damage) error) error {
	for len(ns) > 0 {
		values, err := s.readPoints(ctx, r, ns)
		if err == nil {
			return ctx.Err()
		}
		var rot *CorruptError
		switch {
		case errors.As(err, &rot):
			if err := found(Damage{N: ns[len(values)], Why: why(err)}); err != nil {
				return err
			}
			ns = ns[len(values)+1:]
		case jobs.IsLasting(err) && len(ns) == 1:
			return found(Damage{N: ns[0], Why: why(err)})
		case jobs.IsLasting(err):
			half := len(ns) / 2
			if err := s.auditPoints(ctx, r, ns[:half], found); err != nil {
				return err
			}
			ns = ns[half:]
		default:
			return err
		}
	}
	return nil
}

// why is the reason that stands in an error about damage.
func why(err error) string {
	var rot *CorruptError
	if errors.As(err, &rot) {
		return rot.Why
	}
	return err.Error()
}

// Gap returns what the ledger lacks of the sweep, or nil when it is complete.
// It costs a look at every unfinished cell.
func Gap(s jobs.Sweep, l *jobs.Ledger) *GapError {
	g, _ := gap(s, l).(*GapError)
	if g == nil || g.Missing == 0 {
		return nil
	}
	return g
}
