package store

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nsweep/nsweep/jobs"
)

// Status returns the state of a run and the revision of its plan, in one round
// trip of a few bytes. The error is jobs.ErrFenced when the epoch is gone.
func (s *Store) Status(ctx context.Context, id jobs.RunID) (jobs.State, int64, error) {
	got, err := s.client.HMGet(ctx, keysOf(id).manifest(), "state", "rev").Result()
	if err != nil {
		return "", 0, fmt.Errorf("status of run %s: %w", id.Name, err)
	}
	state, ok := got[0].(string)
	if !ok {
		return "", 0, fmt.Errorf("status of run %s: %w", id.Name, jobs.ErrFenced)
	}
	text, _ := got[1].(string)
	rev, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("status of run %s: revision %q is no number", id.Name, text)
	}
	return jobs.State(state), rev, nil
}

// Outstanding reports whether the task is on the run's list of tasks that were
// given out. A run that is gone has none.
func (s *Store) Outstanding(ctx context.Context, id jobs.RunID, task string) (bool, error) {
	ok, err := s.client.HExists(ctx, keysOf(id).tasks(), task).Result()
	if err != nil {
		return false, fmt.Errorf("look up task %s: %w", task, err)
	}
	return ok, nil
}
