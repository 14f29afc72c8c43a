package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// reconcile compares the outstanding tasks with their heartbeats and, where
// there is none, with asynq. Whatever is lost is given out again under a new
// ID; the ledger makes it harmless when it was not lost after all.
func (f *Feeder) reconcile(ctx context.Context) error {
	beats, now, err := f.store.Beats(ctx, f.run.ID)
	if err != nil {
		return err
	}
	// When the answer took long, or the lock could not be renewed, heartbeats did
	// not get through either. The first look has graceUntil from load.
	if !f.heardAt.IsZero() && time.Since(f.heardAt) > f.opts.LookupAfter {
		f.grace()
	}
	if f.renewed != nil && time.Since(time.Unix(0, f.renewed.Load())) > f.opts.LeadFor {
		f.grace()
	}
	f.heardAt, f.ended = time.Now(), 0
	for _, ln := range f.sweeps {
		ln.fresh = false
	}
	f.busy = map[string]int{}
	for _, b := range beats {
		o := f.out[b.Task]
		if o == nil {
			// Of a task that was given out again: forget it once it is over.
			if b.Ended || now.UnixMilli()-b.AtMs > f.opts.SilenceAfter.Milliseconds() {
				f.forgotten = append(f.forgotten, b.Task)
			}
			continue
		}
		o.beat, o.beating = b, true
		if !b.Ended && !b.Waiting {
			f.busy[b.Worker]++
		}
	}
	var unheard []*outstanding
	for id, o := range f.out {
		switch {
		case o.beating:
			err = f.judge(ctx, id, o, now)
		case time.Since(o.given) >= f.opts.LookupAfter && time.Since(o.asked) >= f.opts.LookupAfter:
			unheard = append(unheard, o)
		}
		if err != nil {
			return err
		}
	}
	if err := f.lookup(ctx, unheard); err != nil {
		return err
	}
	return f.dropForgotten(ctx)
}

// judge decides what becomes of a task about which its worker spoke.
func (f *Feeder) judge(ctx context.Context, id string, o *outstanding, now time.Time) error {
	if o.beat.Ended {
		return f.over(ctx, id, o)
	}
	switch f.fate(o, now) {
	case lives:
		return nil
	case left:
		f.opts.Log.Info("worker let go of a task, giving its cells out again", "task", id, "worker", o.beat.Worker)
		f.withdraw(o.task)
		if err := f.refresh(ctx, o.lane); err != nil {
			return err
		}
		f.again(id, o, o.task.Deaths)
		return nil
	}
	f.opts.Log.Info("worker lost, giving its cells out again", "task", id, "worker", o.beat.Worker)
	f.withdraw(o.task)
	return f.died(ctx, id, o)
}

// fate is what became of the worker of a task.
type fate int

const (
	lives fate = iota // or its silence does not count
	left              // it is not to blame: it said goodbye, or it lives and speaks of other things
	dead
)

// fate looks at what is known of a task's worker.
func (f *Feeder) fate(o *outstanding, now time.Time) fate {
	if f.opts.Dead != nil && f.opts.Dead(o.beat.Worker) {
		return dead
	}
	silent := time.Duration(now.UnixMilli()-o.beat.AtMs) * time.Millisecond
	w, listed := f.workers[o.beat.Worker]
	switch {
	// A worker is on the list before its first task, so one that is not has
	// said goodbye. Its last beat may still be under way: wait a moment.
	case f.workers != nil && !listed && silent > 2*time.Second && silent <= f.opts.SilenceAfter:
		return left
	case time.Now().Before(f.graceUntil), silent <= f.opts.SilenceAfter:
		return lives
	case listed && time.Duration(now.UnixMilli()-w.AtMs)*time.Millisecond < f.opts.SilenceAfter/2:
		return left
	}
	return dead
}

// over handles a task whose worker has let go of it.
func (f *Feeder) over(ctx context.Context, id string, o *outstanding) error {
	f.ended++
	if err := f.refresh(ctx, o.lane); err != nil {
		return err
	}
	if o.beat.Error != "" && o.plan.open(stretchOf(o.lane.sweep, o.task)) {
		return f.failed(ctx, id, o)
	}
	if o.handedBack() {
		f.forget(id)
		o.plan.handBack(stretchOf(o.lane.sweep, o.task))
		return nil
	}
	f.again(id, o, o.task.Deaths)
	return nil
}

