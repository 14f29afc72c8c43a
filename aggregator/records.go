package aggregator

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// foldRecord folds the record of cells[0].
func (f *Fold) foldRecord(cells []jobs.CellValues) (int, error) {
	cell := cells[0].Cell
	r, err := f.record(cells[0])
	if err != nil {
		return 0, err
	}
	at := make([]int, len(f.sums)) // where the record has the sum
	for i, s := range f.sums {
		k, ok := slices.BinarySearch(r.Powers, s.Power())
		if !ok {
			return 0, &LackError{Sweep: f.s.Name, Cell: cell, Lacks: fmt.Sprintf("sum of power %d", s.Power())}
		}
		at[i] = k
	}
	// Everything is looked up before anything is folded, so that a record that
	// lacks something leaves the fold as it was.
	type part struct {
		check *check
		state jobs.RecordCheck
	}
	var parts []part
	for _, c := range f.checks.order[f.checks.next:] {
		if c.N >= cell.Hi {
			break
		}
		if c.N < cell.Lo {
			continue
		}
		state, err := f.stateAt(r, cell, c.N)
		if err != nil {
			return 0, err
		}
		parts = append(parts, part{c, state})
	}

	f.settle(cell.Lo)
	for _, p := range parts {
		if p.check.Power == 0 {
			f.checks.found(p.check, p.state.Value.Big())
		} else {
			i := slices.IndexFunc(f.sums, func(s *engine.PowerSum) bool { return s.Power() == p.check.Power })
			sum := f.sums[i].Value()
			f.checks.found(p.check, sum.Add(sum, p.state.Sums[at[i]]))
		}
		f.checks.next++
	}
	f.span(cell.Lo, r.First, r.Min, r.Max, func(v engine.Int128) int64 {
		if v == r.Min {
			return r.MinN
		}
		return r.MaxN
	})
	for i, s := range f.sums {
		s.AddBig(r.Sums[at[i]])
	}
	f.tree.cell(cell.Lo, cell.Hi, r.Hash)
	f.passed(cell.Hi-1, cell.Len(), r.Last)
	return 1, nil
}

// record decodes a cell's record and checks that it is of that cell.
func (f *Fold) record(c jobs.CellValues) (jobs.Record, error) {
	r, err := jobs.DecodeRecord(c.Data)
	if err != nil {
		return r, &CorruptError{Sweep: f.s.Name, Cell: c.Cell, Why: err.Error()}
	}
	if width := f.s.Grid.Width(c.Cell.Lo); r.Lo != c.Cell.Lo || int64(r.Count) != c.Cell.Len() || r.Width != width {
		return r, &CorruptError{Sweep: f.s.Name, Cell: c.Cell, Why: fmt.Sprintf("its record is of n = %d…%d with values of %d bytes, want %d",
			r.Lo, r.Lo+int64(r.Count)-1, r.Width, width)}
	}
	return r, nil
}

// stateAt returns value and partial sums of a record at n. The ends of the cell
// need no check of their own.
func (f *Fold) stateAt(r jobs.Record, cell engine.Cell, n int64) (jobs.RecordCheck, error) {
	if n == cell.Hi-1 {
		return jobs.RecordCheck{N: n, Value: r.Last, Sums: r.Sums}, nil
	}
	k, ok := slices.BinarySearchFunc(r.Checks, n, func(c jobs.RecordCheck, n int64) int {
		switch {
		case c.N < n:
			return -1
		case c.N > n:
			return 1
		}
		return 0
	})
	if ok {
		return r.Checks[k], nil
	}
	if n == cell.Lo {
		sums := make([]*big.Int, len(r.Powers))
		for i, p := range r.Powers {
			sums[i] = new(big.Int).Exp(r.First.Big(), big.NewInt(int64(p)), nil)
		}
		return jobs.RecordCheck{N: n, Value: r.First, Sums: sums}, nil
	}
	return jobs.RecordCheck{}, &LackError{Sweep: f.s.Name, Cell: cell, Lacks: fmt.Sprintf("state at n = %d", n)}
}
