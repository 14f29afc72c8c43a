package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Reasons for ending a task early. None is the task's fault.
var (
	errDrain    = errors.New("worker is draining")
	errUnwanted = errors.New("run does not want the task any more")
	errExpelled = errors.New("nothing is taken from this worker any more")
)

// job is one task in execution. Its fields are set before its goroutines start;
// the fraction and the state box are shared with the heartbeat.
type job struct {
	worker *Worker
	task   jobs.Task
	log    *slog.Logger
	lines  *lines // the last ones of log
	share  int    // seats that it takes

	waiting  atomic.Bool   // for a seat
	fraction atomic.Uint64 // math.Float64bits
	state    stateBox
}

// run computes the task and tells the scheduler how it ended.
func (j *job) run(ctx context.Context) {
	if j.worker.opts.Self.Among(j.task.Not) {
		j.log.Debug("handing back a task about a value of this worker")
		j.farewell(ctx, jobs.Beat{Ended: true})
		return
	}
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	seated := j.worker.seats.try(j.share)
	j.waiting.Store(!seated)
	if !j.beat(ctx, cancel) {
		if seated {
			j.worker.seats.give(j.share)
		}
		if errors.Is(context.Cause(ctx), errExpelled) {
			// The run goes on: others are to have the task at once.
			j.farewell(context.WithoutCancel(ctx), jobs.Beat{Ended: true})
		}
		return
	}
	var side sync.WaitGroup
	done := make(chan struct{})
	side.Go(func() { j.heart(ctx, cancel, done) })
	err := j.sit(ctx, cancel)
	close(done)
	side.Wait()

	last := jobs.Beat{Ended: true, Fraction: math.Float64frombits(j.fraction.Load())}
	cause, outcome := context.Cause(ctx), Done
	switch {
	case err == nil:
		last.Fraction = 1
		j.log.Debug("task done")
	case ctx.Err() != nil, errors.Is(err, errDrain), errors.Is(err, errUnwanted), errors.Is(err, context.Canceled):
		// Stopped from outside: what was finished is committed, the rest is
		// given out again.
		outcome = Early
		j.log.Info("task ended early", "cause", cause, "err", err)
	default:
		last.Error, outcome = err.Error()+j.lines.String(), Failed
		j.log.Error("task failed", "err", err)
	}
	if told := j.worker.opts.OnTask; told != nil {
		told(j.task.Engine, outcome, time.Since(began))
	}
	j.farewell(context.WithoutCancel(ctx), last)
}

// sit computes as soon as there is a seat.
func (j *job) sit(ctx context.Context, cancel context.CancelCauseFunc) error {
	if j.waiting.Load() {
		if err := j.worker.seats.take(ctx, j.share); err != nil {
			return context.Cause(ctx)
		}
		j.waiting.Store(false)
		defer j.worker.seats.give(j.share)
		// Should this worker die of the first value, it is known what it was at.
		if !j.beat(ctx, cancel) {
			return errUnwanted
		}
		return j.compute(ctx)
	}
	defer j.worker.seats.give(j.share)
	return j.compute(ctx)
}

// guard turns a panic of an engine into an error, so that one bad n does not
// take the worker's other tasks with it.
func (j *job) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("engine %s panicked: %v%s", j.task.Engine, p, panicStack())
		}
	}()
	return f()
}

func (j *job) compute(ctx context.Context) error {
	t := j.task
	eng, err := j.worker.reg.Get(t.Engine)
	if err != nil {
		return err
	}
	info := eng.Info()
	if info.Version != t.Version || info.Grid.Version != t.Grid {
		return fmt.Errorf("this worker has engine %s with value version %d and grid %d, the task wants %d and %d: use the same release everywhere",
			t.Engine, info.Version, info.Grid.Version, t.Version, t.Grid)
	}
	com := newCommitter(ctx, j)
	defer com.close()
	err = j.guard(func() error {
		if len(t.Points) > 0 {
			return j.computePoints(com, eng)
		}
		return j.computeRange(com, eng, info.Grid)
	})
	if err != nil && !com.wanted() {
		return errUnwanted
	}
	// What is finished is stored whatever ended the computation. A refused commit
	// ends it too, and is the reason then.
	if ferr := com.finish(); err == nil || (ferr != nil && errors.Is(err, context.Canceled)) {
		err = ferr
	}
	return err
}

