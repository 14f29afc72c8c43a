package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/jobs"
)

// ensured says what became of an experiment in the store.
type ensured struct {
	run jobs.Run
	// fresh: begun from nothing. extended: same epoch, new plan. done: complete
	// already, with nothing new to do.
	fresh, extended, done bool
	// before is what was finished before.
	before map[string]jobs.Counts
}

// ensureRun makes the store hold a run of these sweeps in state running, or
// finds that it is complete already. Values that are there are kept unless
// fresh is set or they are values of something else, which is refused.
func ensureRun(ctx context.Context, st *opened, name string, want plan, fresh bool) (ensured, error) {
	anew := jobs.Manifest{Format: jobs.ManifestFormat, ID: jobs.RunID{Name: name, Epoch: jobs.NewEpoch()}, Sweeps: want.sweeps, Notify: want.notify, Verify: want.verify, VerifySame: want.verifySame}
	run, err := st.Run(ctx, name)
	switch {
	case errors.Is(err, jobs.ErrNoRun):
		run, err = st.Create(ctx, anew)
		if errors.Is(err, jobs.ErrRunExists) {
			return ensureRun(ctx, st, name, want, fresh) // another process was faster
		}
		return ensured{run: run, fresh: true, before: map[string]jobs.Counts{}}, err
	case err != nil:
		return ensured{}, err
	case fresh:
		run, err = st.Replace(ctx, run.ID, anew)
		return ensured{run: run, fresh: true, before: map[string]jobs.Counts{}}, err
	}
	if err := sameValues(run, want.sweeps); err != nil {
		return ensured{}, err
	}
	e := ensured{run: run}
	settled, err := settled(ctx, st, run)
	if err != nil {
		return ensured{}, err
	}
	same := samePlan(plan{run.Sweeps, run.Notify, run.Verify, run.VerifySame}, want)
	switch {
	case same && settled && run.State == jobs.Complete && len(run.Result) > 0:
		e.done = true
	case same && run.State == jobs.Running:
	default:
		// A new plan, or a run that ended or pauses and is wanted again.
		if run.State == jobs.Failed {
			if err := st.ClearFailures(ctx, run.ID); err != nil {
				return ensured{}, err
			}
		}
		m := run.Manifest
		m.Sweeps, m.Notify, m.Verify, m.VerifySame = want.sweeps, want.notify, want.verify, want.verifySame
		if e.run, err = st.Update(ctx, m); err != nil {
			return ensured{}, err
		}
		e.extended = !same
	}
	e.before, err = st.Counts(ctx, run.ID)
	return e, err
}

// settled reports whether no cell is disputed and nothing waits to be opened
// again because of who computed it. A complete run can come to either by what a
// worker sends late.
func settled(ctx context.Context, st *opened, run jobs.Run) (bool, error) {
	counts, err := st.Counts(ctx, run.ID)
	if err != nil {
		return false, err
	}
	for _, s := range run.Sweeps {
		if counts[s.Name].Disputed > 0 {
			return false, nil
		}
	}
	list, err := st.Quarantines(ctx, run.Manifest)
	return !slices.ContainsFunc(list, func(q jobs.Quarantine) bool { return q.Pending }), err
}

// sameValues refuses to go on where stored values are values of something else.
func sameValues(run jobs.Run, sweeps []jobs.Sweep) error {
	var lines []string
	for _, s := range sweeps {
		if old, ok := run.Sweep(s.Name); ok {
			lines = append(lines, old.Differences(s)...)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return coded(codeUsage, fmt.Errorf("%s\nrun %s keeps its values; --fresh starts it anew and deletes them", strings.Join(lines, "\n"), run.ID.Name))
}

// plan is what an experiment wants of a run.
type plan struct {
	sweeps []jobs.Sweep
	notify *jobs.Notify
	// verify is the share of the cells in millionths, verifySame has it computed by
	// the same algorithm.
	verify     int64
	verifySame bool
}

// planOf returns the plan of an experiment with its resolved sweeps.
func planOf(e *config.Experiment, sweeps []jobs.Sweep) plan {
	p := plan{sweeps: sweeps, verify: e.Verify, verifySame: e.VerifySame}
	if n := e.Notify; n != nil {
		p.notify = &jobs.Notify{URL: n.URL, On: n.On, StallMs: n.StallAfter.Milliseconds()}
	}
	return p
}

// samePlan reports whether two plans are the same in everything.
func samePlan(a, b plan) bool {
	x, err1 := json.Marshal([]any{a.sweeps, a.notify, a.verify, a.verifySame})
	y, err2 := json.Marshal([]any{b.sweeps, b.notify, b.verify, b.verifySame})
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
