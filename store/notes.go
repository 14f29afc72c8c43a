package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// note writes fields of one of a run's hashes, alternating with their values,
// while the run exists.
func (s *Store) note(ctx context.Context, id jobs.RunID, key string, fields ...any) error {
	if len(fields) == 0 {
		return nil
	}
	_, err := s.run(ctx, scriptNote, id, []string{keysOf(id).manifest(), key}, fields...)
	return err
}

// PutTasks notes tasks as given out. The error wraps jobs.ErrFenced when the
// run is gone.
func (s *Store) PutTasks(ctx context.Context, id jobs.RunID, tasks []jobs.Task) error {
	var fields []any
	for _, t := range tasks {
		fields = append(fields, t.ID(), t.Encode())
	}
	if err := s.note(ctx, id, keysOf(id).tasks(), fields...); err != nil {
		return fmt.Errorf("note tasks of run %s: %w", id.Name, err)
	}
	return nil
}

// DropTasks forgets tasks by their IDs.
func (s *Store) DropTasks(ctx context.Context, id jobs.RunID, ids ...string) error {
	return s.drop(ctx, id, keysOf(id).tasks(), ids)
}

// Tasks returns the tasks that are given out, in the order of their IDs.
func (s *Store) Tasks(ctx context.Context, id jobs.RunID) ([]jobs.Task, error) {
	key := keysOf(id).tasks()
	all, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("read the tasks of run %s: %w", id.Name, err)
	}
	tasks := make([]jobs.Task, 0, len(all))
	for _, name := range sorted(all) {
		t, err := jobs.DecodeTask([]byte(all[name]))
		if err != nil {
			return nil, jobs.Lasting(fmt.Errorf("key %s, task %s: %w", key, name, err))
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// AddFailure notes a stretch that could not be computed. A later failure of
// the same stretch takes its place. AtMs is the store's clock when it is 0.
func (s *Store) AddFailure(ctx context.Context, id jobs.RunID, f jobs.Failure) error {
	fail := func(err error) error { return fmt.Errorf("note a failure of run %s: %w", id.Name, err) }
	if f.AtMs == 0 {
		now, err := s.Time(ctx)
		if err != nil {
			return fail(err)
		}
		f.AtMs = now.UnixMilli()
	}
	field := fmt.Sprintf("%s:%d-%d", f.Sweep, f.Lo, f.Hi-1)
	if len(f.Points) > 0 {
		field = fmt.Sprintf("%s:p%d+%d", f.Sweep, f.Points[0], len(f.Points))
	}
	if f.Check {
		field += "="
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = s.note(ctx, id, keysOf(id).failures(), field, text)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// Failures returns all noted failures, by sweep and n.
func (s *Store) Failures(ctx context.Context, id jobs.RunID) ([]jobs.Failure, error) {
	key := keysOf(id).failures()
	all, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("read the failures of run %s: %w", id.Name, err)
	}
	failures := make([]jobs.Failure, 0, len(all))
	for field, text := range all {
		var f jobs.Failure
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			return nil, jobs.Lasting(fmt.Errorf("key %s, field %s: %w", key, field, err))
		}
		failures = append(failures, f)
	}
	first := func(f jobs.Failure) int64 {
		if len(f.Points) > 0 {
			return f.Points[0]
		}
		return f.Lo
	}
	sort.Slice(failures, func(i, j int) bool {
		if a, b := failures[i].Sweep, failures[j].Sweep; a != b {
			return a < b
		}
		return first(failures[i]) < first(failures[j])
	})
	return failures, nil
}

// ClearFailures forgets all failures, so that their cells are tried again.
func (s *Store) ClearFailures(ctx context.Context, id jobs.RunID) error {
	if err := s.client.Del(ctx, keysOf(id).failures()).Err(); err != nil {
		return fmt.Errorf("clear the failures of run %s: %w", id.Name, err)
	}
	return nil
}

// SaveState keeps a state from which a long computation can go on. The error
// wraps jobs.ErrFenced when the run is gone.
func (s *Store) SaveState(ctx context.Context, id jobs.RunID, key string, state []byte) error {
	if err := s.note(ctx, id, keysOf(id).states(), key, state); err != nil {
		return fmt.Errorf("save a state of run %s: %w", id.Name, err)
	}
	return nil
}

// LoadState returns a saved state, or nil.
func (s *Store) LoadState(ctx context.Context, id jobs.RunID, key string) ([]byte, error) {
	state, err := s.client.HGet(ctx, keysOf(id).states(), key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load a state of run %s: %w", id.Name, err)
	}
	return state, nil
}

// DropState forgets a saved state.
func (s *Store) DropState(ctx context.Context, id jobs.RunID, key string) error {
	return s.drop(ctx, id, keysOf(id).states(), []string{key})
}

// drop removes fields of one of a run's hashes.
func (s *Store) drop(ctx context.Context, id jobs.RunID, key string, fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	if err := s.client.HDel(ctx, key, fields...).Err(); err != nil {
		return fmt.Errorf("clear notes of run %s: %w", id.Name, err)
	}
	return nil
}

// sorted returns the names in a map in order.
func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
