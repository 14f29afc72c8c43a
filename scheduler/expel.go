package scheduler

import (
	"context"
	"errors"
	"slices"

	"github.com/nsweep/nsweep/jobs"
)

// expel reads who is in quarantine and opens again what one of them has computed,
// as far as that was not done before. Its error is errReplan when it did: then
// nothing that was read before holds, and what is left to do, for another worker
// or because the plan was changed meanwhile, is done with the run as it is now.
func (f *Feeder) expel(ctx context.Context) error {
	list, err := f.store.Quarantines(ctx, f.run.Manifest)
	if err != nil {
		return err
	}
	for _, q := range list {
		if !q.Pending {
			continue
		}
		n, err := f.store.Expel(ctx, f.run.Manifest, q.Worker)
		if errors.Is(err, jobs.ErrFenced) {
			// The run is gone, or only a sweep that has left its plan meanwhile.
			if _, rev, serr := f.store.Status(ctx, f.run.ID); serr == nil && rev != f.run.Rev {
				return errReplan
			}
		}
		if err != nil {
			return err
		}
		f.opts.Log.Error("worker is in quarantine, what only it has computed is computed again",
			"worker", q.Worker, "sweep", q.Sweep, "n", q.N, "value", q.Value, "two others", q.Won, "cells", n)
		return errReplan
	}
	return nil
}

// pendingQuarantine reports whether a worker lost a dispute and what it has
// computed is not open again yet.
func (f *Feeder) pendingQuarantine(ctx context.Context) (bool, error) {
	list, err := f.store.Quarantines(ctx, f.run.Manifest)
	return slices.ContainsFunc(list, func(q jobs.Quarantine) bool { return q.Pending }), err
}

// watchQuarantine takes workers that lost a dispute off the list of those at
// hand. The error is errSettled when one was added: then everything begins anew
// with what it has computed.
func (f *Feeder) watchQuarantine(ctx context.Context, workers map[string]jobs.Worker) error {
	list, err := f.store.Quarantines(ctx, f.run.Manifest)
	if err != nil {
		return err
	}
	for _, q := range list {
		if q.Pending {
			return errSettled
		}
		delete(workers, q.Worker)
	}
	lonely := len(list) > 0 && len(workers) == 0
	if lonely && !f.lonely {
		f.opts.Log.Warn("no worker is at hand but those in quarantine: start another", "run", f.run.ID.Name)
	}
	f.lonely = lonely
	return nil
}
