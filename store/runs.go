package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// Create starts a run under a name that is free. It fills in the epoch when
// m.ID has none, the number of the epoch and the time by the store's clock.
// The error wraps jobs.ErrRunExists when the name is taken.
func (s *Store) Create(ctx context.Context, m jobs.Manifest) (jobs.Run, error) {
	return s.create(ctx, "", m)
}

// Replace starts m under the name that the epoch old has now. From that moment
// commits to old are refused; its keys are then removed. The error wraps
// jobs.ErrFenced when the name belongs to another epoch already.
func (s *Store) Replace(ctx context.Context, old jobs.RunID, m jobs.Manifest) (jobs.Run, error) {
	if m.ID.Name != old.Name {
		return jobs.Run{}, fmt.Errorf("replace run %s by run %s: the names differ", old.Name, m.ID.Name)
	}
	return s.create(ctx, old.Epoch, m)
}

func (s *Store) create(ctx context.Context, old string, m jobs.Manifest) (jobs.Run, error) {
	if m.ID.Epoch == "" {
		m.ID.Epoch = jobs.NewEpoch()
	}
	fail := func(err error) (jobs.Run, error) { return jobs.Run{}, fmt.Errorf("create run %s: %w", m.ID.Name, err) }
	m.Format = jobs.ManifestFormat
	text, err := encodeManifest(m)
	if err != nil {
		return fail(err)
	}
	// What a crash left behind is removed first, so that it cannot pile up.
	if err := s.Bury(ctx); err != nil {
		return fail(err)
	}
	args := []any{m.ID.Name, m.ID.Epoch, old, text, m.Rev}
	for _, w := range m.Sweeps {
		args = append(args, "plan:"+w.Name, planOf(w), "identity:"+w.Name, identityOf(w), "chunks:"+w.Name, chunksOf(w, ""))
	}
	replaced := m.ID
	if old != "" {
		replaced.Epoch = old
	}
	r, err := s.run(ctx, scriptCreate, m.ID,
		[]string{keyRuns, keyNumbers, keysOf(m.ID).manifest(), keyGraves, keysOf(replaced).manifest()}, args...)
	if err != nil {
		return fail(err)
	}
	if r.word == "exists" {
		return fail(jobs.ErrRunExists)
	}
	number, err := r.number(0)
	if err != nil {
		return fail(err)
	}
	m.Number = int(number)
	if m.CreatedMs, err = r.number(1); err != nil {
		return fail(err)
	}
	if old != "" {
		if err := s.Bury(ctx); err != nil {
			return fail(err)
		}
	}
	return jobs.Run{Manifest: m, State: jobs.Running}, nil
}

// encodeManifest checks a manifest's shape and writes it as JSON. Number, time
// and revision have fields of their own, which are the ones that count.
func encodeManifest(m jobs.Manifest) ([]byte, error) {
	if !jobs.NamePattern.MatchString(m.ID.Name) {
		return nil, fmt.Errorf("%q is no name of a run", m.ID.Name)
	}
	if m.ID.Epoch == "" || strings.ContainsAny(m.ID.Epoch, "{}:*?[]\\ ") {
		return nil, fmt.Errorf("%q is no epoch", m.ID.Epoch)
	}
	seen := map[string]bool{}
	for _, w := range m.Sweeps {
		if !jobs.NamePattern.MatchString(w.Name) || seen[w.Name] {
			return nil, fmt.Errorf("sweep name %q is impossible or there twice", w.Name)
		}
		seen[w.Name] = true
	}
	m.Number, m.CreatedMs = 0, 0
	return json.Marshal(m)
}

// Run returns the run of that name. The error wraps jobs.ErrNoRun when there
// is none; it is a *jobs.DamagedError when its manifest makes no sense.
func (s *Store) Run(ctx context.Context, name string) (jobs.Run, error) {
	epoch, err := s.client.HGet(ctx, keyRuns, name).Result()
	if errors.Is(err, redis.Nil) {
		return jobs.Run{}, fmt.Errorf("%w: %s", jobs.ErrNoRun, name)
	}
	if err != nil {
		return jobs.Run{}, fmt.Errorf("read run %s: %w", name, err)
	}
	id := jobs.RunID{Name: name, Epoch: epoch}
	run, ok, err := readRun(id, s.client.HMGet(ctx, keysOf(id).manifest(), manifestFields...))
	switch {
	case err != nil && jobs.IsLasting(err):
		return jobs.Run{}, &jobs.DamagedError{Runs: []jobs.DamagedRun{{ID: id, Err: err}}}
	case err != nil:
		return jobs.Run{}, err
	case !ok:
		return jobs.Run{}, fmt.Errorf("%w: %s", jobs.ErrNoRun, name)
	}
	return run, nil
}

