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
	}
	if err := f.readEnded(ctx); err != nil {
		return err
	}
	for id, o := range f.out {
		if err := f.judge(ctx, id, o, now); err != nil {
			return err
		}
	}
	return f.dropForgotten(ctx)
}

// readEnded reads the ledger of every sweep with a task whose worker has let
// go of it: the last commits came before the last beat, so they are in it.
func (f *Feeder) readEnded(ctx context.Context) error {
	read := map[*lane]bool{}
	for _, o := range f.out {
		if !o.beating || !o.beat.Ended || read[o.lane] {
			continue
		}
		l, err := f.store.Ledger(ctx, f.run.ID, o.lane.sweep)
		if err != nil {
			return err
		}
		read[o.lane], o.lane.plan.ledger, f.dirty = true, l, true
	}
	return nil
}

// judge decides what becomes of one outstanding task.
func (f *Feeder) judge(ctx context.Context, id string, o *outstanding, now time.Time) error {
	switch {
	case o.beating && o.beat.Ended:
		return f.ended(ctx, id, o)
	case o.beating:
		if f.lost(o, now) {
			f.opts.Log.Info("worker lost, giving its cells out again", "task", id, "worker", o.beat.Worker)
			f.withdraw(o.task)
			return f.died(ctx, id, o)
		}
		return nil
	}
	return f.lookup(ctx, id, o)
}

// lost reports whether the worker of a beating task is gone: it is known to be
// dead, it said goodbye, or it has been silent for too long while it could have
// spoken.
func (f *Feeder) lost(o *outstanding, now time.Time) bool {
	if time.Now().Before(f.graceUntil) {
		return false
	}
	silent := time.Duration(now.UnixMilli()-o.beat.AtMs) * time.Millisecond
	if silent > f.opts.SilenceAfter || (f.opts.Dead != nil && f.opts.Dead(o.beat.Worker)) {
		return true
	}
	// A worker is on the list before its first task, so one that is not has
	// said goodbye. Its last beat may still be under way: wait a moment.
	return f.workers != nil && !f.workers[o.beat.Worker] && silent > 2*time.Second
}

// ended handles a task whose worker has let go of it.
func (f *Feeder) ended(ctx context.Context, id string, o *outstanding) error {
	if o.beat.Error != "" && o.lane.plan.open(stretchOf(o.lane.sweep, o.task)) {
		return f.failed(ctx, id, o)
	}
	f.again(id, o, 0)
	return nil
}

// again gives the unfinished cells of a task out again, if there are any.
func (f *Feeder) again(id string, o *outstanding, deaths int) {
	p, s := o.lane.plan, stretchOf(o.lane.sweep, o.task)
	s.attempt++
	s.deaths += deaths
	f.forget(id)
	p.requeue(s)
}

// died is again after the death of a worker that held the cells.
func (f *Feeder) died(ctx context.Context, id string, o *outstanding) error {
	s := stretchOf(o.lane.sweep, o.task)
	s.attempt++
	s.deaths++
	if s.deaths >= f.opts.MaxDeaths && o.lane.plan.open(s) {
		return f.bisect(ctx, id, o, s)
	}
	f.again(id, o, 1)
	return nil
}

// bisect narrows down which cell kills its workers: each half is one death
// away from being halved again, until a single cell is left, which fails.
func (f *Feeder) bisect(ctx context.Context, id string, o *outstanding, s stretch) error {
	p := o.lane.plan
	var parts []stretch
	half := stretch{attempt: s.attempt, deaths: s.deaths - 1}
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
	p, s := o.lane.plan, stretchOf(o.lane.sweep, o.task)
	bad, rest := p.blame(s)
	single := len(rest.points) == 0 && p.ledger.NextOpen(rest.first) >= rest.last
	switch {
	case single && o.task.Attempt+1 >= f.opts.MaxAttempts, f.failures >= maxIsolated:
		return f.fail(ctx, id, o)
	case single:
		f.opts.Log.Warn("cell failed, trying again", "task", id, "worker", o.beat.Worker, "err", o.beat.Error)
		f.again(id, o, 0)
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
	p := o.lane.plan
	p.release(s)
	rest := &planner{ledger: p.ledger}
	rest.giveBack(s)
	for _, x := range rest.again {
		fail := jobs.Failure{Sweep: t.Sweep, Points: x.points, Error: o.beat.Error, Worker: o.beat.Worker}
		if x.last > x.first {
			a, _ := o.lane.sweep.Cell(x.first)
			b, _ := o.lane.sweep.Cell(x.last - 1)
			fail.Lo, fail.Hi = a.Lo, b.Hi
		}
		if err := f.store.AddFailure(ctx, f.run.ID, fail); err != nil {
			return err
		}
		f.noteFailure(o.lane, x, fail.Error)
	}
	f.forget(id)
	return nil
}

// lookup asks asynq about a task that no worker has spoken of for a while.
func (f *Feeder) lookup(ctx context.Context, id string, o *outstanding) error {
	now := time.Now()
	if now.Sub(o.given) < f.opts.LookupAfter || now.Sub(o.asked) < f.opts.LookupAfter {
		return nil
	}
	o.asked = now
	state, err := f.queue.State(o.task)
	if err != nil {
		return err
	}
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
		if now.Sub(o.active) > f.opts.SilenceAfter {
			f.opts.Log.Info("task taken but silent, giving its cells out again", "task", id)
			return f.died(ctx, id, o)
		}
		return nil
	}
	// Unknown to asynq, or archived. The ledger may know better.
	f.opts.Log.Debug("task gone from asynq", "task", id)
	l, err := f.store.Ledger(ctx, f.run.ID, o.lane.sweep)
	if err != nil {
		return err
	}
	o.lane.plan.ledger = l
	if state == jobs.Dead {
		f.withdraw(o.task)
	}
	f.again(id, o, 0)
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

// withdrawAll forgets every outstanding task.
func (f *Feeder) withdrawAll(ctx context.Context) error {
	for id, o := range f.out {
		f.withdraw(o.task)
		f.forget(id)
	}
	return f.dropForgotten(ctx)
}
