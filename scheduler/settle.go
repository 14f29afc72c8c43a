package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

const (
	// settleEvery is the pause between two looks at the disputes.
	settleEvery = time.Second
	// maxRechecks bounds the disputed cells that are given out at a time.
	maxRechecks = 64
	// maxTries is how often a disputed cell is given out before it is left to a
	// person: a task may come back from a worker that must not compute it.
	maxTries = 100
)

// errSettled begins anew after disputes were decided: what was summed up may
// hold values that lost.
var errSettled = errors.New("disputed cells were decided")

// dispute names a disputed cell or point of a sweep.
type dispute struct {
	sweep   string
	cell, n int64 // cell is −1 for a point
}

// recheck is what was done about a dispute.
type recheck struct {
	authors []string // workers that committed the cell, as far as it is known
	tries   int
	task    string // outstanding, or empty
}

// decide has disputes settled before anything else is concluded. It reports
// whether that is going on; its error is errSettled when it is over. The run is
// halted when a dispute is left that no worker at hand can decide.
func (f *Feeder) decide(ctx context.Context, counts map[string]jobs.Counts) (busy bool, end *Ended, err error) {
	open := f.note(counts)
	if open {
		if err := f.settle(ctx, counts); err != nil {
			return true, nil, err
		}
		if f.givenUp() {
			end, err = f.end(ctx, jobs.Halted, fmt.Sprintf(
				"computations of n = %d on differ, and no worker is left that has not spoken: run again, or start another worker, to decide", f.stuck.N))
			return true, end, err
		}
		if f.settling > 0 || f.stuck != nil {
			return true, nil, nil
		}
	}
	// A counter may be off: without a dispute to be seen, nothing was decided.
	if len(f.rechecks) > 0 || (f.disputed && !open) {
		return true, nil, errSettled
	}
	return false, nil, nil
}

// givenUp reports whether a dispute has waited long enough for a worker that can
// decide it: others may be about to join.
func (f *Feeder) givenUp() bool {
	// Without a look at the workers nobody can be missed.
	if f.settling > 0 || f.stuck == nil || f.workers == nil || time.Now().Before(f.graceUntil) {
		f.stuckAt = time.Time{}
		return false
	}
	if f.stuckAt.IsZero() {
		f.stuckAt = time.Now()
		f.opts.Log.Warn("computations differ and no worker at hand can decide, waiting for another", "run", f.run.ID.Name,
			"n", f.stuck.N, "for", f.opts.Undecided)
	}
	return time.Since(f.stuckAt) >= f.opts.Undecided
}

// note remembers whether cells are disputed, and returns it.
func (f *Feeder) note(counts map[string]jobs.Counts) bool {
	for _, c := range counts {
		if c.Disputed > 0 {
			f.disputed = true
			return true
		}
	}
	return false
}

// settle gives disputed cells and points out again, each to workers that have
// not spoken about it, until the store has decided all of them. It looks once in
// a while, and notes how many are given out and whether one is left that no
// worker at hand can decide.
func (f *Feeder) settle(ctx context.Context, counts map[string]jobs.Counts) error {
	sum := int64(0)
	for _, c := range counts {
		sum += c.Disputed
	}
	if time.Since(f.settledAt) < settleEvery && sum == f.settledSum {
		return nil
	}
	f.settledAt, f.settledSum = time.Now(), sum
	var stuck *jobs.Dispute
	out := 0
	for _, ln := range f.sweeps {
		if counts[ln.sweep.Name].Disputed == 0 {
			continue
		}
		all, err := f.store.Disputes(ctx, f.run.ID, ln.sweep)
		if err != nil {
			return err
		}
		if err := f.findAuthors(ctx, ln.sweep, all); err != nil {
			return err
		}
		var tasks []jobs.Task
		for _, d := range all {
			r := f.rechecks[dispute{ln.sweep.Name, d.Cell, d.N}]
			if f.out[r.task] != nil {
				out++
				continue
			}
			not := voters(d, r.authors)
			if r.tries >= maxTries || !f.otherWorker(ln.sweep.Queue(), not) {
				stuck = &d
				continue
			}
			if out >= maxRechecks {
				break
			}
			t, err := f.recheck(ln, d, r, not)
			if err != nil {
				return jobs.Lasting(err)
			}
			r.task = t.ID()
			r.tries++
			out++
			tasks = append(tasks, t)
		}
		if err := f.give(ctx, ln, tasks); err != nil {
			return err
		}
	}
	f.settling, f.stuck = out, stuck
	return nil
}

// recheck returns the task that computes a disputed cell once more. The number
// of those who must not do it makes its ID another one after each vote.
func (f *Feeder) recheck(ln *lane, d jobs.Dispute, r *recheck, not []string) (jobs.Task, error) {
	s := stretch{attempt: r.tries}
	if d.Cell < 0 {
		s.points = []int64{d.N}
	} else {
		s.first, s.last = d.Cell, d.Cell+1
	}
	cost, err := ln.plan.cost(s)
	if err != nil {
		return jobs.Task{}, fmt.Errorf("plan a disputed cell of sweep %s: %w", ln.sweep.Name, err)
	}
	t := ln.plan.task(f.run.ID, f.run.Rev, s, cost)
	t.Not = not
	return t, nil
}

// findAuthors notes who committed the disputed cells, once for each.
func (f *Feeder) findAuthors(ctx context.Context, s jobs.Sweep, all []jobs.Dispute) error {
	fresh := map[int64]*recheck{}
	for _, d := range all {
		key := dispute{s.Name, d.Cell, d.N}
		if f.rechecks[key] == nil {
			f.rechecks[key] = &recheck{}
			fresh[d.N] = f.rechecks[key]
			f.dirty = true // it is not for checks any more
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	m, err := f.store.Marks(ctx, f.run.ID, s)
	if err != nil {
		return err
	}
	for _, d := range all {
		r := fresh[d.N]
		if r == nil {
			continue
		}
		by, _ := m.Cell(d.Cell)
		if d.Cell < 0 {
			by, _ = m.Point(d.N)
		}
		if h, ok := m.Hand(by); ok {
			r.authors = append(r.authors, h.Worker)
			delete(fresh, d.N)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	// The notes of tasks say it less exactly: they name the extent of a task.
	return f.store.Provenance(ctx, f.run.ID, func(sweep string, o jobs.Origin) error {
		if sweep != s.Name || o.Second {
			return nil
		}
		for n, r := range fresh {
			if n >= o.Lo && n < o.Hi {
				r.authors = append(r.authors, o.Worker.ID)
			}
		}
		return nil
	})
}

// voters returns the workers whose word about a cell is known, in order.
func voters(d jobs.Dispute, authors []string) []string {
	not := slices.Clone(authors)
	for _, c := range d.Claims {
		// The claimant is the worker's quoted ID, perhaps with a task after it.
		quoted, err := strconv.QuotedPrefix(c.By)
		if err != nil {
			continue
		}
		if id, err := strconv.Unquote(quoted); err == nil {
			not = append(not, id)
		}
	}
	slices.Sort(not)
	return slices.Compact(not)
}

// otherWorker reports whether a worker for the queue is at hand that is not
// among those.
func (f *Feeder) otherWorker(queue string, not []string) bool {
	for _, w := range f.workers {
		if slices.Contains(w.Queues, queue) && !w.Among(not) {
			return true
		}
	}
	return false
}
