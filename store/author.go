package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// Author is who has to do with a cell.
type Author struct {
	// Done says that the cell is finished; else the rest means nothing.
	Done bool
	// By stored the cell, Check confirmed it; without a worker nobody did, or it
	// is not known.
	By, Check jobs.Hand
}

// Author returns who stored the cell with a grid index, and who confirmed it. It
// costs two round trips, whatever the size of the run.
func (s *Store) Author(ctx context.Context, id jobs.RunID, w jobs.Sweep, cell int64) (Author, error) {
	fail := func(err error) (Author, error) {
		return Author{}, fmt.Errorf("read who computed cell %d of %s of run %s: %w", cell, w.Name, id.Name, err)
	}
	k, chunk, place := keysOf(id), cell/ChunkCells, cell%ChunkCells
	pipe := s.client.Pipeline()
	done := pipe.GetBit(ctx, k.done(w.Name, chunk), place)
	by := pipe.GetRange(ctx, k.by(w.Name, chunk), 2*place, 2*place+1)
	check := pipe.GetRange(ctx, k.chk(w.Name, chunk), 2*place, 2*place+1)
	if _, err := pipe.Exec(ctx); err != nil {
		return fail(err)
	}
	// Asked afterwards, so that every number that was read has its name.
	hands, err := s.readNames(ctx, k.hands())
	if err != nil {
		return fail(err)
	}
	m := jobs.NewMarks(cell, cell+1, hands)
	hand := func(text string) jobs.Hand {
		if len(text) != 2 {
			return jobs.Hand{}
		}
		h, _ := m.Hand(binary.BigEndian.Uint16([]byte(text)))
		return h
	}
	return Author{Done: done.Val() == 1, By: hand(by.Val()), Check: hand(check.Val())}, nil
}

// OriginBy returns a note of a task in which a hand stored the n of a range of a
// sweep, or with second confirmed it, and whether there is one. A worker's tasks
// come mostly in the order of n, so that it looks where the note should be and
// goes on from there to both sides: it costs about log₂ b round trips for b
// hundreds of tasks of that worker, and a reading of all of them when the order was
// another one. Where a worker computed the same n twice it returns either note.
func (s *Store) OriginBy(ctx context.Context, id jobs.RunID, sweep string, h jobs.Hand, n int64, second bool) (jobs.Origin, bool, error) {
	o, ok, err := s.originBy(ctx, id, sweep, h, n, second)
	if err != nil {
		err = fmt.Errorf("read the provenance of n = %d of %s of run %s: %w", n, sweep, id.Name, err)
	}
	return o, ok, err
}

func (s *Store) originBy(ctx context.Context, id jobs.RunID, sweep string, h jobs.Hand, n int64, second bool) (found jobs.Origin, ok bool, err error) {
	k, short := keysOf(id), jobs.Worker{ID: h.Worker}.Short()
	known, err := s.client.HMGet(ctx, k.who(), short, sweep+":"+short).Result()
	if err != nil {
		return found, false, err
	}
	text, _ := known[1].(string)
	if text == "" {
		return found, false, nil // it left no note
	}
	tasks, err := tasksOf(k, sweep+":"+short, text)
	if err != nil {
		return found, false, err
	}
	text, _ = known[0].(string)
	worker, err := describe(k, short, text)
	if err != nil {
		return found, false, err
	}
	fits := func(o jobs.Origin) bool {
		return o.Points == 0 && o.Second == second && o.Algorithm == h.Algorithm
	}
	// look reads some buckets. It returns the note, or where the notes that would fit
	// lie: before n, behind it, or 0 when that is not to be seen.
	look := func(buckets ...int64) (side int, err error) {
		var los []int64
		err = s.readBuckets(ctx, k, sweep, short, buckets, func(o jobs.Origin) error {
			if !fits(o) {
				return nil
			}
			if los = append(los, o.Lo); o.Lo <= n && n < o.Hi {
				found, ok = o, true
				found.Worker = worker
				return errEnough
			}
			return nil
		})
		if ok || errors.Is(err, errEnough) || err != nil || len(los) == 0 {
			if errors.Is(err, errEnough) {
				err = nil
			}
			return 0, err
		}
		sort.Slice(los, func(i, j int) bool { return los[i] < los[j] })
		if los[len(los)/2] <= n {
			return -1, nil
		}
		return 1, nil
	}
	count := (tasks-1)/bucketTasks + 1
	seen := map[int64]bool{}
	from, to := int64(0), count
	for from < to {
		mid := (from + to) / 2
		seen[mid] = true
		side, err := look(mid)
		switch {
		case ok || err != nil:
			return found, ok, err
		case side < 0:
			from = mid + 1
		case side > 0:
			to = mid
		default:
			from, to = mid, mid // nothing to go by
		}
	}
	// From there on outwards, more at a time the farther it is.
	batch := 2
	var next []int64
	for d := int64(0); d <= count; d++ {
		for _, b := range []int64{from - d, from + d} {
			if b >= 0 && b < count && !seen[b] {
				seen[b] = true
				next = append(next, b)
			}
		}
		if len(next) < batch && d < count {
			continue
		}
		if _, err := look(next...); ok || err != nil {
			return found, ok, err
		}
		next, batch = next[:0], min(2*batch, bucketBatch)
	}
	return found, false, nil
}

// errEnough ends a reading of notes.
var errEnough = errors.New("enough")

// tasksOf reads how many tasks of a worker have left notes.
func tasksOf(k runKeys, field, text string) (int64, error) {
	tasks, err := strconv.ParseInt(text, 10, 64)
	if err != nil || tasks < 1 || tasks > 1<<40 {
		return 0, fmt.Errorf("key %s, field %s: %q is no number of tasks", k.who(), field, text)
	}
	return tasks, nil
}

// describe reads the description of a worker. One that was lost has only an ID,
// the short name.
func describe(k runKeys, short, text string) (jobs.Worker, error) {
	if text == "" {
		return jobs.Worker{ID: short}, nil
	}
	var d described
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return jobs.Worker{}, fmt.Errorf("key %s, field %s: %w", k.who(), short, err)
	}
	return jobs.Worker{ID: d.ID, Host: d.Host, PID: d.PID, Slots: d.Slots, Build: d.Build, CPU: d.CPU}, nil
}

// bucketBatch is how many buckets of notes one round trip reads.
const bucketBatch = 64

// readBuckets calls f for the notes in some buckets of a worker, in the order of
// the buckets and then of the tasks.
func (s *Store) readBuckets(ctx context.Context, k runKeys, sweep, short string, buckets []int64, f func(jobs.Origin) error) error {
	for len(buckets) > 0 {
		some := buckets[:min(len(buckets), bucketBatch)]
		buckets = buckets[len(some):]
		pipe := s.client.Pipeline()
		cmds := make([]*redis.MapStringStringCmd, len(some))
		for i, b := range some {
			cmds[i] = pipe.HGetAll(ctx, k.prov(sweep, short, b))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("read the notes of worker %s: %w", short, err)
		}
		for i, cmd := range cmds {
			var origins []jobs.Origin
			for field, text := range cmd.Val() {
				o, err := decodeOrigin(text)
				if err == nil {
					o.Seq, err = strconv.ParseInt(field, 10, 64)
				}
				if err != nil {
					return fmt.Errorf("key %s, field %s: %w", k.prov(sweep, short, some[i]), field, err)
				}
				o.Seq += some[i] * bucketTasks
				origins = append(origins, o)
			}
			sort.Slice(origins, func(a, b int) bool { return origins[a].Seq < origins[b].Seq })
			for _, o := range origins {
				if err := f(o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
