package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Feeder leads one run from its ledger to its end. It is used by one goroutine.
type Feeder struct {
	store Store
	queue Queue
	model *Model
	check Checker
	opts  Options
	run   jobs.Run

	sweeps []*lane
	byName map[string]*lane
	out    map[string]*outstanding

	slots     map[string]int         // by queue
	workers   map[string]jobs.Worker // at hand, nil before the first look
	busy      map[string]int         // tasks of this run that each worker is at
	lonely    bool                   // no worker is at hand but those in quarantine, and that was said
	lookedAt  time.Time              // when the workers were read
	server    string                 // the store's incarnation when the run was loaded
	forgotten []string               // IDs to take off the store's lists

	window int // outstanding tasks for each queue
	ended  int // tasks that ended in the step under way

	renewed    *atomic.Int64 // Unix ns when the lock was renewed last, or nil
	heardAt    time.Time     // when the heartbeats were read last
	graceUntil time.Time     // no silence counts before
	ledgerAt   time.Time
	ledgerTook time.Duration
	dirty      bool // the ledgers must be read again
	failures   int
	firstFail  string

	disputed   bool          // cells are or were disputed since the run was loaded
	settledAt  time.Time     // when the disputes were read
	settledSum int64         // how many there were by the counters
	settling   int           // disputed cells that are given out
	stuck      *jobs.Dispute // one that nobody at hand can decide, or nil
	stuckAt    time.Time     // since when nothing but such is left
	rechecks   map[dispute]*recheck
}

// outstanding is a task that was given out.
type outstanding struct {
	lane    *lane
	plan    *planner
	task    jobs.Task
	given   time.Time
	asked   time.Time // when asynq was asked last
	active  time.Time // since when asynq calls it active without a beat
	beat    jobs.Beat
	beating bool
}

// NewFeeder returns a feeder for a run that is in state running.
func NewFeeder(st Store, q Queue, m *Model, c Checker, run jobs.Run, o Options) *Feeder {
	o.defaults()
	return &Feeder{store: st, queue: q, model: m, check: c, opts: o, run: run, window: o.MinWindow,
		byName: map[string]*lane{}, out: map[string]*outstanding{}, slots: map[string]int{}, rechecks: map[dispute]*recheck{}}
}

// Ended says how a run left the hands of the feeder.
type Ended struct {
	State  jobs.State
	Reason string
}

// Reasons to begin anew with everything read again. errReplan says that the run
// was changed under the feeder, errForgot that the store lost what it had: it was
// restarted or replaced, and the last seconds of commits may be gone. What was
// summed up so far must be read again then, too.
var (
	errReplan = errors.New("the run's plan was changed")
	errForgot = errors.New("the store was restarted or lost commits")
)

// Run feeds the run until it ends, is paused, or ctx ends (ctx's error). While
// the store is out of reach it waits and tries again. Outstanding tasks are
// left in asynq when ctx ends: workers or the next scheduler go on with them.
func (f *Feeder) Run(ctx context.Context) (Ended, error) {
	checks := newCheckLoop(f.check, f.opts.Log)
	defer checks.close()
	if err := f.retry(ctx, "read the run", func() error { return f.load(ctx) }); err != nil {
		return Ended{}, err
	}
	tick := time.NewTicker(f.opts.Tick)
	defer tick.Stop()
	var shown time.Time
	for {
		var end *Ended
		err := f.retry(ctx, "look after the run", func() (err error) { end, err = f.step(ctx, checks); return err })
		if errors.Is(err, jobs.ErrFenced) {
			f.withdrawGone()
		}
		if err != nil {
			return Ended{}, err
		}
		if end != nil {
			return *end, nil
		}
		if f.opts.OnProgress != nil && time.Since(shown) >= f.opts.Tick {
			shown = time.Now()
			f.opts.OnProgress(f.progress())
		}
		if f.ended > f.window/4 && ctx.Err() == nil {
			continue // the workers are quick: do not keep them waiting
		}
		select {
		case <-ctx.Done():
			return Ended{}, ctx.Err()
		case <-tick.C:
		case <-checks.woke:
		}
	}
}

