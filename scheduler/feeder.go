package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Store is what the scheduler needs of the store. All methods are safe for
// concurrent use.
type Store interface {
	Run(ctx context.Context, name string) (jobs.Run, error)
	Runs(ctx context.Context) ([]jobs.Run, error)
	// Status returns the state and the revision of a run; jobs.ErrFenced when
	// it is gone.
	Status(ctx context.Context, id jobs.RunID) (jobs.State, int64, error)
	SetState(ctx context.Context, id jobs.RunID, from []jobs.State, to jobs.State, reason string) error
	SetResult(ctx context.Context, id jobs.RunID, rev int64, result []byte) error
	Ledger(ctx context.Context, id jobs.RunID, s jobs.Sweep) (*jobs.Ledger, error)
	Counts(ctx context.Context, id jobs.RunID) (map[string]jobs.Counts, error)
	// PutTasks, DropTasks and Tasks keep the list of outstanding tasks.
	PutTasks(ctx context.Context, id jobs.RunID, tasks []jobs.Task) error
	DropTasks(ctx context.Context, id jobs.RunID, ids ...string) error
	Tasks(ctx context.Context, id jobs.RunID) ([]jobs.Task, error)
	// Beats returns the heartbeats and the store's clock.
	Beats(ctx context.Context, id jobs.RunID) ([]jobs.Beat, time.Time, error)
	DropBeats(ctx context.Context, id jobs.RunID, tasks ...string) error
	AddFailure(ctx context.Context, id jobs.RunID, f jobs.Failure) error
	Failures(ctx context.Context, id jobs.RunID) ([]jobs.Failure, error)
	Workers(ctx context.Context) ([]jobs.Worker, error)
	// Lead takes or renews the lock of a run, Resign gives it up.
	Lead(ctx context.Context, id jobs.RunID, owner string, ttl time.Duration) (bool, error)
	Resign(ctx context.Context, id jobs.RunID, owner string) error
}

// Queue is what the scheduler needs of asynq.
type Queue interface {
	Enqueue(ctx context.Context, t jobs.Task) error
	State(t jobs.Task) (jobs.QueueState, error)
	Withdraw(t jobs.Task) error
}

// Checker looks at finished cells: it sums, compares checkpoints and proves
// completeness. The feeder calls it from one goroutine.
type Checker interface {
	// Advance takes a newer ledger of one sweep. A *jobs.HaltError halts the
	// run; another error is tried again with the next ledger.
	Advance(ctx context.Context, sweep string, l *jobs.Ledger) error
	// Finish is called when every cell of the fresh ledgers is done. It
	// returns the result in its stored encoding.
	Finish(ctx context.Context, ledgers map[string]*jobs.Ledger) ([]byte, error)
}

// Options are the feeder's settings. The zero value of a duration stands for
// the default in its comment.
type Options struct {
	// Owner names this scheduler in locks and logs; it must be unique.
	Owner string
	// Tick is the pause between two looks at the run, 50 ms.
	Tick time.Duration
	// SilenceAfter is how long a task's heartbeat may be silent by the store's
	// clock before its cells are given out again, 35 s.
	SilenceAfter time.Duration
	// LookupAfter is how long a task may wait without a heartbeat before asynq
	// is asked about it, and the interval of further questions, 5 s.
	LookupAfter time.Duration
	// Grace is the time after the store was out of reach in which no silence
	// counts, because no heartbeat could get through, 12 s.
	Grace time.Duration
	// LeadFor is the life of the lock on a run, 10 s.
	LeadFor time.Duration
	// MinWindow and PerSlot bound the outstanding tasks: max(MinWindow,
	// PerSlot × slots), 64 and 4.
	MinWindow, PerSlot int
	// MaxAttempts is how often cells are tried whose engine returns an error, 3.
	MaxAttempts int
	// MaxDeaths is how many workers may fall silent over a cell, 5.
	MaxDeaths int
	// Dead, if set, reports whether a worker is known to be gone, such as a
	// process of this machine that no longer exists. A wrong yes costs time only.
	Dead func(worker string) bool
	// OnProgress, if set, is called after every look with a snapshot.
	OnProgress func(Progress)
	Log        *slog.Logger
}

