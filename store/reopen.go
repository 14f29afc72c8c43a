package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

//go:embed lua/reopen.lua
var luaReopen string

var scriptReopen = redis.NewScript(luaReopen)

// reopenBatch is how many cells or points one script call opens.
const reopenBatch = 2048

// Reopen takes finished cells, by grid index, and finished points of a sweep
// for not finished, because what is stored of them does not hold. Their bits,
// CRCs and claims go; the values stay until new ones are committed. The run has
// no result afterwards and a new revision, and is running if it was complete or
// halted; a paused, failed or cancelled one waits for whoever makes it go on. With
// neither cells nor points only that happens.
//
// Cells that are open already stay so, and a call that failed may be repeated.
// The cost is one round trip for each 2048 cells or points, and a reading of all
// ledgers of the run for its counters.
//
// Errors: jobs.ErrFenced when the run or its sweep is gone, others when the
// store fails.
func (s *Store) Reopen(ctx context.Context, id jobs.RunID, sweep string, cells, points []int64) error {
	if _, err := s.reopen(ctx, id, sweep, cells, points); err != nil {
		return fmt.Errorf("open cells of %s of run %s again: %w", sweep, id.Name, err)
	}
	return nil
}

// reopen is Reopen without words; it returns by how much it has raised the run's
// revision.
func (s *Store) reopen(ctx context.Context, id jobs.RunID, sweep string, cells, points []int64) (raised int64, err error) {
	k := keysOf(id)
	keys := []string{k.manifest(), k.clips(sweep), k.disputes(sweep), k.points(sweep), k.pointCRCs(sweep)}
	for first := true; first || len(cells)+len(points) > 0; first = false {
		someCells := cells[:min(len(cells), reopenBatch)]
		somePoints := points[:min(len(points), reopenBatch)]
		cells, points = cells[len(someCells):], points[len(somePoints):]
		args := []any{sweep, k.prefix, len(someCells)}
		for _, i := range someCells {
			args = append(args, i/ChunkCells, i%ChunkCells)
		}
		for _, n := range somePoints {
			args = append(args, n)
		}
		r, err := s.run(ctx, scriptReopen, id, keys, args...)
		if err != nil {
			return raised, err
		}
		if r.word == "nosweep" {
			return raised, fmt.Errorf("%w: the run has no sweep %s now", jobs.ErrFenced, sweep)
		}
		raised++
	}
	fields, err := s.client.HMGet(ctx, k.manifest(), manifestFields...).Result()
	if err != nil {
		return raised, err
	}
	run, ok, err := decodeRun(id, fields)
	if err != nil {
		return raised, err
	}
	if !ok {
		return raised, jobs.ErrFenced
	}
	return raised, s.recount(ctx, run.Manifest)
}
