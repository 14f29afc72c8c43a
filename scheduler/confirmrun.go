package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// handedBack reports whether a worker has let go of a check without a word about
// its first cell, as those do that must not compute it.
func (o *outstanding) handedBack() bool {
	return o.task.Check > 0 && len(o.task.Not) > 0 && !o.plan.progress(stretchOf(o.lane.sweep, o.task))
}

// handBack puts a stretch in line again that a worker handed back.
func (p *planner) handBack(s stretch) {
	s.handed++
	now := time.Now()
	s.soon = now.Add(minPause)
	s.after = now.Add(min(minPause<<min(s.handed, 10), maxPause))
	p.requeue(s)
}

// due reports whether a stretch may be given out now.
func (p *planner) due(s stretch) bool {
	now := time.Now()
	switch {
	case !s.after.After(now):
		return true
	case s.soon.After(now):
		return false
	}
	return p.second.free(p.second.authors(nil, s.first, s.last, s.points))
}

// freeWorker reports whether a worker for the queue is at hand that is not among
// those and, as far as this run knows, has a slot to spare.
func (f *Feeder) freeWorker(queue string, not []string) bool {
	for _, w := range f.workers {
		if slices.Contains(w.Queues, queue) && !w.Among(not) && f.busy[w.ID] < w.Slots {
			return true
		}
	}
	return false
}

// checkSums estimates what is left to confirm of a lane.
func (ln *lane) checkSums() (err error) {
	if ln.checks == nil {
		return nil
	}
	if ln.checkOpen, err = ln.checks.left(); err != nil {
		return fmt.Errorf("estimate the checks of sweep %s: %w", ln.sweep.Name, err)
	}
	return nil
}

// loadChecks makes the lane's planner of second computations, if the run wants
// any.
func (f *Feeder) loadChecks(ctx context.Context, ln *lane) (err error) {
	if f.run.Verify == 0 {
		return nil
	}
	if ln.checks, err = newSecond(ln.sweep, f.model, f.run.Verify, f.run.VerifySame); err != nil {
		return jobs.Lasting(err)
	}
	p := ln.checks
	p.aloneAfter, p.maxCells = ln.plan.aloneAfter, ln.plan.maxCells
	p.second.others = func(not []string) bool { return f.otherWorker(ln.sweep.Queue(), not) }
	p.second.free = func(not []string) bool { return f.freeWorker(ln.sweep.Queue(), not) }
	if ln.checkTotal, err = p.left(); err != nil {
		return jobs.Lasting(err)
	}
	ln.checkOpen = ln.checkTotal
	return nil
}

// refreshChecks reads what is confirmed of the sweep whose ledger was just read.
// Disputed cells are not confirmed by checks but decided.
func (f *Feeder) refreshChecks(ctx context.Context, ln *lane) error {
	if ln.checks == nil {
		return nil
	}
	m, err := f.store.Marks(ctx, f.run.ID, ln.sweep)
	if err != nil {
		return err
	}
	ln.checks.stored(ln.plan.ledger, m)
	l := m.Confirmed()
	for d := range f.rechecks {
		switch {
		case d.sweep != ln.sweep.Name:
		case d.cell < 0:
			l.MarkPoint(d.n)
		default:
			l.Mark(d.cell)
		}
	}
	ln.checks.confirm(l)
	return nil
}

// unconfirmed reports whether something that is stored is still to be confirmed.
func (f *Feeder) unconfirmed() bool {
	for _, ln := range f.sweeps {
		if ln.checks == nil {
			continue
		}
		if _, failed := ln.checks.lacking(); ln.checks.pending() > failed {
			return true
		}
	}
	return false
}

// pending returns the number of cells and points that are stored and not
// confirmed.
func (p *planner) pending() (k int64) {
	_, last := p.sweep.Cells()
	for i := p.ledger.NextOpen(p.ledger.First); i < last; i = p.ledger.NextOpen(i + 1) {
		if p.second.ready.Done(i) {
			k++
		}
	}
	for _, n := range p.sweep.Set.Points {
		if !p.ledger.PointDone(n) && p.second.ready.PointDone(n) {
			k++
		}
	}
	return k
}

// confirmed reports whether every cell of the share is confirmed by marks that
// were read after the ledger.
func (f *Feeder) confirmed(ctx context.Context) (bool, error) {
	for _, ln := range f.sweeps {
		if ln.checks == nil {
			continue
		}
		m, err := f.store.Marks(ctx, f.run.ID, ln.sweep)
		if err != nil {
			return false, err
		}
		fresh := *ln.checks
		fresh.confirm(m.Confirmed())
		if open, _ := fresh.lacking(); open > 0 {
			f.dirty = true
			return false, nil
		}
	}
	return true, nil
}
