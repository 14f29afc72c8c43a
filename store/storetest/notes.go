package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

func testTasks(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	id := f.run.ID
	task := func(lo, hi int64) jobs.Task {
		return jobs.Task{Format: jobs.TaskFormat, Run: id, Sweep: "s", Engine: "test", Version: 1, Keep: jobs.KeepValues, Grid: 1, Lo: lo, Hi: hi, CostNs: 1.5e9}
	}
	tasks := []jobs.Task{task(1, 51), task(101, 201), task(51, 101)}
	if err := s.PutTasks(f.ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.PutTasks(f.ctx, id, tasks); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Tasks(f.ctx, id)
	if want := []jobs.Task{tasks[0], tasks[1], tasks[2]}; err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("tasks %+v, %v; want %+v", got, err, want)
	}
	outstanding := func(task jobs.Task, want bool) {
		t.Helper()
		if got, err := s.Outstanding(f.ctx, id, task.ID()); err != nil || got != want {
			t.Fatalf("task %s outstanding: %v, %v", task.ID(), got, err)
		}
	}
	outstanding(tasks[0], true)
	if err := s.DropTasks(f.ctx, id, tasks[0].ID(), tasks[2].ID(), "unknown"); err != nil {
		t.Fatal(err)
	}
	if err := s.DropTasks(f.ctx, id); err != nil {
		t.Fatal(err)
	}
	outstanding(tasks[0], false)
	outstanding(tasks[1], true)
	if got, err = s.Tasks(f.ctx, id); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], tasks[1]) {
		t.Fatalf("tasks %+v, %v", got, err)
	}
	if err := s.Client().HSet(f.ctx, "nsweep:{"+id.String()+"}:tasks", "x", "{").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tasks(f.ctx, id); err == nil {
		t.Fatal("a task that is none was read")
	}
}

