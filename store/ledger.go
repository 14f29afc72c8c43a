package store

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// pipelined is how many small keys one round trip asks for.
const pipelined = 512

// Ledger returns which cells and points of the sweep are finished. It costs
// one round trip for each two million cells. The error wraps jobs.ErrFenced
// when the run is gone.
func (s *Store) Ledger(ctx context.Context, id jobs.RunID, w jobs.Sweep) (*jobs.Ledger, error) {
	fail := func(err error) (*jobs.Ledger, error) {
		return nil, fmt.Errorf("read the ledger of %s of run %s: %w", w.Name, id.Name, err)
	}
	k := keysOf(id)
	first, last := w.Cells()
	l := jobs.NewLedger(first, last)
	for from := first; from < last; {
		lo := from / ChunkCells
		hi := min(lo+pipelined, (last-1)/ChunkCells+1)
		pipe := s.client.Pipeline()
		cmds := make([]*redis.StringCmd, hi-lo)
		for i := range cmds {
			cmds[i] = pipe.Get(ctx, k.done(w.Name, lo+int64(i)))
		}
		// Missing keys are no failure; each command's own error tells.
		_, _ = pipe.Exec(ctx)
		for i, cmd := range cmds {
			bitmap, err := cmd.Result()
			if errors.Is(err, redis.Nil) {
				continue
			}
			key := k.done(w.Name, lo+int64(i))
			if err != nil {
				return fail(fmt.Errorf("key %s: %w", key, err))
			}
			if len(bitmap) != chunkBytes {
				return fail(jobs.Lasting(fmt.Errorf("key %s holds %d bytes instead of %d", key, len(bitmap), chunkBytes)))
			}
			mark(l, (lo+int64(i))*ChunkCells, bitmap)
		}
		from = hi * ChunkCells
	}
	if len(w.Set.Points) > 0 {
		if err := s.markPoints(ctx, k.points(w.Name), w.Set, l); err != nil {
			return fail(err)
		}
	}
	// Asked last: a run that is there now was there all the time, so that
	// missing keys were missing cells.
	there, err := s.client.Exists(ctx, k.manifest()).Result()
	if err != nil {
		return fail(err)
	}
	if there == 0 {
		return fail(jobs.ErrFenced)
	}
	return l, nil
}

// mark notes the set bits of a chunk whose first cell has index base.
func mark(l *jobs.Ledger, base int64, bitmap string) {
	for i := range len(bitmap) {
		for b := bitmap[i]; b != 0; {
			j := bits.LeadingZeros8(b)
			l.Mark(base + int64(8*i+j))
			b &^= 0x80 >> j
		}
	}
}

// markPoints notes the points of the set that have a value. It asks for the
// set's points, not for all that are stored.
func (s *Store) markPoints(ctx context.Context, key string, set jobs.Set, l *jobs.Ledger) error {
	for points := set.Points; len(points) > 0; {
		some := points[:min(len(points), 10*pipelined)]
		points = points[len(some):]
		fields := make([]string, len(some))
		for i, n := range some {
			fields[i] = strconv.FormatInt(n, 10)
		}
		values, err := s.client.HMGet(ctx, key, fields...).Result()
		if err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
		for i, v := range values {
			if v != nil {
				l.MarkPoint(some[i])
			}
		}
	}
	return nil
}

// Counts returns the running counters of all sweeps. They are for display; the
// ledger is what counts.
func (s *Store) Counts(ctx context.Context, id jobs.RunID) (map[string]jobs.Counts, error) {
	key := keysOf(id).counts()
	all, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("read the counters of run %s: %w", id.Name, err)
	}
	counts := map[string]jobs.Counts{}
	for field, text := range all {
		sweep, what, ok := strings.Cut(field, ":")
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !ok {
			return nil, jobs.Lasting(fmt.Errorf("key %s: field %s holds %q", key, field, text))
		}
		c := counts[sweep]
		switch what {
		case "cells":
			c.Cells = v
		case "values":
			c.Values = v
		case "repeated":
			c.Repeated = v
		case "disputed":
			c.Disputed = v
		case "confirmed":
			c.Confirmed = v
		}
		counts[sweep] = c
	}
	return counts, nil
}
