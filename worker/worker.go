package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Store is what a worker needs of the store. All methods are safe for
// concurrent use.
type Store interface {
	// Time is the store's clock.
	Time(ctx context.Context) (time.Time, error)
	// Commit stores or confirms cells; see jobs.ErrFenced, jobs.ErrQuarantined and
	// *jobs.StateError.
	Commit(ctx context.Context, c jobs.Commit) (jobs.Committed, error)
	// Beat stores a sign of life and returns the run's state.
	Beat(ctx context.Context, run jobs.RunID, b jobs.Beat) (jobs.State, error)
	// Outstanding reports whether the scheduler still waits for the task.
	Outstanding(ctx context.Context, run jobs.RunID, task string) (bool, error)
	// Expelled reports whether the run takes nothing from the worker any more.
	Expelled(ctx context.Context, run jobs.RunID, worker string) (bool, error)
	// SaveState, LoadState and DropState keep an engine's intermediate state.
	SaveState(ctx context.Context, run jobs.RunID, key string, state []byte) error
	LoadState(ctx context.Context, run jobs.RunID, key string) ([]byte, error)
	DropState(ctx context.Context, run jobs.RunID, key string) error
	// Hello registers the worker or renews it, Goodbye takes it off the list.
	Hello(ctx context.Context, w jobs.Worker) error
	Goodbye(ctx context.Context, id string) error
}

// Options are a worker's settings. The zero value of a duration stands for the
// default in its comment.
type Options struct {
	// Self is how the worker introduces itself. ID must be unique. Slots is how
	// many tasks compute at a time, 1.
	Self jobs.Worker
	// BeatEvery is the interval of heartbeats, 5 s. It must be well below the
	// silence after which the scheduler gives a task out again (35 s).
	BeatEvery time.Duration
	// CommitEvery is the longest time finished cells wait for their commit,
	// 500 ms. A kill loses at most this and the commit under way.
	CommitEvery time.Duration
	// SaveEvery is the interval at which an engine's state is saved, 30 s.
	SaveEvery time.Duration
	// FlushTimeout bounds the last commit of a task that was told to stop, 10 s.
	FlushTimeout time.Duration
	// DrainTimeout bounds how long running tasks may take to end once the
	// worker is told to stop, 30 s. An engine that heeds its context returns
	// within a tenth of a second; one that does not is left behind, and its
	// task is given out again.
	DrainTimeout time.Duration
	// MaxSkew is the largest difference between this machine's clock and the
	// store's, 10 s: asynq's leases use local clocks.
	MaxSkew time.Duration
	// OnTask, if set, is told how each task ended that the worker took up, and
	// after how long: Done, Early or Failed.
	OnTask func(engine, outcome string, took time.Duration)
	// OnCommit, if set, is told of each commit that the store took, of so many
	// values. Both are called from the tasks' goroutines and must not block.
	OnCommit func(engine string, values int64, c jobs.Committed)
	Log      *slog.Logger
}

// How a task ends for its worker.
const (
	Done   = "done"   // all its cells are computed and stored
	Early  = "early"  // stopped from outside; what is left is given out again
	Failed = "failed" // its engine could not go on, or the store refused what it had
)

// HandBack is the shutdown timeout for asynq's server under Run, which has
// waited for the tasks before: what asynq still has then is given back to its
// queue.
const HandBack = 2 * time.Second

// ErrSkew is wrapped by the error of a worker whose clock is off.
var ErrSkew = errors.New("clock differs from Redis")

