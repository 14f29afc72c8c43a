package aggregator

import (
	"context"
	"fmt"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// pointBatch is how many points are read at once.
const pointBatch = 4096

// foldPoints folds the finished ones at the front of points[*at:].
func (f *Fold) foldPoints(ctx context.Context, r Reader, l *jobs.Ledger, points []int64, at *int) error {
	for *at < len(points) {
		hi := *at
		for hi < len(points) && hi < *at+pointBatch && l.PointDone(points[hi]) {
			hi++
		}
		if hi == *at {
			return nil
		}
		values, err := f.readPoints(ctx, r, points[*at:hi])
		for _, v := range values { // those before a damaged one
			if err := f.foldPoint(v); err != nil {
				return err
			}
			*at++
			if len(f.checks.failed) > 0 {
				return f.checks.take(f.s.Name)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Fold) foldPoint(v jobs.PointValue) error {
	f.tree.point(v.N, v.Value)
	return f.foldValues(pointPiece(v))
}

// pointPiece is the piece of a single point.
func pointPiece(v jobs.PointValue) engine.Piece {
	if x, ok := v.Value.Int64(); ok {
		return engine.Piece{Lo: v.N, Narrow: []int64{x}}
	}
	return engine.Piece{Lo: v.N, Wide: []engine.Int128{v.Value}}
}

// readPoints returns the values at ns in order and checked, up to the first
// that is damaged, which it reports.
func (s source) readPoints(ctx context.Context, r Reader, ns []int64) ([]jobs.PointValue, error) {
	stored, err := r.ReadPoints(ctx, s.id, s.s.Name, ns)
	if err != nil {
		return nil, fmt.Errorf("sweep %s: read points: %w", s.s.Name, err)
	}
	byN := make(map[int64]jobs.PointValue, len(stored))
	twice := map[int64]bool{}
	for _, v := range stored {
		if old, ok := byN[v.N]; ok && old != v {
			twice[v.N] = true
		}
		byN[v.N] = v
	}
	out := make([]jobs.PointValue, 0, len(ns))
	for _, n := range ns {
		v, ok := byN[n]
		switch {
		case !ok:
			return out, &CorruptError{Sweep: s.s.Name, N: n, Why: "it is missing though the ledger has it as finished"}
		case twice[n]:
			return out, &CorruptError{Sweep: s.s.Name, N: n, Why: "it has two values"}
		case v.CRC != jobs.PointCRC(n, v.Value):
			return out, &CorruptError{Sweep: s.s.Name, N: n, Why: crcText(jobs.PointCRC(n, v.Value), v.CRC)}
		}
		out = append(out, v)
	}
	return out, nil
}

func crcText(got, stored uint32) string {
	return fmt.Sprintf("its CRC-32C is %08x, %08x was computed with it", got, stored)
}
