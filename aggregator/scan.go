package aggregator

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// ErrNotKept is wrapped by the error of Scan for a sweep whose dense part is
// stored as records.
var ErrNotKept = errors.New("the values were not kept")

// errStopped ends a scan whose consumer has had enough.
var errStopped = errors.New("stopped")

// Scan returns the finished values of a sweep at n in [lo, hi), in rising order
// of n and checked like those of a fold. What is not finished is left out, so
// pieces need not adjoin. A piece is valid until the next one is asked for. The
// sequence ends after the first error, which may be a *[CorruptError], ctx's or
// the reader's; it can be run through again. Memory is bounded by a few MiB.
func Scan(ctx context.Context, r Reader, id jobs.RunID, s jobs.Sweep, l *jobs.Ledger, lo, hi int64) iter.Seq2[engine.Piece, error] {
	return func(yield func(engine.Piece, error) bool) {
		sc := scan{source: source{id, s}, r: r, l: l, lo: lo, hi: hi, emit: func(p engine.Piece) error {
			if !yield(p, nil) {
				return errStopped
			}
			return nil
		}}
		if err := sc.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(engine.Piece{}, err)
		}
	}
}

type scan struct {
	source
	r      Reader
	l      *jobs.Ledger
	lo, hi int64
	emit   func(engine.Piece) error
	decode decoder
}

func (sc *scan) run(ctx context.Context) error {
	if err := sc.s.Grid.Check(); err != nil {
		return fmt.Errorf("sweep %s: %w", sc.s.Name, err)
	}
	below, above := sc.s.Set.Split()
	if err := sc.points(ctx, below); err != nil {
		return err
	}
	if lo, hi := max(sc.lo, sc.s.Set.Lo), min(sc.hi, sc.s.Set.Hi); lo < hi {
		if sc.s.Keep == jobs.KeepSums {
			return fmt.Errorf("sweep %s: n = %d…%d: %w (keep: sums)", sc.s.Name, lo, hi-1, ErrNotKept)
		}
		if err := sc.dense(ctx, lo, hi); err != nil {
			return err
		}
	}
	return sc.points(ctx, above)
}

func (sc *scan) points(ctx context.Context, points []int64) error {
	var ns []int64
	flush := func() error {
		values, damage := sc.readPoints(ctx, sc.r, ns)
		for _, v := range values {
			if err := sc.emit(pointPiece(v)); err != nil {
				return err
			}
		}
		ns = ns[:0]
		return damage
	}
	for _, n := range points {
		if n < sc.lo || n >= sc.hi || !sc.l.PointDone(n) {
			continue
		}
		if ns = append(ns, n); len(ns) == pointBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(ns) == 0 {
		return nil
	}
	return flush()
}

func (sc *scan) dense(ctx context.Context, lo, hi int64) error {
	first, last := sc.s.Grid.Range(lo, hi)
	for i := first; i < last; {
		if !sc.l.Done(i) {
			i = max(i+1, sc.l.NextDone(i))
			continue
		}
		end := min(sc.l.NextOpen(i), last)
		if err := sc.readCells(ctx, sc.r, i, end, func(b batch) error { return sc.batch(ctx, b) }); err != nil {
			return err
		}
		i = end
	}
	return nil
}

func (sc *scan) batch(ctx context.Context, b batch) error {
	good, damage := sc.sound(b)
	for cells := b.cells[:good]; len(cells) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		k, err := sc.decode.next(cells, sc.clipped)
		if err != nil {
			return err
		}
		cells = cells[k:]
	}
	return damage
}

// clipped hands on the part of a piece that lies in [lo, hi).
func (sc *scan) clipped(p engine.Piece) error {
	from := max(0, sc.lo-p.Lo)
	to := min(int64(p.Len()), sc.hi-p.Lo)
	if from >= to {
		return nil
	}
	return sc.emit(p.Slice(int(from), int(to)))
}
