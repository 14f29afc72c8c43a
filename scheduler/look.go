package scheduler

import (
	"context"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// watchWorkers counts the slots once a second, and makes sure that the store is
// the one that the run was loaded from.
func (f *Feeder) watchWorkers(ctx context.Context) error {
	if time.Since(f.lookedAt) < time.Second {
		return nil
	}
	server, err := f.store.Incarnation(ctx)
	if err != nil {
		return err
	}
	if server != f.server {
		return errForgot
	}
	ws, err := f.store.Workers(ctx)
	if err != nil {
		return err
	}
	at := map[string]jobs.Worker{}
	for _, w := range ws {
		at[w.ID] = w
	}
	if err := f.watchQuarantine(ctx, at); err != nil {
		return err
	}
	f.lookedAt = time.Now()
	f.workers = at
	clear(f.slots)
	for _, w := range f.workers {
		for _, q := range w.Queues {
			f.slots[q] += w.Slots
		}
	}
	return nil
}

// refresh reads the ledger of a sweep once in a step: the last commits of a
// worker come before its last beat, so they are in it.
func (f *Feeder) refresh(ctx context.Context, ln *lane) error {
	if ln.fresh {
		return nil
	}
	l, err := f.store.Ledger(ctx, f.run.ID, ln.sweep)
	if err != nil {
		return err
	}
	if !l.Covers(ln.plan.ledger) {
		return errForgot
	}
	ln.plan.ledger, ln.fresh, f.dirty = l, true, true
	return f.refreshChecks(ctx, ln)
}

// readLedgers reads the ledgers again when something changed, but spends at
// most a tenth of the time on it.
func (f *Feeder) readLedgers(ctx context.Context, checks *checkLoop) error {
	counts, err := f.store.Counts(ctx, f.run.ID)
	if err != nil {
		return err
	}
	f.note(counts)
	if !f.dirty && time.Since(f.ledgerAt) < 10*f.ledgerTook {
		return nil
	}
	begin := time.Now()
	for _, ln := range f.sweeps {
		if !f.dirty && counts[ln.sweep.Name] == ln.counts {
			continue
		}
		if err := f.refresh(ctx, ln); err != nil {
			return err
		}
		ln.counts = counts[ln.sweep.Name]
		if ln.open, err = f.model.Open(ln.sweep, ln.plan.ledger); err != nil {
			return jobs.Lasting(err)
		}
		if err := ln.checkSums(); err != nil {
			return jobs.Lasting(err)
		}
		checks.offer(ln.sweep.Name, ln.plan.ledger)
	}
	f.dirty = false
	f.ledgerAt = time.Now()
	f.ledgerTook = f.ledgerAt.Sub(begin)
	return nil
}