// again gives the unfinished cells of a task out again, if there are any.
func (f *Feeder) again(id string, o *outstanding, deaths int) {
	s := stretchOf(o.lane.sweep, o.task)
	s.attempt++
	s.deaths = deaths
	f.forget(id)
	o.plan.requeue(s)
}

// died is again after the death of a worker that held the cells. A death is
// held against a task that made no progress since it was given out: cells are
// computed in order, so with progress it was a cell further on, once.
func (f *Feeder) died(ctx context.Context, id string, o *outstanding) error {
	if err := f.refresh(ctx, o.lane); err != nil {
		return err
	}
	p, s := o.plan, stretchOf(o.lane.sweep, o.task)
	if o.beat.Waiting || !p.open(s) {
		f.again(id, o, s.deaths) // it had not begun, or is done
		return nil
	}
	s.deaths++
	if p.progress(s) {
		s.deaths = 1
	}
	if s.deaths >= f.opts.MaxDeaths {
		s.attempt++
		return f.bisect(ctx, id, o, s)
	}
	f.again(id, o, s.deaths)
	return nil
}

// bisect narrows down which cell kills its workers: each half is one death
// away from being halved again, until a single cell is left, which fails.
func (f *Feeder) bisect(ctx context.Context, id string, o *outstanding, s stretch) error {
	p := o.plan
	var parts []stretch
	half := stretch{attempt: s.attempt, deaths: s.deaths - 1, algorithm: s.algorithm}
	switch mid := (s.first + s.last) / 2; {
	case s.last-s.first > 1:
		a, b := half, half
		a.first, a.last, b.first, b.last = s.first, mid, mid, s.last
		parts = []stretch{a, b}
	case len(s.points) > 1:
		a, b := half, half
		a.points, b.points = s.points[:len(s.points)/2], s.points[len(s.points)/2:]
		parts = []stretch{a, b}
	default:
		o.beat.Error = fmt.Sprintf("killed its worker %d times", s.deaths)
		return f.fail(ctx, id, o)
	}
	f.forget(id)
	for _, part := range parts {
		p.requeue(part)
	}
	return nil
}

// maxIsolated bounds the work of finding single bad cells: when this many
// stretches have failed, something other than their n is wrong.
const maxIsolated = 100

// failed handles an engine's error. Cells are computed and committed in order,
// so the first unfinished one is to blame: it is tried again alone, by whichever
// worker comes, until MaxAttempts, and the rest goes on without it.
func (f *Feeder) failed(ctx context.Context, id string, o *outstanding) error {
	p, s := o.plan, stretchOf(o.lane.sweep, o.task)
	bad, rest := p.blame(s)
	single := len(rest.points) == 0 && p.ledger.NextOpen(rest.first) >= rest.last
	switch {
	case single && o.task.Attempt+1 >= f.opts.MaxAttempts, f.failures >= maxIsolated:
		return f.fail(ctx, id, o)
	case single:
		f.opts.Log.Warn("cell failed, trying again", "task", id, "worker", o.beat.Worker, "err", o.beat.Error)
		f.again(id, o, o.task.Deaths)
		return nil
	}
	f.opts.Log.Warn("task failed, its first unfinished cell is tried alone", "task", id, "worker", o.beat.Worker, "err", o.beat.Error)
	f.forget(id)
	p.release(s)
	p.hold(bad)
	p.hold(rest)
	bad.attempt = 1 // it has failed once
	p.requeue(bad)
	p.requeue(rest)
	return nil
}

// fail gives up the unfinished cells of a task.
func (f *Feeder) fail(ctx context.Context, id string, o *outstanding) error {
	t := o.task
	f.opts.Log.Error("cells failed", "task", id, "worker", o.beat.Worker, "err", o.beat.Error)
	s := stretchOf(o.lane.sweep, t)
	p := o.plan
	p.release(s)
	rest := &planner{ledger: p.ledger, second: p.second}
	rest.giveBack(s)
	for _, x := range rest.again {
		fail := jobs.Failure{Sweep: t.Sweep, Points: x.points, Error: o.beat.Error, Worker: o.beat.Worker, Check: t.Check > 0}
		if x.last > x.first {
			a, _ := o.lane.sweep.Cell(x.first)
			b, _ := o.lane.sweep.Cell(x.last - 1)
			fail.Lo, fail.Hi = a.Lo, b.Hi
		}
		if err := f.store.AddFailure(ctx, f.run.ID, fail); err != nil {
			return err
		}
		f.noteFailure(p, x, fail.Error)
	}
	f.forget(id)
	return nil
}

