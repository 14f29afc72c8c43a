package aggregator

import (
	"context"
	"crypto/sha256"

	"github.com/nsweep/nsweep/jobs"
)

// foldCells folds the finished cells from f.cell on.
func (f *Fold) foldCells(ctx context.Context, r Reader, l *jobs.Ledger) error {
	end := min(l.NextOpen(f.cell), f.lastCell)
	if f.cell >= end || !l.Done(f.cell) {
		return nil
	}
	return f.readCells(ctx, r, f.cell, end, func(b batch) error { return f.foldBatch(ctx, b) })
}

// foldBatch folds the cells of a batch, which start at f.cell, up to the first
// that is damaged or has a checkpoint that is not met.
func (f *Fold) foldBatch(ctx context.Context, b batch) error {
	good, damage := f.sound(b)
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

// foldStored folds one cell, or several small ones together, and returns how
// many.
func (f *Fold) foldStored(cells []jobs.CellValues) (int, error) {
	k, err := f.decode.next(cells, f.foldValues)
	for _, c := range cells[:k] {
		f.tree.cell(c.Cell.Lo, c.Cell.Hi, sha256.Sum256(c.Data))
	}
	return k, err
}