func (o *Options) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	o.Self.Slots = max(o.Self.Slots, 1)
	set(&o.BeatEvery, 5*time.Second)
	set(&o.CommitEvery, 500*time.Millisecond)
	set(&o.SaveEvery, 30*time.Second)
	set(&o.FlushTimeout, 10*time.Second)
	set(&o.DrainTimeout, 30*time.Second)
	set(&o.MaxSkew, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Worker handles the tasks that an asynq server hands it. It is safe for
// concurrent use.
type Worker struct {
	store Store
	reg   *engine.Registry
	opts  Options

	seats    *seats
	drain    chan struct{} // closed when running tasks are to end early
	drainErr sync.Once
	expelled chan error // capacity 1: why nothing is taken from this worker

	mu      sync.Mutex
	left    *sync.Cond       // a handler ended
	running map[string]int   // handlers by task ID, also those asynq gave up on
	numbers map[string]int64 // tasks that committed, by run and sweep
	served  []jobs.RunID     // of the latest tasks
}

// New returns a worker over the engines of the registry.
func New(store Store, reg *engine.Registry, opts Options) *Worker {
	opts.defaults()
	w := &Worker{store: store, reg: reg, opts: opts, drain: make(chan struct{}), expelled: make(chan error, 1), seats: newSeats(opts.Self.Slots), running: map[string]int{}, numbers: map[string]int64{}}
	w.left = sync.NewCond(&w.mu)
	return w
}

// Server is the part of *asynq.Server that Run needs.
type Server interface {
	Start(asynq.Handler) error
	Stop()
	Shutdown()
}

// Run takes tasks from the server until ctx ends or the clock runs off. Then
// it takes no more, lets the running tasks commit what they have, waits for
// them up to DrainTimeout and says goodbye. It returns nil after such a drain,
// also when ctx ended before it had begun, and an error when it could not start,
// the clock is off, or a run has put the worker into quarantine
// (jobs.ErrQuarantined), which ends it in the same way. A handler whose engine
// ignores its context may outlive Run; the process is expected to end.
func (w *Worker) Run(ctx context.Context, srv Server) error {
	if err := w.present(ctx); err != nil {
		if ctx.Err() == nil {
			return err
		}
		w.bye(ctx) // it may be on the list already
		return nil
	}
	if err := srv.Start(w); err != nil {
		return fmt.Errorf("start taking tasks: %w", err)
	}
	err := w.greet(ctx)
	srv.Stop()
	w.Drain()
	if !w.await(w.opts.DrainTimeout) {
		w.opts.Log.Warn("tasks did not end in time and are left behind", "waited", w.opts.DrainTimeout)
	}
	srv.Shutdown()
	w.bye(ctx)
	return err
}

// bye takes the worker off the store's list, also when ctx has ended.
func (w *Worker) bye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opts.FlushTimeout)
	defer cancel()
	if err := w.store.Goodbye(ctx, w.opts.Self.ID); err != nil {
		w.opts.Log.Warn("goodbye failed", "err", err)
	}
}

// present checks the clock and puts the worker on the store's list.
func (w *Worker) present(ctx context.Context) error {
	if err := w.checkClock(ctx); err != nil {
		return err
	}
	if err := w.store.Hello(ctx, w.opts.Self); err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	return nil
}

// expel ends Run: a worker that computed a wrong value must not go on, for this
// run or another.
func (w *Worker) expel(err error) {
	select {
	case w.expelled <- err:
	default: // it is ending already
	}
}

// maxServed is how many runs a worker asks about when it is idle.
const maxServed = 8

// serves notes that the worker has a task of the run.
func (w *Worker) serves(run jobs.RunID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served = append(slices.DeleteFunc(w.served, func(r jobs.RunID) bool { return r == run }), run)
	if len(w.served) > maxServed {
		w.served = w.served[1:]
	}
}

// checkServed asks whether a run that the worker has computed for takes nothing
// from it any more: one without a task hears so from nothing else.
func (w *Worker) checkServed(ctx context.Context) error {
	w.mu.Lock()
	runs := slices.Clone(w.served)
	w.mu.Unlock()
	for _, run := range runs {
		out, err := w.store.Expelled(ctx, run, w.opts.Self.ID)
		switch {
		case err != nil && ctx.Err() == nil:
			w.opts.Log.Debug("quarantine not read", "run", run.Name, "err", err)
		case out:
			return fmt.Errorf("run %s: %w", run.Name, jobs.ErrQuarantined)
		}
	}
	return nil
}

