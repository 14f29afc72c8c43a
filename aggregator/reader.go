package aggregator

import (
	"context"
	"fmt"
	"math/big"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Reader is what the aggregator needs of the store.
type Reader interface {
	// ReadCells returns the cells with grid indices [first, last), in order and
	// clipped to the sweep's set, with the stored CRC. Where values are missing
	// the cell is left out or its Data is short.
	ReadCells(ctx context.Context, id jobs.RunID, s jobs.Sweep, first, last int64) ([]jobs.CellValues, error)
	// ReadPoints returns those of the points ns that are stored.
	ReadPoints(ctx context.Context, id jobs.RunID, sweep string, ns []int64) ([]jobs.PointValue, error)
}

// CorruptError reports a finished cell or point whose stored bytes are missing
// or not those that were computed.
type CorruptError struct {
	Sweep string
	// Cell is the damaged cell, clipped to the set. Its Len is 0 for a point.
	Cell engine.Cell
	// N is the damaged point, or 0.
	N   int64
	Why string
}

func (e *CorruptError) Error() string {
	if e.N != 0 {
		return fmt.Sprintf("sweep %s: stored value at n = %d is corrupt: %s", e.Sweep, e.N, e.Why)
	}
	return fmt.Sprintf("sweep %s: stored cell n = %d…%d is corrupt: %s", e.Sweep, e.Cell.Lo, e.Cell.Hi-1, e.Why)
}

// LackError reports a cell record, sound in itself, that was made before a sum
// or checkpoint was asked for. The cell must be computed again.
type LackError struct {
	Sweep string
	Cell  engine.Cell
	Lacks string
}

func (e *LackError) Error() string {
	return fmt.Sprintf("sweep %s: the record of n = %d…%d, made earlier, holds no %s; its cell must be computed again",
		e.Sweep, e.Cell.Lo, e.Cell.Hi-1, e.Lacks)
}

// MismatchError reports a checkpoint that is not met.
type MismatchError struct {
	Sweep      string
	Checkpoint jobs.Checkpoint
	Got        *big.Int
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("sweep %s: checkpoint not met: %s: expected %s, found %s", e.Sweep, e.Checkpoint, e.Checkpoint.Want, e.Got)
}

// GapError reports a sweep that is not complete: n = Lo…Hi−1 is the first
// stretch that is not finished, Missing the number of all n that are not.
type GapError struct {
	Sweep   string
	Lo, Hi  int64
	Missing int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("sweep %s: not complete: %d n are missing, the first at n = %d…%d", e.Sweep, e.Missing, e.Lo, e.Hi-1)
}
