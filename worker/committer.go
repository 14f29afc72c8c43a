package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// commitBytes is how much a commit holds at most, but for a single cell.
const commitBytes = 1 << 20

// committer stores finished cells in the background while the engine goes on.
// One batch is being filled by the engine's goroutine, at most one waits and
// one is under way, so a slow store slows the engine instead of filling memory.
type committer struct {
	ctx    context.Context // ends the computation; cancelled when a commit is refused
	cancel context.CancelCauseFunc
	job    *job

	trace *tracer
	batch jobs.Commit
	bytes int
	since time.Time // when the first cell of the batch was added

	queue    chan jobs.Commit
	sender   sync.WaitGroup
	err      atomic.Pointer[error]
	unwanted atomic.Bool
	closed   bool
}

func newCommitter(ctx context.Context, j *job) *committer {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &committer{ctx: ctx, cancel: cancel, job: j, trace: newTracer(j), queue: make(chan jobs.Commit, 1)}
	c.reset()
	c.sender.Go(func() {
		for b := range c.queue {
			c.send(b)
		}
	})
	return c
}

func (c *committer) reset() {
	t := c.job.task
	c.batch = jobs.Commit{Run: t.Run, Sweep: t.Sweep, Keep: t.Keep, Rev: t.Rev, Worker: c.job.worker.opts.Self.ID, Check: t.Check > 0}
	c.bytes = 0
}

func (c *committer) addCell(v jobs.CellValues) error {
	// Before the cell, so that a batch stays below commitBytes and is of
	// neighbours.
	k := len(c.batch.Cells)
	if c.bytes > 0 && (c.bytes+len(v.Data) > commitBytes || k > 0 && c.batch.Cells[k-1].Cell.Index+1 != v.Cell.Index) {
		c.enqueue()
	}
	c.batch.Cells = append(c.batch.Cells, v)
	c.trace.cell(v.Cell.Lo, v.Cell.Hi)
	return c.added(len(v.Data))
}

func (c *committer) addPoint(p jobs.PointValue) error {
	c.batch.Points = append(c.batch.Points, p)
	c.trace.point(p.N)
	return c.added(48)
}

func (c *committer) added(bytes int) error {
	if c.bytes == 0 {
		c.since = time.Now()
	}
	c.bytes += bytes
	switch {
	case c.bytes >= commitBytes:
		c.enqueue()
	case time.Since(c.since) >= c.job.worker.opts.CommitEvery:
		// Not at the price of waiting: in an outage the engine goes on until
		// there is no room.
		select {
		case c.queue <- c.noted():
			c.reset()
		default:
		}
	}
	return c.failure()
}

// enqueue hands the batch to the sender, waiting while it is busy.
func (c *committer) enqueue() {
	c.queue <- c.noted()
	c.reset()
}

// noted returns the batch with its origin.
func (c *committer) noted() jobs.Commit {
	c.batch.Origin = c.trace.note()
	return c.batch
}

// finish stores what is left and waits until everything is stored or refused.
func (c *committer) finish() error {
	if c.bytes > 0 {
		c.enqueue()
	}
	c.close()
	return c.failure()
}

// close ends the sender. It is safe to call again.
func (c *committer) close() {
	if !c.closed {
		c.closed = true
		close(c.queue)
		c.sender.Wait()
		c.cancel(nil)
	}
}

func (c *committer) failure() error {
	if e := c.err.Load(); e != nil {
		return *e
	}
	return nil
}

// wanted reports whether the run still takes commits.
func (c *committer) wanted() bool { return !c.unwanted.Load() }

// send stores one batch. It tries again while the store is out of reach and
// the task goes on; once the task is told to end, for FlushTimeout.
func (c *committer) send(b jobs.Commit) {
	if c.failure() != nil {
		return
	}
	o := c.job.worker.opts
	out := context.WithoutCancel(c.ctx)
	var deadline time.Time
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		try, cancel := context.WithTimeout(out, o.FlushTimeout)
		res, err := c.job.worker.store.Commit(try, b)
		cancel()
		var state *jobs.StateError
		switch {
		case err == nil:
			if len(res.Disputed) > 0 {
				c.job.log.Error("cells disputed: stored values differ from these", "n", res.Disputed)
			}
			if o.OnCommit != nil {
				o.OnCommit(c.job.task.Engine, b.Values(), res)
			}
			return
		case errors.Is(err, jobs.ErrQuarantined):
			c.job.worker.expel(err)
			c.unwanted.Store(true)
			c.fail(errUnwanted)
			return
		case errors.Is(err, jobs.ErrFenced), errors.As(err, &state):
			c.unwanted.Store(true)
			c.fail(errUnwanted)
			return
		case jobs.IsLasting(err):
			c.fail(err)
			return
		}
		if c.ctx.Err() != nil {
			if deadline.IsZero() {
				deadline = time.Now().Add(o.FlushTimeout)
			} else if time.Now().After(deadline) {
				c.fail(err)
				return
			}
		}
		c.job.log.Warn("commit failed, trying again", "err", err, "in", wait)
		pause(c.ctx, wait)
	}
}

func (c *committer) fail(err error) {
	c.err.CompareAndSwap(nil, &err)
	c.cancel(err)
}

// pause waits for d, or for a moment when ctx has ended already.
func pause(ctx context.Context, d time.Duration) {
	if ctx.Err() != nil {
		d = min(d, 200*time.Millisecond)
		ctx = context.WithoutCancel(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