func (o *Options) defaults() {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&o.Tick, 50 * time.Millisecond}, {&o.SilenceAfter, 35 * time.Second}, {&o.LookupAfter, 5 * time.Second},
		{&o.Grace, 12 * time.Second}, {&o.LeadFor, 10 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	for _, d := range []struct {
		v   *int
		def int
	}{{&o.MinWindow, 64}, {&o.PerSlot, 4}, {&o.MaxAttempts, 3}, {&o.MaxDeaths, 5}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

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

	slots      map[string]int  // by queue
	workers    map[string]bool // IDs on the store's list, nil before the first look
	lookedAt   time.Time       // when the workers were read
	reachedAt  time.Time       // last moment the store answered
	graceUntil time.Time
	ledgerAt   time.Time
	ledgerTook time.Duration
	dirty      bool     // the ledgers must be read again
	forgotten  []string // IDs to take off the store's lists
	failures   int
	firstFail  string
}

// lane is one sweep on its way.
type lane struct {
	sweep  jobs.Sweep
	plan   *planner
	counts jobs.Counts
	// total and open are estimated nanoseconds of the whole sweep and of what
	// is unfinished.
	total, open float64
	failed      int64 // cells
}

// outstanding is a task that was given out.
type outstanding struct {
	lane    *lane
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
	return &Feeder{store: st, queue: q, model: m, check: c, opts: o, run: run,
		byName: map[string]*lane{}, out: map[string]*outstanding{}, slots: map[string]int{}}
}

// Ended says how a run left the hands of the feeder.
type Ended struct {
	State  jobs.State
	Reason string
}

// errReplan says that the run was changed under the feeder.
var errReplan = errors.New("the run's plan was changed")

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
	for {
		var end *Ended
		err := f.retry(ctx, "look after the run", func() (err error) { end, err = f.step(ctx, checks); return err })
		if err != nil {
			return Ended{}, err
		}
		if end != nil {
			return *end, nil
		}
		if f.opts.OnProgress != nil {
			f.opts.OnProgress(f.progress(checks))
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
			f.reachedAt = time.Now()
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, jobs.ErrFenced), errors.Is(err, jobs.ErrNoRun), errors.Is(err, errReplan), errors.As(err, &state), isPermanent(err):
			return err
		}
		f.opts.Log.Warn("store out of reach, trying again", "what", what, "err", err, "in", wait)
		f.dirty = true
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		f.graceUntil = time.Now().Add(f.opts.Grace)
	}
}

// permanent marks an error that trying again cannot mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}