// greet keeps the worker on the store's list until ctx ends or it is expelled.
func (w *Worker) greet(ctx context.Context) error {
	tick := time.NewTicker(w.opts.BeatEvery)
	defer tick.Stop()
	checked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.expelled:
			return err
		case <-tick.C:
		}
		if err := w.store.Hello(ctx, w.opts.Self); err != nil && ctx.Err() == nil {
			w.opts.Log.Warn("heartbeat of the worker failed", "err", err)
		}
		if err := w.checkServed(ctx); err != nil {
			return err
		}
		if time.Since(checked) < time.Minute {
			continue
		}
		checked = time.Now()
		if err := w.checkClock(ctx); errors.Is(err, ErrSkew) {
			return err
		}
	}
}

func (w *Worker) checkClock(ctx context.Context) error {
	before := time.Now()
	t, err := w.store.Time(ctx)
	if err != nil {
		return fmt.Errorf("ask for the store's clock: %w", err)
	}
	// The reply was made at some moment of the call: only a difference beyond
	// both ends of it is real.
	after := time.Now()
	off := max(before.Sub(t), t.Sub(after))
	if off > w.opts.MaxSkew {
		return fmt.Errorf("%w by %s, at most %s is allowed: set this machine's clock (NTP)", ErrSkew, off.Round(time.Second), w.opts.MaxSkew)
	}
	return nil
}

// Drain tells running tasks to commit what they have and end. It does not wait.
func (w *Worker) Drain() { w.drainErr.Do(func() { close(w.drain) }) }

// ProcessTask computes one task. It returns an error, and so lets asynq keep
// the task in its archive, only for a payload that no scheduler of this
// version wrote; everything else is told to the scheduler through the beat.
//
// It does not end when ctx does. asynq ends the context of a task whose lease
// it could not prolong, as in an outage of Redis, but what is computed is as good
// as before: the ledger decides what is taken, and Drain ends what must end.
func (w *Worker) ProcessTask(ctx context.Context, at *asynq.Task) error {
	t, err := jobs.DecodeTask(at.Payload())
	if err != nil {
		w.opts.Log.Error("task refused", "err", err)
		return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
	}
	log := w.opts.Log.With("task", t.ID())
	defer w.leave(t.ID())
	if w.enter(t.ID()) > 1 {
		// asynq lost the lease and gave the task out again, to this worker of all.
		log.Debug("task is being computed here already")
		return nil
	}
	select {
	case <-w.drain:
		return nil // given out again by the scheduler, which sees no beat
	default:
	}
	// A task the scheduler no longer waits for was given out again under
	// another ID, or its run ended: computing it would be wasted.
	if live, err := w.store.Outstanding(ctx, t.Run, t.ID()); err != nil || !live {
		log.Debug("task skipped", "outstanding", live, "err", err)
		return err // nil, or asynq tries the transport again
	}
	w.serves(t.Run)
	log, last := logged(log)
	j := &job{worker: w, task: t, log: log, lines: last, share: w.seats.want(t.Alone)}
	j.run(context.WithoutCancel(ctx))
	return nil
}

// enter notes a handler and returns how many there are for the task.
func (w *Worker) enter(task string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[task]++
	return w.running[task]
}

func (w *Worker) leave(task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[task]--; w.running[task] == 0 {
		delete(w.running, task)
	}
	w.left.Broadcast()
}

// await waits until no handler is running, for at most d, and reports whether
// that came about.
func (w *Worker) await(d time.Duration) bool {
	late := false
	t := time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.left.Broadcast()
	})
	defer t.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.running) > 0 && !late {
		w.left.Wait()
	}
	return len(w.running) == 0
}
