package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"
)

// taskTimeout replaces asynq's 30 minutes: one n can take days, and a task that
// hangs is found by its heartbeat. asynq has no way to say "none".
const taskTimeout = 30 * 24 * time.Hour

// NewTask returns the asynq task for t with every option set, so that none of
// asynq's defaults applies unseen.
func NewTask(t Task) *asynq.Task {
	return asynq.NewTask(TaskKind, t.Encode(),
		asynq.TaskID(t.ID()),
		asynq.Queue(t.Queue()),
		asynq.Timeout(taskTimeout),
		// Retries are for transport: what a worker could not compute is noted
		// in the ledger's own failures and never returned as an error.
		asynq.MaxRetry(1000),
	)
}

// ServerConfig returns asynq's configuration for a worker of the given slots
// on the given queues with their weights. Leases, janitor and retry intervals
// are asynq's own; the ones below are those whose defaults would hurt.
func ServerConfig(queues map[string]int, slots int, drain time.Duration, log *slog.Logger) asynq.Config {
	return asynq.Config{
		Concurrency: slots,
		Queues:      queues,
		// An idle queue is asked this often; asynq adds half of it as jitter.
		TaskCheckInterval:        50 * time.Millisecond,
		DelayedTaskCheckInterval: time.Second,
		ShutdownTimeout:          drain,
		// Losing a lease is the fate of the worker or of Redis, not of the
		// task, so it never counts as a retry.
		IsFailure:      func(err error) bool { return errors.Is(err, asynq.SkipRetry) },
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Second },
		Logger:         asynqLog{log},
		LogLevel:       asynq.DebugLevel, // slog filters
	}
}

// asynqLog hands asynq's messages to slog one level lower than asynq ranks
// them: what matters to users is reported by nsweep itself.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) put(level slog.Level, args []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "asynq: "+fmt.Sprint(args...))
	}
}

func (l asynqLog) Debug(args ...any) { l.put(slog.LevelDebug-4, args) }
func (l asynqLog) Info(args ...any)  { l.put(slog.LevelDebug, args) }
func (l asynqLog) Warn(args ...any)  { l.put(slog.LevelInfo, args) }
func (l asynqLog) Error(args ...any) { l.put(slog.LevelWarn, args) }

// Fatal only logs: asynq calls it for nothing that nsweep does not notice
// itself, and exiting is main's business.
func (l asynqLog) Fatal(args ...any) { l.put(slog.LevelError, args) }

// QueueState says where asynq has a task.
type QueueState int

// The states of a task in asynq that make a difference here.
const (
	NotQueued QueueState = iota // unknown to asynq
	Waiting                     // pending, scheduled or to be retried
	Active                      // a worker has taken it, or asynq believes so
	Dead                        // archived or retained: it will not run again
)

// Transport gives tasks to asynq and asks about them. It is safe for
// concurrent use.
type Transport struct {
	client    *asynq.Client
	inspector *asynq.Inspector
}

// NewTransport returns a transport over asynq's client and inspector, which
// stay the caller's.
func NewTransport(c *asynq.Client, i *asynq.Inspector) *Transport { return &Transport{c, i} }

// Enqueue gives out a task. That a task of this ID exists already is no error:
// the reply to an earlier call may have been lost.
func (t *Transport) Enqueue(ctx context.Context, task Task) error {
	_, err := t.client.EnqueueContext(ctx, NewTask(task))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return fmt.Errorf("enqueue %s: %w", task.ID(), err)
	}
	return nil
}

// State asks where the task is.
func (t *Transport) State(task Task) (QueueState, error) {
	info, err := t.inspector.GetTaskInfo(task.Queue(), task.ID())
	switch {
	case errors.Is(err, asynq.ErrTaskNotFound), errors.Is(err, asynq.ErrQueueNotFound):
		return NotQueued, nil
	case err != nil:
		return NotQueued, fmt.Errorf("look up %s: %w", task.ID(), err)
	}
	switch info.State {
	case asynq.TaskStateActive:
		return Active, nil
	case asynq.TaskStateArchived, asynq.TaskStateCompleted:
		return Dead, nil
	default:
		return Waiting, nil
	}
}

// Withdraw deletes a task that no worker has taken. A task that is active or
// gone is left alone: the ledger makes what it commits harmless.
func (t *Transport) Withdraw(task Task) error {
	err := t.inspector.DeleteTask(task.Queue(), task.ID())
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return nil
	}
	if s, serr := t.State(task); serr == nil && s == Active {
		return nil
	}
	return fmt.Errorf("withdraw %s: %w", task.ID(), err)
}

// HaltError is what a check returns to stop a run for good: a checkpoint that
// does not hold, or stored values that are damaged.
type HaltError struct{ Err error }

func (e *HaltError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *HaltError) Unwrap() error { return e.Err }