// computeRange evaluates [Lo, Hi), or as much of it as a check asks for, and cuts
// it into cells.
func (j *job) computeRange(com *committer, eng engine.Engine, grid engine.Grid) error {
	parts := j.task.Parts(grid)
	for i, p := range parts {
		if err := j.computePart(com, eng, grid, p, float64(i)/float64(len(parts)), 1/float64(len(parts))); err != nil {
			return err
		}
	}
	return nil
}

// computePart evaluates one part, which makes up the given share of the task.
func (j *job) computePart(com *committer, eng engine.Engine, grid engine.Grid, part jobs.Part, from, share float64) error {
	t := j.task
	t.Lo, t.Hi = part.Lo, part.Hi
	work, err := eng.Resolve(engine.Work{Algorithm: t.Algorithm, Params: t.Params, Lo: t.Lo, Hi: t.Hi})
	if err != nil {
		return err
	}
	com.trace.uses(work.Algorithm)
	cut, err := newCutter(t, grid)
	if err != nil {
		return err
	}
	sink := j.sink(com.ctx, work, from, share)
	sink.Emit = func(p engine.Piece) error {
		for p.Len() > 0 {
			k, cell, err := cut.take(p)
			if err != nil {
				return err
			}
			if cell != nil {
				if err := com.addCell(*cell); err != nil {
					return err
				}
				j.setFraction(from + share*float64(cell.Cell.Hi-t.Lo)/float64(t.Hi-t.Lo))
			}
			p = p.Slice(k, p.Len())
		}
		return j.stopped(com.ctx)
	}
	if err := eng.Compute(com.ctx, work, sink); err != nil {
		return err
	}
	return cut.complete()
}

// computePoints evaluates the task's points one by one.
func (j *job) computePoints(com *committer, eng engine.Engine) error {
	t := j.task
	for i, n := range t.Points {
		work, err := eng.Resolve(engine.Work{Algorithm: t.Algorithm, Params: t.Params, Lo: n, Hi: n + 1})
		if err != nil {
			return err
		}
		com.trace.uses(work.Algorithm)
		got := 0
		var value engine.Int128
		sink := j.sink(com.ctx, work, float64(i)/float64(len(t.Points)), 1/float64(len(t.Points)))
		sink.Emit = func(p engine.Piece) error {
			if p.Len() > 0 {
				value = p.At(0)
				got += p.Len()
			}
			return nil
		}
		if err := eng.Compute(com.ctx, work, sink); err != nil {
			return err
		}
		if got != 1 {
			return fmt.Errorf("engine %s gave %d values for n = %d", t.Engine, got, n)
		}
		if err := com.addPoint(jobs.NewPoint(n, value)); err != nil {
			return err
		}
		j.setFraction(float64(i+1) / float64(len(t.Points)))
		if err := j.stopped(com.ctx); err != nil {
			return err
		}
	}
	return nil
}

// sink returns a sink without Emit for one work that makes up the given share
// of the task.
func (j *job) sink(ctx context.Context, w engine.Work, from, share float64) engine.Sink {
	key := fmt.Sprintf("%s:%d-%d", j.task.Sweep, w.Lo, w.Hi)
	if j.task.Check > 0 {
		key += "=" // a second computation takes nothing over from the first
	}
	return engine.Sink{
		Progress: func(f float64) { j.setFraction(from + share*f) },
		Load: func() []byte {
			b, err := j.worker.store.LoadState(ctx, j.task.Run, key)
			if err != nil && ctx.Err() == nil {
				j.log.Warn("saved state not read, starting anew", "key", key, "err", err)
			}
			j.state.loaded(key, len(b) > 0)
			return b
		},
		Save: func(b []byte) { j.state.put(key, b) },
		Warn: func(msg string) { j.log.Warn(msg) },
	}
}

// stopped returns why the task must end now, or nil.
func (j *job) stopped(ctx context.Context) error {
	select {
	case <-j.worker.drain:
		return errDrain
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

func (j *job) setFraction(f float64) { j.fraction.Store(math.Float64bits(f)) }
