package aggregator

import (
	"context"
	"fmt"
	"slices"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Fold sums up one sweep in the order of n, as far as it is finished without a
// gap. It is not safe for concurrent use.
type Fold struct {
	source
	broken error // the sweep cannot be folded; returned by Advance
	tiled  bool  // checkTiling was satisfied

	below, above []int64 // points on both sides of the dense part
	lastCell     int64

	// Position: what is folded.
	nBelow, nAbove int
	cell           int64 // next cell
	done           int64 // number of n
	lastN          int64

	sums        []*engine.PowerSum // rising by power
	checks      checklist
	first, last engine.Int128
	min, max    engine.Int128
	minN, maxN  int64
	text        *lines // nil under KeepSums
	tree        *lines

	decode decoder
}

// NewFold returns a fold of the sweep that has folded nothing yet.
func NewFold(id jobs.RunID, s jobs.Sweep) *Fold {
	f := &Fold{source: source{id, s}, tree: newLines()}
	f.below, f.above = s.Set.Split()
	if err := s.Grid.Check(); err != nil {
		f.broken = fmt.Errorf("sweep %s: %w", s.Name, err)
		return f
	}
	f.cell, f.lastCell = s.Cells()
	if s.Keep != jobs.KeepSums {
		f.text = newLines()
	}
	f.checks, f.broken = newChecklist(s)
	for _, p := range s.Powers() {
		if p < 1 || p > jobs.MaxPower {
			f.broken = fmt.Errorf("sweep %s: sum of powers with exponent %d, want 1 to %d", s.Name, p, jobs.MaxPower)
			break
		}
		f.sums = append(f.sums, engine.NewPowerSum(p))
	}
	return f
}

// Complete reports whether every n of the sweep is folded.
func (f *Fold) Complete() bool { return f.done == f.s.Set.Count() }

// Advance folds on as far as the ledger is finished without a gap, and looks
// up value checkpoints that are finished beyond it.
//
// It returns a *[MismatchError] at the first checkpoint that is not met, with
// everything up to it folded; called again it goes on behind it. A
// *[CorruptError] or *[LackError] leaves the fold just before the damaged cell.
// When ctx ends, or the reader fails, the fold stays where it was after the
// last whole cells, and a later call goes on from there. Memory is bounded by a
// few MiB; a call with nothing new costs a look at one bit and at one for each
// pending value checkpoint. The first call also checks that the cells of the
// sweep tile its set, in O(cells).
func (f *Fold) Advance(ctx context.Context, r Reader, l *jobs.Ledger) error {
	if f.broken != nil {
		return f.broken
	}
	if !f.tiled {
		if f.broken = checkTiling(f.s); f.broken != nil {
			return f.broken
		}
		f.tiled = true
	}
	if err := f.checks.take(f.s.Name); err != nil {
		return err
	}
	if err := f.foldPoints(ctx, r, l, f.below, &f.nBelow); err != nil {
		return err
	}
	if f.nBelow == len(f.below) {
		if err := f.foldCells(ctx, r, l); err != nil {
			return err
		}
		if f.cell == f.lastCell {
			if err := f.foldPoints(ctx, r, l, f.above, &f.nAbove); err != nil {
				return err
			}
		}
	}
	if f.Complete() {
		f.settle(engine.MaxN + 1)
	}
	if err := f.lookAhead(ctx, r, l); err != nil {
		return err
	}
	return f.checks.take(f.s.Name)
}

// settle decides the sum checkpoints before n that stand at no n of the set:
// all that counts for them is folded. It is called when n is the next to fold.
func (f *Fold) settle(n int64) {
	for f.checks.stop() < n {
		c := f.checks.order[f.checks.next]
		if c.Power > 0 {
			f.checks.found(c, f.sum(c.Power).Value())
		}
		f.checks.next++
	}
}

// settleAt decides the checkpoints at the n that was folded last.
func (f *Fold) settleAt(value engine.Int128) {
	for f.checks.stop() == f.lastN {
		c := f.checks.order[f.checks.next]
		if c.Power > 0 {
			f.checks.found(c, f.sum(c.Power).Value())
		} else {
			f.checks.found(c, value.Big())
		}
		f.checks.next++
	}
}

func (f *Fold) sum(power int) *engine.PowerSum {
	k, _ := slices.BinarySearchFunc(f.sums, power, func(s *engine.PowerSum, p int) int { return s.Power() - p })
	return f.sums[k]
}

// foldValues folds values that follow lastN in the order of n, but for the tree
// digest. It cuts them where checkpoints stand. It never fails.
func (f *Fold) foldValues(p engine.Piece) error {
	for p.Len() > 0 {
		f.settle(p.Lo)
		k := int(min(int64(p.Len()), f.checks.stop()-p.Lo+1))
		part := p.Slice(0, k)
		least, greatest := part.Extremes()
		f.span(part.Lo, part.At(0), least, greatest, func(v engine.Int128) int64 { return part.Lo + int64(part.Index(v)) })
		size := engine.Size(least, greatest)
		for _, s := range f.sums {
			s.Add(part, size)
		}
		if f.text != nil {
			f.text.values(part)
		}
		f.passed(part.Lo+int64(k)-1, int64(k), part.At(k-1))
		f.settleAt(f.last)
		p = p.Slice(k, p.Len())
	}
	return nil
}

// span takes in the first value and the extremes of a stretch from n = lo on;
// where finds the first n of an extreme.
func (f *Fold) span(lo int64, first, least, greatest engine.Int128, where func(engine.Int128) int64) {
	start := f.done == 0
	if start {
		f.first = first
	}
	if start || least.Cmp(f.min) < 0 {
		f.min, f.minN = least, where(least)
	}
	if start || greatest.Cmp(f.max) > 0 {
		f.max, f.maxN = greatest, where(greatest)
	}
}

// passed notes that count more n, up to n, are folded.
func (f *Fold) passed(n, count int64, value engine.Int128) {
	f.lastN, f.last = n, value
	f.done += count
}
