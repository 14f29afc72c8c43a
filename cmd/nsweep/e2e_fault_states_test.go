package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

const statesYAML = `
name: states
sweeps:
  - name: hopping
    engine: hopping
    n: {from: 1, to: 200}
`

// gone stands for a run that was deleted.
const gone jobs.State = "gone"

// stateRow writes what a command makes of a running run, and of which others, as a
// row of the table.
func stateRow(command string, all []jobs.State, to map[jobs.State]jobs.State) string {
	target := to[jobs.Running]
	var from, not []string
	for _, s := range all {
		if to[s] == target {
			from = append(from, string(s))
		} else {
			not = append(not, string(s))
		}
	}
	text := strings.Join(from, ", ")
	switch len(not) {
	case 0:
		text = "every"
	case 1:
		text = "every but " + not[0]
	}
	return fmt.Sprintf("| %s | %s | %s |", command, text, target)
}

// TestStateMachine drives a run by every command from every state, with nobody
// at work, and compares with the table of docs/ARCHITECTURE.md.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	ctx := ctxFor(t)
	srv, dir := redistest.Start(t), t.TempDir()
	write(t, dir, "states.yaml", statesYAML)
	st, err := store.Open(ctx, store.Options{Addrs: []string{srv.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	do := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := execute(ctx, append(args, "--redis", srv.URL()), streams{in: strings.NewReader(""), out: &out, err: &errs})
		return code, errs.String()
	}
	file := dir + "/states.yaml"

	// What each command makes of each state; a state that is missing is refused
	// with code 2 and stays.
	all := []jobs.State{jobs.Running, jobs.Paused, jobs.Complete, jobs.Halted, jobs.Failed, jobs.Cancelled}
	every := func(to jobs.State) map[jobs.State]jobs.State {
		m := map[jobs.State]jobs.State{}
		for _, s := range all {
			m[s] = to
		}
		return m
	}
	submitted := every(jobs.Running)
	submitted[jobs.Complete] = jobs.Complete // there is nothing to do
	doc, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		doc      string
		args     []string
		to       map[jobs.State]jobs.State
		newEpoch bool
	}{
		{doc: "`pause`", args: []string{"pause", "states"}, to: map[jobs.State]jobs.State{jobs.Running: jobs.Paused, jobs.Paused: jobs.Paused}},
		{doc: "`resume`", args: []string{"resume", "states"}, to: map[jobs.State]jobs.State{jobs.Paused: jobs.Running, jobs.Running: jobs.Running}},
		{doc: "`cancel`", args: []string{"cancel", "states"}, to: map[jobs.State]jobs.State{jobs.Running: jobs.Cancelled, jobs.Paused: jobs.Cancelled,
			jobs.Failed: jobs.Cancelled, jobs.Halted: jobs.Cancelled, jobs.Cancelled: jobs.Cancelled}},
		{doc: "`retry`, where cells failed", args: []string{"retry", "states"}, to: every(jobs.Running)},
		{doc: "`run` or `submit`", args: []string{"submit", file}, to: submitted},
		{doc: "the same with a longer range", args: []string{"submit", file, "--set", "sweeps.hopping.n.to=300"}, to: every(jobs.Running)},
		{doc: "the same with `--fresh`, in a new epoch", args: []string{"submit", file, "--fresh"}, to: every(jobs.Running), newEpoch: true},
		{doc: "`delete`", args: []string{"delete", "states", "--yes"}, to: every(gone)},
	} {
		if row := stateRow(c.doc, all, c.to); !strings.Contains(string(doc), row) {
			t.Errorf("docs/ARCHITECTURE.md has no row %s", row)
		}
		for _, from := range all {
			name := fmt.Sprintf("%s of a run that is %s", strings.Join(append(c.args[:1:1], c.args[2:]...), " "), from)
			if err := st.Client().FlushDB(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			if code, errs := do("submit", file); code != codeDone {
				t.Fatalf("%s: submit: code %d: %s", name, code, errs)
			}
			run, err := st.Run(ctx, "states")
			if err != nil {
				t.Fatal(err)
			}
			if err := st.AddFailure(ctx, run.ID, jobs.Failure{Sweep: "hopping", Lo: 1, Hi: 51, Error: "no"}); err != nil {
				t.Fatal(err)
			}
			if from == jobs.Complete {
				if err := st.SetResult(ctx, run.ID, run.Rev, []byte("{}")); err != nil {
					t.Fatal(err)
				}
			}
			if err := st.SetState(ctx, run.ID, nil, from, ""); err != nil {
				t.Fatal(err)
			}
			want, allowed := c.to[from]
			wantCode := codeDone
			if !allowed {
				want, wantCode = from, codeUsage
			}
			code, errs := do(c.args...)
			if code != wantCode {
				t.Errorf("%s: exit code %d, want %d: %s", name, code, wantCode, errs)
			}
			after, err := st.Run(ctx, "states")
			switch {
			case want == gone:
				if !errors.Is(err, jobs.ErrNoRun) {
					t.Errorf("%s: it is there: %v", name, err)
				}
				continue
			case err != nil:
				t.Fatalf("%s: %v", name, err)
			case after.State != want:
				t.Errorf("%s: it is %s, want %s", name, after.State, want)
			case (after.ID.Epoch != run.ID.Epoch) != c.newEpoch:
				t.Errorf("%s: epoch %s, then %s", name, run.ID.Epoch, after.ID.Epoch)
			}
			if c.args[0] == "retry" {
				if left, err := st.Failures(ctx, run.ID); err != nil || len(left) != 0 {
					t.Errorf("%s: failures %v, %v", name, left, err)
				}
			}
		}
	}
	if len(slices.Collect(maps.Keys(submitted))) != len(all) {
		t.Error("a state is missing")
	}
}

// TestStatesAtWork goes through the states while a scheduler and a worker are
// at work: nothing is computed in a pause, a resumed run goes on with what it
// has, a cancelled one keeps its values, and a longer one computes what is new.
func TestStatesAtWork(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1, time.Second)
	s.start(s.direct(), "scheduler")
	s.start(s.direct(), "worker", "--concurrency", "2")
	s.submit()
	s.begun()
	do := func(args ...string) { call(t, s.dir, s.direct(), codeDone, args...) }

	do("pause", "toy")
	until(t, "the pause to take effect", func() bool { return len(s.statusOf().Tasks) == 0 })
	had := s.values()
	sleep(t, 300*time.Millisecond) // six looks of the scheduler
	if now := s.values(); now != had || s.run().State != jobs.Paused {
		t.Errorf("in the pause %d values became %d, the run is %s", had, now, s.run().State)
	}
	do("resume", "toy")
	s.resumed()

	do("cancel", "toy")
	until(t, "the cancelled run to rest", func() bool { return len(s.statusOf().Tasks) == 0 })
	had = s.values()
	if had <= 0 || had >= 5000 || s.run().State != jobs.Cancelled {
		t.Fatalf("cancelled with %d values, the run is %s", had, s.run().State)
	}
	do("submit", "toy.yaml")
	if now := s.values(); now < had {
		t.Errorf("%d values became %d", had, now)
	}
	s.complete()

	epoch := s.run().ID
	do("submit", "toy.yaml", "--set", "sweeps.toy.n.to=6000", "--wait")
	if r := s.run(); r.ID != epoch || r.State != jobs.Complete || s.values() != 6000 {
		t.Errorf("longer: %s with %d values, epoch %s", r.State, s.values(), r.ID.Epoch)
	}
	do("submit", "toy.yaml", "--fresh", "--wait")
	if r := s.run(); r.ID.Epoch == epoch.Epoch || r.Number != 2 || s.values() != 5000 {
		t.Errorf("afresh: start %d with %d values, epoch %s", r.Number, s.values(), r.ID.Epoch)
	}
	do("delete", "toy", "--yes")
	if keys, err := s.store.Client().Keys(context.Background(), "nsweep:{toy.*").Result(); err != nil || len(keys) != 0 {
		t.Errorf("left after deletion: %v, %v", keys, err)
	}
}
