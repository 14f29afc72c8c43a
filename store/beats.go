package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// workerSilence is how long a worker may be silent before it is forgotten. Only
// tests change it.
var workerSilence = time.Minute

// sender writes a name as one word, for the script to compare.
func sender(name string) string { return "@" + url.QueryEscape(name) }

// Beat notes a worker's sign of life about a task and returns the state of the
// run, so that the worker learns when it should stop. AtMs is set to the
// store's clock; so is StartedMs when it is 0 and this is the worker's first
// beat about the task. The error wraps jobs.ErrFenced when the run is gone, and
// jobs.ErrQuarantined when the beat is noted but the worker must let go of the run.
func (s *Store) Beat(ctx context.Context, id jobs.RunID, b jobs.Beat) (jobs.State, error) {
	k := keysOf(id)
	text, err := json.Marshal(b)
	if err != nil {
		return "", fmt.Errorf("beat of task %s: %w", b.Task, err)
	}
	r, err := s.run(ctx, scriptBeat, id, []string{k.beats(), k.manifest(), k.quarantine()}, b.Task, b.StartedMs, sender(b.Worker), text,
		strconv.Quote(b.Worker))
	if err != nil {
		return "", fmt.Errorf("beat of task %s: %w", b.Task, err)
	}
	return jobs.State(r.text(0)), nil
}

// Beats returns the last beat of every task, in the order of task IDs, and the
// store's clock at that moment.
func (s *Store) Beats(ctx context.Context, id jobs.RunID) ([]jobs.Beat, time.Time, error) {
	key := keysOf(id).beats()
	pipe := s.client.TxPipeline()
	now := pipe.Time(ctx)
	hash := pipe.HGetAll(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, time.Time{}, fmt.Errorf("read the beats of run %s: %w", id.Name, err)
	}
	all := hash.Val()
	beats := make([]jobs.Beat, 0, len(all))
	for _, task := range sorted(all) {
		var b jobs.Beat
		started, at, err := decodeBeat(all[task], &b)
		if err != nil {
			return nil, time.Time{}, jobs.Lasting(fmt.Errorf("key %s, task %s: %w", key, task, err))
		}
		b.StartedMs, b.AtMs = started, at
		beats = append(beats, b)
	}
	return beats, now.Val(), nil
}

// decodeBeat reads "started at sender json".
func decodeBeat(text string, into any) (startedMs, atMs int64, err error) {
	p := strings.SplitN(text, " ", 4)
	if len(p) != 4 {
		return 0, 0, fmt.Errorf("%q is no beat", text)
	}
	if startedMs, err = strconv.ParseInt(p[0], 10, 64); err != nil {
		return 0, 0, err
	}
	if atMs, err = strconv.ParseInt(p[1], 10, 64); err != nil {
		return 0, 0, err
	}
	return startedMs, atMs, json.Unmarshal([]byte(p[3]), into)
}

// DropBeats forgets the beats of tasks.
func (s *Store) DropBeats(ctx context.Context, id jobs.RunID, tasks ...string) error {
	return s.drop(ctx, id, keysOf(id).beats(), tasks)
}

// Hello notes a worker process as alive. AtMs is set to the store's clock, and
// StartedMs too when it is 0 and the worker is new.
func (s *Store) Hello(ctx context.Context, w jobs.Worker) error {
	text, err := json.Marshal(w)
	if err == nil {
		_, err = s.run(ctx, scriptBeat, jobs.RunID{}, []string{keyWorkers}, w.ID, w.StartedMs, sender(w.ID), text)
	}
	if err != nil {
		return fmt.Errorf("note worker %s: %w", w.ID, err)
	}
	return nil
}

// Goodbye forgets a worker process.
func (s *Store) Goodbye(ctx context.Context, worker string) error {
	if err := s.client.HDel(ctx, keyWorkers, worker).Err(); err != nil {
		return fmt.Errorf("forget worker %s: %w", worker, err)
	}
	return nil
}

// Workers returns the living worker processes in the order of their IDs, and
// forgets those that were silent for more than a minute.
func (s *Store) Workers(ctx context.Context) ([]jobs.Worker, error) {
	r, err := s.run(ctx, scriptSilent, jobs.RunID{}, []string{keyWorkers}, workerSilence.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	all := map[string]string{}
	for i := 0; i+1 < len(r.rest); i += 2 {
		all[r.text(i)] = r.text(i + 1)
	}
	workers := make([]jobs.Worker, 0, len(all))
	for _, name := range sorted(all) {
		var w jobs.Worker
		started, at, err := decodeBeat(all[name], &w)
		if err != nil {
			return nil, jobs.Lasting(fmt.Errorf("key %s, worker %s: %w", keyWorkers, name, err))
		}
		w.StartedMs, w.AtMs = started, at
		workers = append(workers, w)
	}
	return workers, nil
}

// Lead takes the lock of the run's leading scheduler for ttl, or renews it,
// and reports whether owner has it. The error wraps jobs.ErrFenced when the run
// is gone. ttl has a resolution of a millisecond.
func (s *Store) Lead(ctx context.Context, id jobs.RunID, owner string, ttl time.Duration) (bool, error) {
	k := keysOf(id)
	r, err := s.run(ctx, scriptLead, id, []string{k.manifest(), k.leader()}, owner, max(ttl.Milliseconds(), 1))
	if err != nil {
		return false, fmt.Errorf("lead run %s: %w", id.Name, err)
	}
	return r.text(0) == "1", nil
}

// Resign gives the lock back if owner has it.
func (s *Store) Resign(ctx context.Context, id jobs.RunID, owner string) error {
	if _, err := s.run(ctx, scriptResign, id, []string{keysOf(id).leader()}, owner); err != nil {
		return fmt.Errorf("resign from run %s: %w", id.Name, err)
	}
	return nil
}

// Leader returns who has the lock, or an empty string.
func (s *Store) Leader(ctx context.Context, id jobs.RunID) (string, error) {
	owner, err := s.client.Get(ctx, keysOf(id).leader()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("ask who leads run %s: %w", id.Name, err)
	}
	return owner, nil
}
