package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// bucketTasks is how many notes of one worker share a hash. Redis keeps hashes
// of up to 128 short fields without an index, at about their length.
const bucketTasks = 100

// originArgs is the number of arguments that originOf makes.
const originArgs = 12

// described is what is kept of a worker: what it was, not how it stands.
type described struct {
	ID    string `json:"id"`
	Host  string `json:"host,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Slots int    `json:"slots,omitempty"`
	Build string `json:"build,omitempty"`
	CPU   string `json:"cpu,omitempty"`
}

// originOf returns the arguments of lua/origin.lua.
func originOf(c jobs.Commit) ([]any, error) {
	o := c.Origin
	if o == nil {
		args := make([]any, originArgs)
		for i := range args {
			args[i] = ""
		}
		args[originArgs-3] = keysOf(c.Run).prefix
		return args, nil
	}
	w := o.Worker
	text, err := json.Marshal(described{w.ID, w.Host, w.PID, w.Slots, w.Build, w.CPU})
	if err != nil {
		return nil, err
	}
	k, short := keysOf(c.Run), w.Short()
	check := ""
	if c.Check {
		check = "1"
	}
	return []any{k.who(), k.prov(c.Sweep, short, o.Seq/bucketTasks), short, text, c.Sweep + ":" + short, o.Seq + 1,
		o.Seq % bucketTasks, max(0, time.Since(o.Began).Milliseconds()), encodeOrigin(*o),
		k.prefix, strconv.Quote(w.ID) + " " + o.Algorithm, check}, nil
}

// encodeOrigin writes a note without its start: first n, length of the range
// or p and the number of points and d and their extent, attempt, milliseconds
// in base 36, then the algorithm, behind = when the task confirmed.
func encodeOrigin(o jobs.Origin) string {
	n := strconv.FormatInt
	length := n(o.Hi-o.Lo, 36)
	if o.Points > 0 {
		length += "/" + n(o.Points, 36)
	}
	how := o.Algorithm
	if o.Second {
		how = "=" + how
	}
	return n(o.Lo, 36) + " " + length + " " + n(int64(o.Attempt), 36) + " " + n(o.Took.Milliseconds(), 36) + " " + how
}

// decodeOrigin reads what encodeOrigin and lua/origin.lua wrote.
func decodeOrigin(text string) (jobs.Origin, error) {
	fail := func() (jobs.Origin, error) { return jobs.Origin{}, fmt.Errorf("%q is no note of a task", text) }
	f := strings.Split(text, " ")
	if len(f) != 6 {
		return fail()
	}
	length, points, _ := strings.Cut(f[1], "/")
	if points == "" {
		points = "0"
	}
	var v [6]int64
	for i, p := range []struct {
		text string
		base int
		most int64
	}{{f[0], 36, engine.MaxN}, {length, 36, engine.MaxN}, {points, 36, engine.MaxN}, {f[2], 36, 1 << 31}, {f[3], 36, 1 << 43}, {f[5], 10, 1 << 53}} {
		n, err := strconv.ParseInt(p.text, p.base, 64)
		if err != nil || n < 0 || n > p.most {
			return fail()
		}
		v[i] = n
	}
	// Both are at most 10^18, so the sum fits.
	o := jobs.Origin{Lo: v[0], Hi: v[0] + v[1], Points: v[2], Attempt: int(v[3]), Took: time.Duration(v[4]) * time.Millisecond,
		Algorithm: strings.TrimPrefix(f[4], "="), Second: strings.HasPrefix(f[4], "="), StartedMs: v[5], Worker: jobs.Worker{ID: "-"}}
	if err := o.Check(); err != nil || o.Hi-1 > engine.MaxN {
		return fail()
	}
	o.Worker = jobs.Worker{}
	return o, nil
}

// Provenance calls f for each note of a task that stored something in the run:
// by sweep, then worker, then in the order in which the worker began. It reads
// in batches and returns the first error of f. A worker whose description was
// lost has only an ID, the short name.
func (s *Store) Provenance(ctx context.Context, id jobs.RunID, f func(sweep string, o jobs.Origin) error) error {
	fail := func(err error) error { return fmt.Errorf("read the provenance of run %s: %w", id.Name, err) }
	k := keysOf(id)
	all, err := s.client.HGetAll(ctx, k.who()).Result()
	if err != nil {
		return fail(err)
	}
	for _, field := range sorted(all) {
		sweep, short, ok := strings.Cut(field, ":")
		if !ok {
			continue
		}
		tasks, err := tasksOf(k, field, all[field])
		if err != nil {
			return fail(err)
		}
		worker, err := describe(k, short, all[short])
		if err != nil {
			return fail(err)
		}
		err = s.readOrigins(ctx, k, sweep, short, (tasks-1)/bucketTasks+1, func(o jobs.Origin) error {
			o.Worker = worker
			return f(sweep, o)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readOrigins reads the buckets of one worker.
func (s *Store) readOrigins(ctx context.Context, k runKeys, sweep, short string, buckets int64, f func(jobs.Origin) error) error {
	for from := int64(0); from < buckets; from += bucketBatch {
		var some []int64
		for b := from; b < min(from+bucketBatch, buckets); b++ {
			some = append(some, b)
		}
		if err := s.readBuckets(ctx, k, sweep, short, some, f); err != nil {
			return err
		}
	}
	return nil
}
