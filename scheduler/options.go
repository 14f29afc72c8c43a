package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Store is what the scheduler needs of the store. All methods are safe for
// concurrent use.
type Store interface {
	Run(ctx context.Context, name string) (jobs.Run, error)
	// Runs returns the others beside a *jobs.DamagedError.
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
	// Disputes returns the cells and points of which there are several values,
	// Provenance who committed what.
	Disputes(ctx context.Context, id jobs.RunID, s jobs.Sweep) ([]jobs.Dispute, error)
	Provenance(ctx context.Context, id jobs.RunID, f func(sweep string, o jobs.Origin) error) error
	// Marks returns who stored each cell and who confirmed it.
	Marks(ctx context.Context, id jobs.RunID, s jobs.Sweep) (*jobs.Marks, error)
	// Quarantines returns the workers from which nothing is taken any more, Expel
	// opens again what only such a worker has computed and returns how much; where
	// the run is not at m's revision any more the quarantine is pending afterwards.
	Quarantines(ctx context.Context, m jobs.Manifest) ([]jobs.Quarantine, error)
	Expel(ctx context.Context, m jobs.Manifest, worker string) (int64, error)
	ClearFailures(ctx context.Context, id jobs.RunID) error
	Workers(ctx context.Context) ([]jobs.Worker, error)
	// Lead takes or renews the lock of a run, Resign gives it up.
	Lead(ctx context.Context, id jobs.RunID, owner string, ttl time.Duration) (bool, error)
	Resign(ctx context.Context, id jobs.RunID, owner string) error
	// Leader returns who has the lock, or an empty string.
	Leader(ctx context.Context, id jobs.RunID) (string, error)
	// Incarnation names the server process behind the store. Another name means
	// that the last seconds before may be lost.
	Incarnation(ctx context.Context) (string, error)
}

// Queue is what the scheduler needs of asynq.
type Queue interface {
	Enqueue(ctx context.Context, t jobs.Task) error
	State(t jobs.Task) (jobs.QueueState, error)
	Withdraw(t jobs.Task) error
}

// Checker looks at finished cells: it sums, compares checkpoints and proves
// completeness. The feeder calls it from one goroutine at a time.
type Checker interface {
	// Advance takes a newer ledger of one sweep. A *jobs.HaltError halts the
	// run; another error is tried again with the next ledger.
	Advance(ctx context.Context, sweep string, l *jobs.Ledger) error
	// Finish is called when every cell of the fresh ledgers is done. It
	// returns the result in its stored encoding.
	Finish(ctx context.Context, ledgers map[string]*jobs.Ledger) ([]byte, error)
	// Close is called once, after the last of the others: the run has ended, or
	// is led no more.
	Close()
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
	// Grace is the time after the store was out of reach, or refused to write, in
	// which no silence counts, because no heartbeat could get through, 12 s.
	Grace time.Duration
	// Undecided is how long a dispute that no worker at hand can decide may wait
	// for another worker before the run is halted, 60 s.
	Undecided time.Duration
	// LeadFor is the life of the lock on a run, 10 s.
	LeadFor time.Duration
	// Ahead bounds the work that is outstanding for each slot, beside one task
	// under way and one that waits, 10 s. Another run of the same priority, and
	// what such a run of the highest has given out again, stand behind it.
	Ahead time.Duration
	// MinWindow and PerSlot bound the outstanding tasks: max(MinWindow,
	// PerSlot × slots), 64 and 4; more when they take no time at all.
	MinWindow, PerSlot int
	// MaxCells bounds the cells in one task, 8192.
	MaxCells int64
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
		{&o.Grace, 12 * time.Second}, {&o.LeadFor, 10 * time.Second}, {&o.Ahead, 10 * time.Second},
		{&o.Undecided, time.Minute},
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
	if o.MaxCells == 0 {
		o.MaxCells = maxCells
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}
