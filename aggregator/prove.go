package aggregator

import (
	"context"
	"errors"
	"fmt"

	"github.com/nsweep/nsweep/jobs"
)

// Prove folds everything from nothing and returns the result. The error is nil
// exactly when the run is proven: every n of every sweep stored once, with the
// bytes that were computed, no gap, no overlap, every checkpoint met. Ledgers
// go by the sweeps' names and should be read after the last commit.
//
// A *[GapError], *[MismatchError], *[CorruptError] or *[LackError] says what
// keeps the proof from being complete; the result then holds what is known
// nevertheless. All mismatches are in the result, the error is the first one.
// It reads every value once and takes memory of a few MiB.
func Prove(ctx context.Context, r Reader, m jobs.Manifest, ledgers map[string]*jobs.Ledger) (Result, error) {
	folds := make([]*Fold, len(m.Sweeps))
	var first error
	for i, s := range m.Sweeps {
		folds[i] = NewFold(m.ID, s)
		if first != nil && ctx.Err() != nil {
			continue
		}
		err := proveSweep(ctx, r, folds[i], s, ledgers[s.Name])
		if first == nil {
			first = err
		}
	}
	return collect(m, folds), first
}

func proveSweep(ctx context.Context, r Reader, f *Fold, s jobs.Sweep, l *jobs.Ledger) error {
	if l == nil {
		l = jobs.NewLedger(s.Cells())
	}
	var first error
	for {
		err := f.Advance(ctx, r, l)
		var mismatch *MismatchError
		if errors.As(err, &mismatch) {
			if first == nil {
				first = err
			}
			continue
		}
		switch {
		case err == nil && !f.Complete():
			err = gap(s, l)
		case err == nil && f.lastN != s.Set.Last():
			err = fmt.Errorf("sweep %s: the last n folded is %d, want %d", s.Name, f.lastN, s.Set.Last())
		}
		if first == nil {
			first = err
		}
		return first
	}
}

// gap describes what the ledger lacks, nil if nothing.
func gap(s jobs.Sweep, l *jobs.Ledger) error {
	e := &GapError{Sweep: s.Name}
	miss := func(lo, hi int64) {
		if e.Missing == 0 {
			e.Lo, e.Hi = lo, hi
		} else if lo == e.Hi {
			e.Hi = hi
		}
		e.Missing += hi - lo
	}
	below, above := s.Set.Split()
	points := func(ns []int64) {
		for _, n := range ns {
			if !l.PointDone(n) {
				miss(n, n+1)
			}
		}
	}
	points(below)
	for i, last := s.Cells(); i < last; {
		if l.Done(i) {
			i = max(i+1, min(l.NextOpen(i), last))
			continue
		}
		c, _ := s.Cell(i)
		miss(c.Lo, c.Hi)
		i++
	}
	points(above)
	return e
}

// collect makes the run's result of its folds.
func collect(m jobs.Manifest, folds []*Fold) Result {
	out := Result{Format: ResultFormat, Run: m.ID.Name, Epoch: m.ID.Epoch, Number: m.Number, Rev: m.Rev, Complete: true}
	for _, f := range folds {
		s := f.Result()
		out.Complete = out.Complete && s.Complete
		out.Sweeps = append(out.Sweeps, s)
	}
	return out
}
