package worker

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// heart beats until done is closed. It ends the computation when the run no
// longer wants it or the worker drains, and saves the engine's state.
func (j *job) heart(ctx context.Context, cancel context.CancelCauseFunc, done <-chan struct{}) {
	o := j.worker.opts
	tick := time.NewTicker(o.BeatEvery)
	defer tick.Stop()
	save := time.NewTicker(o.SaveEvery)
	defer save.Stop()
	drain := j.worker.drain
	for {
		select {
		case <-done:
			j.state.flush(ctx, j, false)
			return
		case <-drain:
			// The engine may be deep in one value: cancelling makes it return
			// within 100 ms. Its last offered state is kept.
			cancel(errDrain)
			drain = nil
		case <-save.C:
			j.state.flush(ctx, j, true)
		case <-tick.C:
			j.beat(ctx, cancel)
		}
	}
}

// beat sends a beat and reports whether the task is still wanted. A beat that
// does not get through changes nothing: silence is the scheduler's to judge.
func (j *job) beat(ctx context.Context, cancel context.CancelCauseFunc) bool {
	// A store that does not answer must not keep the heart from its other duties.
	try, stop := context.WithTimeout(ctx, j.worker.opts.BeatEvery)
	defer stop()
	state, err := j.send(try, jobs.Beat{Fraction: math.Float64frombits(j.fraction.Load()), Waiting: j.waiting.Load()})
	switch {
	case errors.Is(err, jobs.ErrQuarantined):
		j.worker.expel(err)
		cancel(errExpelled)
		return false
	case errors.Is(err, jobs.ErrFenced), err == nil && !state.Accepts():
		cancel(errUnwanted)
		return false
	case err != nil && ctx.Err() == nil:
		j.log.Warn("heartbeat failed", "err", err)
	}
	return true
}

// farewell sends the last beat. While the store is out of reach it tries again,
// so that the scheduler learns at once afterwards what became of the task
// instead of waiting for its silence. A draining worker does so for FlushTimeout.
func (j *job) farewell(ctx context.Context, last jobs.Beat) {
	var deadline time.Time
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		try, stop := context.WithTimeout(ctx, j.worker.opts.FlushTimeout)
		_, err := j.send(try, last)
		stop()
		if err == nil || errors.Is(err, jobs.ErrFenced) || errors.Is(err, jobs.ErrQuarantined) {
			return
		}
		select {
		case <-j.worker.drain:
			if deadline.IsZero() {
				deadline = time.Now().Add(j.worker.opts.FlushTimeout)
			}
		default:
		}
		if jobs.IsLasting(err) || (!deadline.IsZero() && time.Now().After(deadline)) {
			j.log.Warn("last heartbeat given up", "err", err)
			return
		}
		j.log.Warn("last heartbeat failed, trying again", "err", err, "in", wait)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-j.worker.drain:
			t.Stop()
			pause(ctx, 50*time.Millisecond)
		}
	}
}

func (j *job) send(ctx context.Context, b jobs.Beat) (jobs.State, error) {
	b.Task, b.Worker = j.task.ID(), j.worker.opts.Self.ID
	return j.worker.store.Beat(ctx, j.task.Run, b)
}
