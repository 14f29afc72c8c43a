package web

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
)

const (
	// foldSlice is how long one slice of folding may take at first.
	foldSlice = 250 * time.Millisecond
	// foldRest is how many times as long the folder rests after a slice, so
	// that a page that is open takes a quarter of one core at most.
	foldRest = 3
)

// foldKey names one sweep of one plan of one run.
type foldKey struct {
	id    jobs.RunID
	rev   int64
	sweep string
}

// folder sums up the sweeps that are looked at. Its fields are guarded by mu,
// but for the folds, which belong to run.
type folder struct {
	reader aggregator.Reader
	wake   chan struct{}

	mu    sync.Mutex
	works map[foldKey]*foldWork
}

type foldWork struct {
	fold   *aggregator.Fold
	ledger *jobs.Ledger // the newest
	folded *jobs.Ledger // the one that is folded as far as it goes
	result aggregator.SweepResult
	// trouble is why the fold stands still for good; slice grows while reading
	// takes too long.
	trouble string
	slice   time.Duration
}

func newFolder(r aggregator.Reader) *folder {
	return &folder{reader: r, wake: make(chan struct{}, 1), works: map[foldKey]*foldWork{}}
}

// want has a sweep folded as far as the ledger goes, and returns what is known.
func (f *folder) want(k foldKey, s jobs.Sweep, l *jobs.Ledger) (r aggregator.SweepResult, trouble string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.works[k]
	if w == nil {
		w = &foldWork{fold: aggregator.NewFold(k.id, s), slice: foldSlice}
		w.result = w.fold.Result()
		f.works[k] = w
	}
	w.ledger = l
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return w.result, w.trouble
}

// keep forgets all sweeps but those.
func (f *folder) keep(keys map[foldKey]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.works {
		if !keys[k] {
			delete(f.works, k)
		}
	}
}

// next returns a sweep with something new, the least folded first.
func (f *folder) next() *foldWork {
	f.mu.Lock()
	defer f.mu.Unlock()
	var best *foldWork
	for _, w := range f.works {
		if w.ledger != w.folded && w.trouble == "" && (best == nil || w.result.Done < best.result.Done) {
			best = w
		}
	}
	return best
}

// run folds until ctx ends.
func (f *folder) run(ctx context.Context) {
	for ctx.Err() == nil {
		w := f.next()
		if w == nil {
			select {
			case <-ctx.Done():
			case <-f.wake:
			}
			continue
		}
		begin := time.Now()
		f.step(ctx, w)
		rest := time.NewTimer(foldRest * time.Since(begin))
		select {
		case <-ctx.Done():
		case <-rest.C:
		}
		rest.Stop()
	}
}

// step folds one slice.
func (f *folder) step(ctx context.Context, w *foldWork) {
	f.mu.Lock()
	ledger, before := w.ledger, w.result.Done
	f.mu.Unlock()
	slice, cancel := context.WithTimeout(ctx, w.slice)
	err := w.fold.Advance(slice, f.reader, ledger)
	late := slice.Err() != nil
	cancel()

	f.mu.Lock()
	defer f.mu.Unlock()
	w.result = w.fold.Result()
	var miss *aggregator.MismatchError
	switch {
	case err == nil:
		w.folded, w.slice = ledger, foldSlice
	case errors.As(err, &miss):
		// The checkpoint shows it; the fold goes on behind it.
	case late:
		if w.result.Done == before {
			w.slice = min(2*w.slice, time.Minute)
		}
	case isDamage(err), w.fold.Complete():
		w.trouble = err.Error()
	default:
		// The store did not answer: the next ledger tries again.
		w.folded = ledger
	}
}

// isDamage reports whether an error will not go away by itself.
func isDamage(err error) bool {
	var rot *aggregator.CorruptError
	var lack *aggregator.LackError
	return errors.As(err, &rot) || errors.As(err, &lack)
}

// unfolded is the result of a sweep before anything is summed up.
func unfolded(id jobs.RunID, s jobs.Sweep) aggregator.SweepResult {
	return aggregator.NewFold(id, s).Result()
}

// failures that are many are shown in part.
func firstN[T any](list []T, n int) []T { return slices.Clip(list[:min(n, len(list))]) }
