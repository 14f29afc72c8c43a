package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

const (
	// maxWindow bounds the outstanding tasks of a queue when they take no time,
	// beside MinWindow and PerSlot.
	maxWindow = 2048
	// callers is how many round trips to asynq are under way at a time.
	callers = 8
)

// load is what is outstanding in one queue.
type load struct {
	tasks int
	ns    float64
}

// room reports whether a queue can take another task.
func (f *Feeder) room(have load, slots int) bool {
	most := max(f.window, f.opts.MinWindow, f.opts.PerSlot*slots)
	return have.tasks < 2*slots || (have.tasks < most && have.ns < float64(f.opts.Ahead)*float64(slots))
}

// resize doubles the window while most of it ends within one look at the run,
// so that tasks which take no time do not run out, and halves it afterwards.
func (f *Feeder) resize() {
	switch {
	case 2*f.ended > f.window:
		f.window = min(2*f.window, max(maxWindow, f.opts.MinWindow))
	case 8*f.ended < f.window:
		f.window = max(f.window/2, f.opts.MinWindow)
	}
}

// feed fills the window of outstanding tasks, those of a run that is about to be
// halted with second computations only.
func (f *Feeder) feed(ctx context.Context, halted bool) error {
	f.resize()
	loads := map[string]load{}
	for _, o := range f.out {
		l := loads[o.task.Queue()]
		loads[o.task.Queue()] = load{l.tasks + 1, l.ns + o.task.CostNs}
	}
	for _, ln := range f.sweeps {
		// What is stored is confirmed soon, so that a worker that computes wrong does
		// not go on for long; but in tasks of full size while there are others.
		if ln.checks != nil {
			if _, err := f.feedFrom(ctx, ln, ln.checks, true, loads); err != nil {
				return err
			}
		}
		if halted {
			continue
		}
		more, err := f.feedFrom(ctx, ln, ln.plan, false, loads)
		if err != nil {
			return err
		}
		if ln.checks != nil && !more {
			if _, err := f.feedFrom(ctx, ln, ln.checks, false, loads); err != nil {
				return err
			}
		}
	}
	return nil
}

// feedFrom gives out tasks of a planner as long as the queue has room for them.
// It reports whether there was more.
func (f *Feeder) feedFrom(ctx context.Context, ln *lane, p *planner, whole bool, loads map[string]load) (more bool, err error) {
	q := ln.sweep.Queue()
	slots := max(f.slots[q], 1)
	open := ln.open
	if p == ln.checks {
		open = ln.checkOpen
	}
	var tasks []jobs.Task
	given := 0.0
	more = true
	for f.room(loads[q], slots) {
		s, cost, ok, err := p.next(target(open-given, slots), whole)
		if err != nil {
			return false, jobs.Lasting(fmt.Errorf("plan sweep %s: %w", ln.sweep.Name, err))
		}
		if !ok {
			more = false
			break
		}
		given += cost
		tasks = append(tasks, p.task(f.run.ID, f.run.Rev, s, cost))
		loads[q] = load{loads[q].tasks + 1, loads[q].ns + cost}
	}
	return more, f.give(ctx, ln, tasks)
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
		f.out[t.ID()] = &outstanding{lane: ln, plan: ln.planOf(t), task: t, given: now}
	}
	if err := f.store.PutTasks(ctx, f.run.ID, tasks); err != nil {
		return f.takeBack(ln, tasks, err)
	}
	errs := make([]error, len(tasks))
	abreast(len(tasks), func(i int) { errs[i] = f.queue.Enqueue(ctx, tasks[i]) })
	var err error
	var failed []jobs.Task
	for i, e := range errs {
		if e != nil {
			err, failed = e, append(failed, tasks[i])
		}
	}
	return f.takeBack(ln, failed, err)
}

// takeBack frees the cells of tasks that may not have reached asynq, and
// returns err.
func (f *Feeder) takeBack(ln *lane, tasks []jobs.Task, err error) error {
	for _, t := range tasks {
		delete(f.out, t.ID())
		ln.planOf(t).giveBack(stretchOf(ln.sweep, t))
	}
	return err
}

// abreast calls do for 0 … n−1 from a few goroutines and waits for them: each
// call is a round trip, and asynq has none for several tasks.
func abreast(n int, do func(i int)) {
	var all sync.WaitGroup
	for c := range min(callers, n) {
		all.Go(func() {
			for i := c; i < n; i += callers {
				do(i)
			}
		})
	}
	all.Wait()
}