// lookup asks asynq about tasks that no worker has spoken of for a while.
func (f *Feeder) lookup(ctx context.Context, tasks []*outstanding) error {
	states := make([]jobs.QueueState, len(tasks))
	errs := make([]error, len(tasks))
	abreast(len(tasks), func(i int) { states[i], errs[i] = f.queue.State(tasks[i].task) })
	for i, o := range tasks {
		if errs[i] != nil {
			return errs[i]
		}
		if err := f.unheard(ctx, o, states[i]); err != nil {
			return err
		}
	}
	return nil
}

// unheard handles a task without a heartbeat by what asynq says of it. Before
// a worker computes it beats, so nobody died of it.
func (f *Feeder) unheard(ctx context.Context, o *outstanding, state jobs.QueueState) error {
	now, id := time.Now(), o.task.ID()
	o.asked = now
	if state != jobs.Active {
		o.active = time.Time{}
	}
	switch state {
	case jobs.Waiting:
		return nil
	case jobs.Active:
		// Taken, but its worker never spoke: a reply was lost, or the worker
		// died at once.
		if o.active.IsZero() {
			o.active = now
		}
		if now.Sub(o.active) <= f.opts.SilenceAfter || now.Before(f.graceUntil) {
			return nil
		}
		f.opts.Log.Info("task taken but silent, giving its cells out again", "task", id)
	case jobs.Dead:
		f.withdraw(o.task)
	default:
		// The ledger may know better.
		f.opts.Log.Debug("task gone from asynq", "task", id)
	}
	if err := f.refresh(ctx, o.lane); err != nil {
		return err
	}
	f.again(id, o, o.task.Deaths)
	return nil
}

// withdraw takes a task off asynq's queue if it is still there.
func (f *Feeder) withdraw(t jobs.Task) {
	if err := f.queue.Withdraw(t); err != nil {
		f.opts.Log.Debug("task not withdrawn", "task", t.ID(), "err", err)
	}
}

// forget takes a task off the list, together with the others of this step.
func (f *Feeder) forget(id string) {
	f.forgotten = append(f.forgotten, id)
	delete(f.out, id)
}

// dropForgotten takes forgotten tasks off the store's list. A list that could
// not be shortened now is shortened later: until then a worker may start a
// task that nobody waits for, which costs time only.
func (f *Feeder) dropForgotten(ctx context.Context) error {
	if len(f.forgotten) == 0 {
		return nil
	}
	if err := f.store.DropTasks(ctx, f.run.ID, f.forgotten...); err != nil {
		return err
	}
	if err := f.store.DropBeats(ctx, f.run.ID, f.forgotten...); err != nil {
		return err
	}
	f.forgotten = nil
	return nil
}

// withdrawWaiting leaves those tasks outstanding that workers are at: a paused
// run finishes them, and when it goes on nobody computes them twice.
func (f *Feeder) withdrawWaiting(ctx context.Context) error {
	beats, _, err := f.store.Beats(ctx, f.run.ID)
	if err != nil {
		return err
	}
	for _, b := range beats {
		if f.out[b.Task] != nil && !b.Ended {
			delete(f.out, b.Task)
		}
	}
	return f.withdrawAll(ctx)
}

// withdrawGone takes the tasks of a run that was deleted or begun afresh off
// asynq's queues. Its lists are gone with it.
func (f *Feeder) withdrawGone() {
	var tasks []jobs.Task
	for _, o := range f.out {
		tasks = append(tasks, o.task)
	}
	abreast(len(tasks), func(i int) { f.withdraw(tasks[i]) })
}

// withdrawAll forgets every outstanding task.
func (f *Feeder) withdrawAll(ctx context.Context) error {
	f.withdrawGone()
	for id := range f.out {
		f.forget(id)
	}
	return f.dropForgotten(ctx)
}