// testTasksOfEnded: a run that takes nothing any more has no outstanding tasks,
// whoever ended it; any other state leaves them alone.
func testTasksOfEnded(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	id := f.run.ID
	task := jobs.Task{Format: jobs.TaskFormat, Run: id, Sweep: "s", Engine: "test", Version: 1, Keep: jobs.KeepValues, Grid: 1, Lo: 1, Hi: 51}
	for _, to := range []jobs.State{jobs.Paused, jobs.Running, jobs.Failed, jobs.Complete, jobs.Halted, jobs.Cancelled} {
		if err := s.SetState(f.ctx, id, nil, jobs.Running, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.PutTasks(f.ctx, id, []jobs.Task{task}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Beat(f.ctx, id, jobs.Beat{Task: task.ID(), Worker: "w"}); err != nil {
			t.Fatal(err)
		}
		look := func() (tasks, beats int) {
			list, err := s.Tasks(f.ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			alive, _, err := s.Beats(f.ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return len(list), len(alive)
		}
		// What is refused changes nothing.
		if err := s.SetState(f.ctx, id, []jobs.State{jobs.Halted}, to, ""); err == nil {
			t.Fatalf("a running run became %s", to)
		}
		if tasks, beats := look(); tasks != 1 || beats != 1 {
			t.Fatalf("after a refusal there are %d tasks and %d beats", tasks, beats)
		}
		if err := s.SetState(f.ctx, id, []jobs.State{jobs.Running}, to, ""); err != nil {
			t.Fatal(err)
		}
		want := 0
		if to.Accepts() {
			want = 1
		}
		if tasks, beats := look(); tasks != want || beats != want {
			t.Fatalf("%s: %d tasks and %d beats, want %d", to, tasks, beats, want)
		}
		if ok, err := s.Outstanding(f.ctx, id, task.ID()); err != nil || ok != (want == 1) {
			t.Fatalf("%s: outstanding is %v, %v", to, ok, err)
		}
	}
}

func testBeats(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	id := f.run.ID
	beat := func(b jobs.Beat) jobs.State {
		t.Helper()
		state, err := s.Beat(f.ctx, id, b)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	read := func() map[string]jobs.Beat {
		t.Helper()
		beats, now, err := s.Beats(f.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]jobs.Beat{}
		for _, b := range beats {
			if age := now.UnixMilli() - b.AtMs; age < 0 || age > 3_600_000 || b.StartedMs > b.AtMs {
				t.Fatalf("beat %+v at %v", b, now)
			}
			out[b.Task] = b
		}
		return out
	}
	if state := beat(jobs.Beat{Task: "t1", Worker: "host a/1"}); state != jobs.Running {
		t.Fatalf("state %s", state)
	}
	first := read()["t1"]
	if first.StartedMs == 0 || first.Worker != "host a/1" {
		t.Fatalf("beat %+v", first)
	}
	if err := s.SetState(f.ctx, id, nil, jobs.Paused, ""); err != nil {
		t.Fatal(err)
	}
	// The start stays while the same worker beats, and is anew for another.
	if state := beat(jobs.Beat{Task: "t1", Worker: "host a/1", Fraction: 0.25}); state != jobs.Paused {
		t.Fatalf("state %s", state)
	}
	if b := read()["t1"]; b.StartedMs != first.StartedMs || b.Fraction != 0.25 {
		t.Fatalf("beat %+v after %+v", b, first)
	}
	beat(jobs.Beat{Task: "t1", Worker: "b", StartedMs: 5})
	beat(jobs.Beat{Task: "t1", Worker: "b", Ended: true, Error: "it\nbroke"})
	if b := read()["t1"]; b.StartedMs != 5 || !b.Ended || b.Error != "it\nbroke" {
		t.Fatalf("beat %+v", b)
	}
	beat(jobs.Beat{Task: "t1", Worker: ""})
	if b := read()["t1"]; b.StartedMs < first.StartedMs || b.Ended {
		t.Fatalf("beat of another worker %+v", b)
	}
	beat(jobs.Beat{Task: "t2", Worker: "b"})
	if err := s.DropBeats(f.ctx, id, "t1", "t9"); err != nil {
		t.Fatal(err)
	}
	if b := read(); len(b) != 1 || b["t2"].Worker != "b" {
		t.Fatalf("beats %+v", b)
	}

	// Nobody looks after a run that takes no commits: whatever comes late, also
	// of a task that had just been taken up, must not stay.
	for _, state := range []jobs.State{jobs.Cancelled, jobs.Halted} {
		if err := s.SetState(f.ctx, id, nil, state, ""); err != nil {
			t.Fatal(err)
		}
		for _, task := range []string{"t2", "t3"} {
			if got := beat(jobs.Beat{Task: task, Worker: "b"}); got != state {
				t.Fatalf("state %s", got)
			}
		}
		if b := read(); len(b) != 0 {
			t.Fatalf("beats of a run that is %s: %+v", state, b)
		}
	}
}

func testWorkers(t *testing.T, s *store.Store) {
	ctx := context.Background()
	w := jobs.Worker{ID: "host:1:abc", Host: "host", PID: 1, Slots: 4, Queues: []string{"hopping@1"}}
	for range 2 {
		if err := s.Hello(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Hello(ctx, jobs.Worker{ID: "b", StartedMs: 12}); err != nil {
		t.Fatal(err)
	}
	// Silent since 1970, and an entry that nobody can read.
	if err := s.Client().HSet(ctx, "nsweep:workers", "dead", `5 6 @dead {"id":"dead"}`, "odd", "?").Err(); err != nil {
		t.Fatal(err)
	}
	got, err := s.Workers(ctx)
	if err != nil || len(got) != 2 || got[0].ID != "b" || got[0].StartedMs != 12 {
		t.Fatalf("workers %+v, %v", got, err)
	}
	if g := got[1]; g.AtMs == 0 || g.StartedMs == 0 || g.StartedMs > g.AtMs || g.Slots != 4 || g.Queues[0] != "hopping@1" {
		t.Fatalf("worker %+v", g)
	}
	if n, err := s.Client().HLen(ctx, "nsweep:workers").Result(); err != nil || n != 2 {
		t.Fatalf("%d workers are kept, %v", n, err)
	}
	if err := s.Goodbye(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Workers(ctx); err != nil || len(got) != 1 {
		t.Fatalf("workers %+v, %v", got, err)
	}
}

func testLeader(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	id := f.run.ID
	lead := func(owner string, want bool) {
		t.Helper()
		got, err := s.Lead(f.ctx, id, owner, time.Hour)
		if err != nil || got != want {
			t.Fatalf("%s leads: %v, %v", owner, got, err)
		}
	}
	is := func(want string) {
		t.Helper()
		if got, err := s.Leader(f.ctx, id); err != nil || got != want {
			t.Fatalf("leader %q, %v; want %q", got, err, want)
		}
	}
	is("")
	lead("a", true)
	lead("b", false)
	lead("a", true)
	is("a")
	if ttl, err := s.Client().PTTL(f.ctx, "nsweep:{"+id.String()+"}:leader").Result(); err != nil || ttl <= 0 || ttl > time.Hour {
		t.Fatalf("the lock lives for %v, %v", ttl, err)
	}
	if err := s.Resign(f.ctx, id, "b"); err != nil {
		t.Fatal(err)
	}
	is("a")
	if err := s.Resign(f.ctx, id, "a"); err != nil {
		t.Fatal(err)
	}
	is("")
	lead("b", true)
	if _, err := s.Lead(f.ctx, jobs.RunID{Name: "r", Epoch: "gone"}, "a", time.Hour); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("lead a run that is gone: %v", err)
	}
}

func testFailures(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	id := f.run.ID
	for _, x := range []jobs.Failure{
		{Sweep: "s", Lo: 101, Hi: 151, Error: "first"},
		{Sweep: "s", Lo: 51, Hi: 101, Error: "killed its worker 5 times", AtMs: 7},
		{Sweep: "a", Points: []int64{10, 20}, Error: "p"},
		{Sweep: "s", Lo: 101, Hi: 151, Error: "second", Worker: "w"},
	} {
		if err := s.AddFailure(f.ctx, id, x); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Failures(f.ctx, id)
	if err != nil || len(got) != 3 || got[0].Points[1] != 20 || got[1].AtMs != 7 || got[2].Error != "second" || got[2].AtMs == 0 {
		t.Fatalf("failures %+v, %v", got, err)
	}
	if err := s.ClearFailures(f.ctx, id); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Failures(f.ctx, id); err != nil || len(got) != 0 {
		t.Fatalf("failures %+v, %v", got, err)
	}
}

func testEngineStates(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	id := f.run.ID
	if b, err := s.LoadState(f.ctx, id, "k"); err != nil || b != nil {
		t.Fatalf("state %q, %v", b, err)
	}
	state := []byte("\x00\x01\xff binary")
	if err := s.SaveState(f.ctx, id, "k", state); err != nil {
		t.Fatal(err)
	}
	if b, err := s.LoadState(f.ctx, id, "k"); err != nil || string(b) != string(state) {
		t.Fatalf("state %q, %v", b, err)
	}
	if err := s.DropState(f.ctx, id, "k"); err != nil {
		t.Fatal(err)
	}
	if b, err := s.LoadState(f.ctx, id, "k"); err != nil || b != nil {
		t.Fatalf("state %q, %v", b, err)
	}
}