// Runs returns all runs in the order of their names. With a *jobs.DamagedError,
// which names those whose manifests make no sense, it returns the others.
func (s *Store) Runs(ctx context.Context) ([]jobs.Run, error) {
	index, err := s.client.HGetAll(ctx, keyRuns).Result()
	switch {
	case jobs.IsLasting(err):
		return nil, fmt.Errorf("key %s is none of nsweep's (%w): use another database, or delete the key if nobody needs it", keyRuns, err)
	case err != nil:
		return nil, fmt.Errorf("list runs: %w", err)
	}
	names := make([]string, 0, len(index))
	for name := range index {
		names = append(names, name)
	}
	sort.Strings(names)
	cmds := make([]*redis.SliceCmd, len(names))
	pipe := s.client.Pipeline()
	for i, name := range names {
		cmds[i] = pipe.HMGet(ctx, keysOf(jobs.RunID{Name: name, Epoch: index[name]}).manifest(), manifestFields...)
	}
	if len(names) > 0 {
		if _, err := pipe.Exec(ctx); err != nil && !jobs.IsLasting(err) {
			return nil, fmt.Errorf("list runs: %w", err)
		}
	}
	var runs []jobs.Run
	var damaged []jobs.DamagedRun
	for i, name := range names {
		id := jobs.RunID{Name: name, Epoch: index[name]}
		run, ok, err := readRun(id, cmds[i])
		switch {
		case err != nil && jobs.IsLasting(err):
			damaged = append(damaged, jobs.DamagedRun{ID: id, Err: err})
		case err != nil:
			return nil, err
		case ok:
			runs = append(runs, run)
		}
	}
	if len(damaged) > 0 {
		return runs, &jobs.DamagedError{Runs: damaged}
	}
	return runs, nil
}

// readRun reads the reply to a question for manifestFields. An error that
// trying again cannot mend is marked so.
func readRun(id jobs.RunID, reply *redis.SliceCmd) (jobs.Run, bool, error) {
	fields, err := reply.Result()
	if err != nil {
		return jobs.Run{}, false, fmt.Errorf("key %s: %w", keysOf(id).manifest(), err)
	}
	run, ok, err := decodeRun(id, fields)
	return run, ok, jobs.Lasting(err)
}

var manifestFields = []string{"manifest", "state", "reason", "rev", "number", "created", "result"}

// decodeRun reads the fields of a manifest, in the order of manifestFields. It
// reports false when the manifest is not there.
func decodeRun(id jobs.RunID, fields []any) (jobs.Run, bool, error) {
	text := make([]string, len(manifestFields))
	for i := range text {
		if i < len(fields) {
			text[i], _ = fields[i].(string)
		}
	}
	if text[0] == "" && text[1] == "" {
		return jobs.Run{}, false, nil
	}
	fail := func(what string, err error) (jobs.Run, bool, error) {
		return jobs.Run{}, false, fmt.Errorf("key %s: %s: %w", keysOf(id).manifest(), what, err)
	}
	var run jobs.Run
	if err := json.Unmarshal([]byte(text[0]), &run.Manifest); err != nil {
		return fail("manifest", err)
	}
	if run.Format != jobs.ManifestFormat {
		return fail("manifest", fmt.Errorf("format %d, this program reads %d", run.Format, jobs.ManifestFormat))
	}
	for _, w := range run.Sweeps {
		if err := w.Grid.Check(); err != nil {
			return fail("sweep "+w.Name, err)
		}
	}
	run.ID = id
	run.State, run.Reason = jobs.State(text[1]), text[2]
	number, err := strconv.Atoi(text[4])
	if err != nil {
		return fail("number", err)
	}
	run.Number = number
	if run.Rev, err = strconv.ParseInt(text[3], 10, 64); err != nil {
		return fail("rev", err)
	}
	if run.CreatedMs, err = strconv.ParseInt(text[5], 10, 64); err != nil {
		return fail("created", err)
	}
	if text[6] != "" {
		run.Result = []byte(text[6])
	}
	return run, true, nil
}

// SetState moves the run to a state, giving the reason, if it is in one of the
// states from; from may be empty for any. With a state that takes no commits the
// run's lists of outstanding tasks and of beats go. Errors: *jobs.StateError when
// it is in another one, jobs.ErrFenced when the run is gone.
func (s *Store) SetState(ctx context.Context, id jobs.RunID, from []jobs.State, to jobs.State, reason string) error {
	args := []any{string(to), reason}
	for _, f := range from {
		args = append(args, string(f))
	}
	k := keysOf(id)
	keys := []string{k.manifest()}
	if !to.Accepts() {
		keys = append(keys, k.tasks(), k.beats())
	}
	if _, err := s.run(ctx, scriptState, id, keys, args...); err != nil {
		return fmt.Errorf("set run %s to %s: %w", id.Name, to, err)
	}
	return nil
}

// SetResult stores the aggregator's result of the plan with that revision.
// Errors: jobs.ErrChanged when the plan is another one now, jobs.ErrFenced when
// the run is gone.
func (s *Store) SetResult(ctx context.Context, id jobs.RunID, rev int64, result []byte) error {
	if _, err := s.run(ctx, scriptResult, id, []string{keysOf(id).manifest()}, rev, result); err != nil {
		return fmt.Errorf("store the result of run %s: %w", id.Name, err)
	}
	return nil
}
