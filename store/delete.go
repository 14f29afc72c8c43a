package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// Delete removes a run. Manifest and name go first, in one step, so that from
// then on nothing is written to the run; its other keys follow. A deletion
// that was broken off is finished by the next call of Delete, Create or
// Replace. Deleting what is gone is no error.
func (s *Store) Delete(ctx context.Context, id jobs.RunID) error {
	err := scriptBury.Run(ctx, s.client, []string{keyRuns, keysOf(id).manifest(), keyGraves}, id.Name, id.Epoch).Err()
	if err == nil {
		err = s.Bury(ctx)
	}
	if err != nil {
		return fmt.Errorf("delete run %s: %w", id.Name, err)
	}
	return nil
}

// gravePattern is name.epoch. Anything else in the list of graves is not
// trusted to build a pattern for deletion from.
var gravePattern = regexp.MustCompile(`^([a-z0-9][a-z0-9._-]{0,63})\.([A-Za-z0-9]{1,32})$`)

// Bury removes the keys of epochs that were deleted or replaced. It looks at
// every key of the server, in small steps, when there is such an epoch, else at
// none. An epoch that has its name and its manifest is alive, whatever the list
// of graves says: a Redis that lost the end of its append-only file may have
// the one without the other.
func (s *Store) Bury(ctx context.Context) error {
	graves, err := s.client.SMembers(ctx, keyGraves).Result()
	if err != nil {
		return fmt.Errorf("remove the rest of deleted runs: %w", err)
	}
	for _, g := range graves {
		m := gravePattern.FindStringSubmatch(g)
		if m != nil {
			id := jobs.RunID{Name: m[1], Epoch: m[2]}
			var alive bool
			if alive, err = s.alive(ctx, id); err == nil && !alive {
				err = s.unlinkAll(ctx, keysOf(id))
			}
		}
		if err == nil {
			err = s.client.SRem(ctx, keyGraves, g).Err()
		}
		if err != nil {
			return fmt.Errorf("remove the rest of deleted run %s: %w", g, err)
		}
	}
	return nil
}

// alive reports whether an epoch has its name and its manifest.
func (s *Store) alive(ctx context.Context, id jobs.RunID) (bool, error) {
	pipe := s.client.TxPipeline()
	epoch := pipe.HGet(ctx, keyRuns, id.Name)
	there := pipe.Exists(ctx, keysOf(id).manifest())
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	return epoch.Val() == id.Epoch && there.Val() == 1, nil
}

// unlinkAll removes every key of an epoch, batch by batch.
func (s *Store) unlinkAll(ctx context.Context, k runKeys) error {
	const batch = 1000
	for cursor := uint64(0); ; {
		keys, next, err := s.client.Scan(ctx, cursor, k.pattern(), batch).Result()
		if err != nil {
			return err
		}
		for len(keys) > 0 {
			n := min(len(keys), batch)
			if err := s.client.Unlink(ctx, keys[:n]...).Err(); err != nil {
				return err
			}
			keys = keys[n:]
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