// retry runs step until it succeeds, the run is gone, or ctx ends. After an
// outage everything is read anew and silence does not count for a while.
func (f *Feeder) retry(ctx context.Context, what string, step func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := step()
		var state *jobs.StateError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, jobs.ErrFenced), errors.Is(err, jobs.ErrNoRun), errors.Is(err, errReplan), errors.Is(err, errForgot), errors.Is(err, errSettled),
			errors.As(err, &state), jobs.IsLasting(err):
			return err
		}
		f.opts.Log.Warn("store out of reach, trying again", "what", what, "err", err, "in", wait)
		f.dirty = true
		if rest(ctx, wait); ctx.Err() != nil {
			return ctx.Err()
		}
		f.grace()
	}
}

// grace lets no silence count for a while.
func (f *Feeder) grace() { f.graceUntil = time.Now().Add(f.opts.Grace) }

// load builds the lanes from the ledger and takes over outstanding tasks.
func (f *Feeder) load(ctx context.Context) error {
	f.sweeps, f.byName, f.out = nil, map[string]*lane{}, map[string]*outstanding{}
	f.failures, f.firstFail = 0, ""
	var err error
	if f.server, err = f.store.Incarnation(ctx); err != nil {
		return err
	}
	if err := f.expel(ctx); err != nil {
		return err
	}
	for _, s := range f.run.Sweeps {
		l, err := f.store.Ledger(ctx, f.run.ID, s)
		if err != nil {
			return err
		}
		ln := &lane{sweep: s, plan: newPlanner(s, f.model, l)}
		ln.plan.aloneAfter, ln.plan.maxCells = max(f.opts.MaxDeaths-1, 1), f.opts.MaxCells
		if ln.total, err = f.model.Open(s, jobs.NewLedger(s.Cells())); err != nil {
			return jobs.Lasting(err)
		}
		if ln.open, err = f.model.Open(s, l); err != nil {
			return jobs.Lasting(err)
		}
		if err := f.loadChecks(ctx, ln); err != nil {
			return err
		}
		f.sweeps = append(f.sweeps, ln)
		f.byName[s.Name] = ln
	}
	tasks, err := f.store.Tasks(ctx, f.run.ID)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, t := range tasks {
		ln := f.byName[t.Sweep]
		var p *planner
		if ln != nil {
			p = ln.planOf(t)
		}
		if p == nil || t.Rev != f.run.Rev {
			// Of an older plan: its whole cells are welcome, but it may be cut
			// for another range, so it is not waited for.
			f.withdraw(t)
			f.forgotten = append(f.forgotten, t.ID())
			continue
		}
		p.hold(stretchOf(ln.sweep, t))
		f.out[t.ID()] = &outstanding{lane: ln, plan: p, task: t, given: now}
	}
	fails, err := f.store.Failures(ctx, f.run.ID)
	if err != nil {
		return err
	}
	for _, x := range fails {
		ln := f.byName[x.Sweep]
		if ln == nil {
			continue
		}
		p := ln.plan
		if x.Check {
			p = ln.checks
		}
		if p == nil {
			continue
		}
		s := stretch{points: x.Points}
		if x.Hi > x.Lo {
			s.first, s.last = ln.sweep.Grid.Range(x.Lo, x.Hi)
		}
		f.noteFailure(p, s, x.Error)
	}
	f.dirty = true
	// Whatever was before this feeder may have kept heartbeats from the store.
	f.grace()
	return nil
}

func (f *Feeder) noteFailure(p *planner, s stretch, reason string) {
	p.hold(s)
	p.failed = append(p.failed, s)
	f.failures++
	if f.firstFail == "" {
		f.firstFail = reason
	}
}