// load builds the lanes from the ledger and takes over outstanding tasks.
func (f *Feeder) load(ctx context.Context) error {
	f.sweeps, f.byName, f.out = nil, map[string]*lane{}, map[string]*outstanding{}
	f.failures, f.firstFail = 0, ""
	for _, s := range f.run.Sweeps {
		l, err := f.store.Ledger(ctx, f.run.ID, s)
		if err != nil {
			return err
		}
		ln := &lane{sweep: s, plan: newPlanner(s, f.model, l)}
		if ln.total, err = f.model.Open(s, jobs.NewLedger(s.Cells())); err != nil {
			return permanent{err}
		}
		if ln.open, err = f.model.Open(s, l); err != nil {
			return permanent{err}
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
		if ln == nil || t.Rev != f.run.Rev {
			// Of an older plan: its whole cells are welcome, but it may be cut
			// for another range, so it is not waited for.
			f.withdraw(t)
			f.forgotten = append(f.forgotten, t.ID())
			continue
		}
		ln.plan.hold(stretchOf(ln.sweep, t))
		f.out[t.ID()] = &outstanding{lane: ln, task: t, given: now}
	}
	fails, err := f.store.Failures(ctx, f.run.ID)
	if err != nil {
		return err
	}
	for _, x := range fails {
		if ln := f.byName[x.Sweep]; ln != nil {
			s := stretch{points: x.Points}
			if x.Hi > x.Lo {
				s.first, s.last = ln.sweep.Grid.Range(x.Lo, x.Hi)
			}
			f.noteFailure(ln, s, x.Error)
		}
	}
	f.dirty = true
	return nil
}

func (f *Feeder) noteFailure(ln *lane, s stretch, reason string) {
	ln.plan.hold(s)
	ln.failed += s.last - s.first + int64(len(s.points))
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
	if state != jobs.Running {
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
	if herr := checks.halted(); herr != nil {
		f.opts.Log.Error("run halted", "reason", herr)
		if err := f.store.SetState(ctx, f.run.ID, []jobs.State{jobs.Running, jobs.Paused}, jobs.Halted, herr.Error()); err != nil {
			return nil, err
		}
		return &Ended{State: jobs.Halted, Reason: herr.Error()}, f.withdrawAll(ctx)
	}
	if err := f.feed(ctx); err != nil {
		return nil, err
	}
	return f.finish(ctx, checks)
}

// watchWorkers counts the slots once a second.
func (f *Feeder) watchWorkers(ctx context.Context) error {
	if time.Since(f.lookedAt) < time.Second {
		return nil
	}
	ws, err := f.store.Workers(ctx)
	if err != nil {
		return err
	}
	f.lookedAt = time.Now()
	f.workers = map[string]bool{}
	clear(f.slots)
	for _, w := range ws {
		f.workers[w.ID] = true
		for _, q := range w.Queues {
			f.slots[q] += w.Slots
		}
	}
	return nil
}

// readLedgers reads the ledgers again when something changed, but spends at
// most a tenth of the time on it.
func (f *Feeder) readLedgers(ctx context.Context, checks *checkLoop) error {
	counts, err := f.store.Counts(ctx, f.run.ID)
	if err != nil {
		return err
	}
	if !f.dirty && time.Since(f.ledgerAt) < 10*f.ledgerTook {
		return nil
	}
	begin := time.Now()
	for _, ln := range f.sweeps {
		if !f.dirty && counts[ln.sweep.Name] == ln.counts {
			continue
		}
		l, err := f.store.Ledger(ctx, f.run.ID, ln.sweep)
		if err != nil {
			return err
		}
		ln.plan.ledger, ln.counts = l, counts[ln.sweep.Name]
		if ln.open, err = f.model.Open(ln.sweep, l); err != nil {
			return permanent{err}
		}
		checks.offer(ln.sweep.Name, l)
	}
	f.dirty = false
	f.ledgerAt = time.Now()
	f.ledgerTook = f.ledgerAt.Sub(begin)
	return nil
}

// feed fills the window of outstanding tasks.
func (f *Feeder) feed(ctx context.Context) error {
	waiting := map[string]int{}
	for _, o := range f.out {
		waiting[o.task.Queue()]++
	}
	for _, ln := range f.sweeps {
		q := ln.sweep.Queue()
		slots := max(f.slots[q], 1)
		window := max(f.opts.MinWindow, f.opts.PerSlot*slots)
		var tasks []jobs.Task
		given := 0.0
		for waiting[q] < window {
			s, cost, ok, err := ln.plan.next(target(ln.open-given, slots))
			if err != nil {
				return permanent{fmt.Errorf("plan sweep %s: %w", ln.sweep.Name, err)}
			}
			if !ok {
				break
			}
			given += cost
			tasks = append(tasks, ln.plan.task(f.run.ID, f.run.Rev, s, cost))
			waiting[q]++
		}
		if err := f.give(ctx, ln, tasks); err != nil {
			return err
		}
	}
	return nil
}

// give notes the tasks as outstanding and hands them to asynq. The order
// matters: a task in asynq that is not on the list would be skipped by its
// worker, one on the list that is not in asynq is found and given out later.
func (f *Feeder) give(ctx context.Context, ln *lane, tasks []jobs.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	now := time.Now()
	for _, t := range tasks {
		f.out[t.ID()] = &outstanding{lane: ln, task: t, given: now}
	}
	if err := f.store.PutTasks(ctx, f.run.ID, tasks); err != nil {
		return f.takeBack(ln, tasks, err)
	}
	for i, t := range tasks {
		if err := f.queue.Enqueue(ctx, t); err != nil {
			return f.takeBack(ln, tasks[i:], err)
		}
	}
	return nil
}

// takeBack frees the cells of tasks that may not have reached asynq.
func (f *Feeder) takeBack(ln *lane, tasks []jobs.Task, err error) error {
	for _, t := range tasks {
		delete(f.out, t.ID())
		ln.plan.giveBack(stretchOf(ln.sweep, t))
	}
	return err
}

// finish declares the run complete, or failed, when nothing is left to do.
func (f *Feeder) finish(ctx context.Context, checks *checkLoop) (*Ended, error) {
	for _, ln := range f.sweeps {
		l := ln.plan.ledger
		if l.DoneCells()+l.DonePoints()+ln.failed < ln.sweep.CellCount() {
			return nil, nil
		}
	}
	if f.failures > 0 {
		reason := fmt.Sprintf("%d stretches of n could not be computed, the first: %s", f.failures, f.firstFail)
		if err := f.store.SetState(ctx, f.run.ID, []jobs.State{jobs.Running}, jobs.Failed, reason); err != nil {
			return nil, err
		}
		return &Ended{State: jobs.Failed, Reason: reason}, f.withdrawAll(ctx)
	}
	// Only a ledger read now counts: Redis may have been restarted and lost
	// the last commits since the one in hand.
	ledgers := map[string]*jobs.Ledger{}
	for _, ln := range f.sweeps {
		l, err := f.store.Ledger(ctx, f.run.ID, ln.sweep)
		if err != nil {
			return nil, err
		}
		if l.DoneCells()+l.DonePoints() < ln.sweep.CellCount() {
			f.dirty = true
			return nil, nil
		}
		ledgers[ln.sweep.Name] = l
	}
	counts, err := f.store.Counts(ctx, f.run.ID)
	if err != nil {
		return nil, err
	}
	for name, c := range counts {
		if c.Disputed > 0 {
			reason := fmt.Sprintf("sweep %s: %d cells are disputed: two computations gave different values", name, c.Disputed)
			if err := f.store.SetState(ctx, f.run.ID, []jobs.State{jobs.Running}, jobs.Halted, reason); err != nil {
				return nil, err
			}
			return &Ended{State: jobs.Halted, Reason: reason}, f.withdrawAll(ctx)
		}
	}
	result, ready, err := checks.finish(ledgers)
	if err != nil || !ready {
		return nil, err // halted() reports a mismatch at the next step
	}
	if err := f.store.SetResult(ctx, f.run.ID, f.run.Rev, result); err != nil {
		return nil, err
	}
	if err := f.store.SetState(ctx, f.run.ID, []jobs.State{jobs.Running}, jobs.Complete, ""); err != nil {
		return nil, err
	}
	return &Ended{State: jobs.Complete}, f.withdrawAll(ctx)
}
