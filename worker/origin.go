package worker

import (
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// tracer keeps the origin of what a task commits. It belongs to the goroutine
// of the engine.
type tracer struct {
	origin jobs.Origin
	number func() int64 // gives the task its number when it first commits
}

func newTracer(j *job) *tracer {
	t := j.task
	return &tracer{
		origin: jobs.Origin{Worker: j.worker.opts.Self, Seq: -1, Attempt: t.Attempt, Began: time.Now(), Second: t.Check > 0},
		number: func() int64 { return j.worker.number(t.Run, t.Sweep) },
	}
}

// uses notes the algorithm that computes what comes next.
func (t *tracer) uses(algorithm string) {
	if algorithm == "" {
		algorithm = "unknown" // a resolved work names one; a note is no reason to fail
	}
	t.origin.Algorithm = algorithm
}

// cell notes that [lo, hi) is computed, point that one n is.
func (t *tracer) cell(lo, hi int64) {
	if t.origin.Lo == 0 {
		t.origin.Lo = lo
	}
	t.origin.Hi = hi
}

func (t *tracer) point(n int64) {
	t.cell(n, n+1)
	t.origin.Points++
}

// note returns the origin of all that is computed so far.
func (t *tracer) note() *jobs.Origin {
	if t.origin.Seq < 0 {
		t.origin.Seq = t.number()
	}
	o := t.origin
	o.Took = time.Since(o.Began).Truncate(time.Millisecond)
	return &o
}

// number counts the tasks of a sweep that commit here, from 0.
func (w *Worker) number(run jobs.RunID, sweep string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := run.String() + ":" + sweep
	n := w.numbers[key]
	w.numbers[key] = n + 1
	return n
}