// step takes one look at the run: state, heartbeats, ledger, failures, new
// tasks. It returns how the run ended, or nil while it goes on.
func (f *Feeder) step(ctx context.Context, checks *checkLoop) (*Ended, error) {
	state, rev, err := f.store.Status(ctx, f.run.ID)
	if err != nil {
		return nil, err
	}
	if rev != f.run.Rev {
		return nil, errReplan
	}
	switch state {
	case jobs.Running:
	case jobs.Paused:
		return &Ended{State: state}, f.withdrawWaiting(ctx)
	default:
		return &Ended{State: state}, f.withdrawAll(ctx)
	}
	if err := f.watchWorkers(ctx); err != nil {
		return nil, err
	}
	if err := f.reconcile(ctx); err != nil {
		return nil, err
	}
	if err := f.readLedgers(ctx, checks); err != nil {
		return nil, err
	}
	if f.disputed {
		// Soon, so that a worker that computes wrong does not go on for long.
		counts, err := f.store.Counts(ctx, f.run.ID)
		if err != nil {
			return nil, err
		}
		if err := f.settle(ctx, counts); err != nil {
			return nil, err
		}
	}
	if herr := checks.halted(); herr != nil {
		// The reason may be a value that loses a dispute, or will be disputed once a
		// second computation has looked at it.
		counts, err := f.store.Counts(ctx, f.run.ID)
		if err != nil {
			return nil, err
		}
		if f.unconfirmed() {
			return nil, f.feed(ctx, true)
		}
		if busy, end, err := f.decide(ctx, counts); busy {
			return end, err
		}
		return f.end(ctx, jobs.Halted, herr.Error())
	}
	if err := f.feed(ctx, false); err != nil {
		return nil, err
	}
	return f.finish(ctx, checks)
}

// finish declares the run complete, or failed, when nothing is left to do.
func (f *Feeder) finish(ctx context.Context, checks *checkLoop) (*Ended, error) {
	lost := int64(0)
	for _, ln := range f.sweeps {
		for _, p := range ln.plans() {
			open, failed := p.lacking()
			if open > failed {
				return nil, nil
			}
			lost += failed
		}
	}
	if lost > 0 {
		reason := fmt.Sprintf("%d stretches of n could not be computed, the first: %s", f.failures, f.firstFail)
		return f.end(ctx, jobs.Failed, reason)
	}
	// Only a ledger read now counts: Redis may have been restarted and lost
	// the last commits since the one in hand.
	ledgers := map[string]*jobs.Ledger{}
	for _, ln := range f.sweeps {
		l, err := f.store.Ledger(ctx, f.run.ID, ln.sweep)
		if err != nil {
			return nil, err
		}
		if !l.Covers(ln.plan.ledger) {
			return nil, errForgot
		}
		ledgers[ln.sweep.Name] = l
	}
	counts, err := f.store.Counts(ctx, f.run.ID)
	if err != nil {
		return nil, err
	}
	if busy, end, err := f.decide(ctx, counts); busy {
		return end, err
	}
	if ok, err := f.confirmed(ctx); err != nil || !ok {
		return nil, err
	}
	if pending, err := f.pendingQuarantine(ctx); err != nil {
		return nil, err
	} else if pending {
		return nil, errSettled
	}
	result, ready, err := checks.finish(ledgers)
	if err != nil || !ready {
		return nil, err // halted() reports a mismatch at the next step
	}
	if f.failures > 0 {
		// Somebody computed after all what had been given up.
		if err := f.store.ClearFailures(ctx, f.run.ID); err != nil {
			return nil, err
		}
	}
	if err := f.store.SetResult(ctx, f.run.ID, f.run.Rev, result); err != nil {
		return nil, err
	}
	return f.end(ctx, jobs.Complete, "")
}

// end moves the run from running to a state in which nothing is outstanding.
func (f *Feeder) end(ctx context.Context, to jobs.State, reason string) (*Ended, error) {
	if err := f.store.SetState(ctx, f.run.ID, []jobs.State{jobs.Running}, to, reason); err != nil {
		return nil, err
	}
	return &Ended{State: to, Reason: reason}, f.withdrawAll(ctx)
}
