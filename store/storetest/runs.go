package storetest

import (
	"context"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

func testRuns(t *testing.T, s *store.Store) {
	ctx := context.Background()
	if _, err := s.Run(ctx, "nobody"); !errors.Is(err, jobs.ErrNoRun) {
		t.Fatalf("a run that is not there: %v", err)
	}
	if runs, err := s.Runs(ctx); err != nil || len(runs) != 0 {
		t.Fatalf("an empty store lists %v, %v", runs, err)
	}
	for _, name := range []string{"b", "a.long-name_1"} {
		m := jobs.Manifest{ID: jobs.RunID{Name: name}, Sweeps: []jobs.Sweep{Sweep(t, "s", jobs.KeepValues, 1, 101)}}
		run, err := s.Create(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		now, err := s.Time(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if run.ID.Epoch == "" || run.Number != 1 || run.State != jobs.Running || run.Rev != 0 || now.UnixMilli()-run.CreatedMs > 3_600_000 || now.UnixMilli() < run.CreatedMs {
			t.Fatalf("created %+v at %v", run, now)
		}
		if _, err := s.Create(ctx, m); !errors.Is(err, jobs.ErrRunExists) {
			t.Fatalf("created twice: %v", err)
		}
		// A client that repeats its own call, because it lost the answer, sees
		// the same run.
		m.ID.Epoch = run.ID.Epoch
		again, err := s.Create(ctx, m)
		if err != nil || !reflect.DeepEqual(again, run) {
			t.Fatalf("repeated call: %+v, %v; want %+v", again, err, run)
		}
	}
	runs, err := s.Runs(ctx)
	if err != nil || len(runs) != 2 || runs[0].ID.Name != "a.long-name_1" || runs[1].ID.Name != "b" {
		t.Fatalf("runs %v, %v", runs, err)
	}
	// One that makes no sense does not hide the other.
	bad := "nsweep:{" + runs[1].ID.String() + "}:manifest"
	for what, harm := range map[string]func() error{
		"no JSON":   func() error { return s.Client().HSet(ctx, bad, "manifest", "{").Err() },
		"no number": func() error { return s.Client().HSet(ctx, bad, "rev", "x").Err() },
		"no hash": func() error {
			return errors.Join(s.Client().Del(ctx, bad).Err(), s.Client().Set(ctx, bad, "x", 0).Err())
		},
	} {
		fields, err := s.Client().HGetAll(ctx, bad).Result()
		if err := errors.Join(err, harm()); err != nil {
			t.Fatal(err)
		}
		left, err := s.Runs(ctx)
		damaged, rest := jobs.Damaged(err)
		if len(left) != 1 || left[0].ID != runs[0].ID || rest != nil || len(damaged) != 1 || damaged[0].ID != runs[1].ID || !jobs.IsLasting(err) || !strings.Contains(err.Error(), bad) {
			t.Fatalf("%s: runs %v, %v", what, left, err)
		}
		_, err = s.Run(ctx, "b")
		if damaged, _ := jobs.Damaged(err); len(damaged) != 1 || damaged[0].ID != runs[1].ID || !jobs.IsLasting(err) {
			t.Fatalf("%s: %v", what, err)
		}
		if err := errors.Join(s.Client().Del(ctx, bad).Err(), s.Client().HSet(ctx, bad, fields).Err()); err != nil {
			t.Fatal(err)
		}
	}
	// A name whose manifest is lost is free.
	if err := s.Client().Del(ctx, "nsweep:{"+runs[1].ID.String()+"}:manifest").Err(); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Runs(ctx); err != nil || len(left) != 1 {
		t.Fatalf("runs %v, %v", left, err)
	}
	if run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "b"}, Sweeps: runs[1].Sweeps}); err != nil || run.Number != 2 {
		t.Fatalf("created %+v, %v", run, err)
	}
	for _, bad := range []jobs.Manifest{
		{ID: jobs.RunID{Name: "Bad"}}, {ID: jobs.RunID{Name: "a", Epoch: "x}y"}}, {ID: jobs.RunID{Name: ""}},
		{ID: jobs.RunID{Name: "c"}, Sweeps: []jobs.Sweep{{Name: "s:1", Grid: Grid}}},
		{ID: jobs.RunID{Name: "c"}, Sweeps: []jobs.Sweep{{Name: "s", Grid: Grid}, {Name: "s", Grid: Grid}}},
	} {
		if _, err := s.Create(ctx, bad); err == nil {
			t.Errorf("created %+v", bad.ID)
		}
	}
}

func testManifest(t *testing.T, s *store.Store) {
	w := Sweep(t, "s", jobs.KeepValues, 1, 1001, engine.MaxN)
	w.Sums = []int{1, 3}
	w.Algorithm = "table"
	w.Params = engine.Params{"base": 1<<63 - 1}
	huge, _ := new(big.Int).SetString("123456789012345678901234567890123456789012345678901234567890", 10)
	w.Checkpoints = []jobs.Checkpoint{{N: 20, Want: big.NewInt(4)}, {N: engine.MaxN, Power: 3, Want: huge}}
	f := newRun(t, s, w, Sweep(t, "other", jobs.KeepSums, 1, 51))
	got, err := s.Run(f.ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, f.run) {
		t.Fatalf("read\n%+v\nwant\n%+v", got, f.run)
	}
}

func testStates(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 101))
	set := func(from []jobs.State, to jobs.State, reason string) error {
		return s.SetState(f.ctx, f.run.ID, from, to, reason)
	}
	var se *jobs.StateError
	if err := set([]jobs.State{jobs.Paused, jobs.Failed}, jobs.Complete, ""); !errors.As(err, &se) || se.State != jobs.Running {
		t.Fatalf("complete a run that is not paused or failed: %v", err)
	}
	if err := set([]jobs.State{jobs.Paused, jobs.Running}, jobs.Halted, "a checkpoint differs"); err != nil {
		t.Fatal(err)
	}
	got, err := s.Run(f.ctx, "r")
	if err != nil || got.State != jobs.Halted || got.Reason != "a checkpoint differs" {
		t.Fatalf("state %q reason %q, %v", got.State, got.Reason, err)
	}
	if state, rev, err := s.Status(f.ctx, f.run.ID); err != nil || state != jobs.Halted || rev != 0 {
		t.Fatalf("status %s %d, %v", state, rev, err)
	}
	if err := set(nil, jobs.Running, ""); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Run(f.ctx, "r"); err != nil || got.State != jobs.Running || got.Reason != "" {
		t.Fatalf("state %q reason %q, %v", got.State, got.Reason, err)
	}
	if err := s.Delete(f.ctx, f.run.ID); err != nil {
		t.Fatal(err)
	}
	if err := set(nil, jobs.Running, ""); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("set the state of a deleted run: %v", err)
	}
	if _, _, err := s.Status(f.ctx, f.run.ID); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("status of a deleted run: %v", err)
	}
}

func testResult(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 101))
	result := []byte("{\"x\":\x00\xff}")
	if err := s.SetResult(f.ctx, f.run.ID, 0, result); err != nil {
		t.Fatal(err)
	}
	got, err := s.Run(f.ctx, "r")
	if err != nil || string(got.Result) != string(result) {
		t.Fatalf("result %q, %v", got.Result, err)
	}
	if err := s.SetResult(f.ctx, f.run.ID, 1, result); !errors.Is(err, jobs.ErrChanged) {
		t.Fatalf("result of another revision: %v", err)
	}
	if err := s.SetResult(f.ctx, jobs.RunID{Name: "r", Epoch: "gone"}, 0, result); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("result of another epoch: %v", err)
	}
	if _, err := s.Update(f.ctx, f.run.Manifest); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Run(f.ctx, "r"); err != nil || got.Result != nil {
		t.Fatalf("a changed plan kept the result %q, %v", got.Result, err)
	}
}

func testReplace(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1001))
	f.all()
	old := *f
	m := jobs.Manifest{ID: jobs.RunID{Name: "r", Epoch: jobs.NewEpoch()}, Sweeps: f.run.Sweeps}
	run, err := s.Replace(f.ctx, f.run.ID, m)
	if err != nil || run.Number != 2 || run.ID != m.ID {
		t.Fatalf("replaced by %+v, %v", run, err)
	}
	// The same call again, as a client does that lost the answer.
	again, err := s.Replace(f.ctx, f.run.ID, m)
	if err != nil || !reflect.DeepEqual(again, run) {
		t.Fatalf("repeated: %+v, %v", again, err)
	}
	f.run = run
	f.check(func(int64) bool { return false })
	if _, err := s.Commit(f.ctx, old.commitOf(0, 3)); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("commit to the old epoch: %v", err)
	}
	if keys := keysWith(t, s, old.run.ID.Epoch); len(keys) != 0 {
		t.Fatalf("keys of the old epoch are left: %v", keys)
	}
	f.all()
	f.check(always)
	if _, err := s.Replace(f.ctx, old.run.ID, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: run.Sweeps}); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("replaced an epoch that is not there: %v", err)
	}
	if _, err := s.Replace(f.ctx, run.ID, jobs.Manifest{ID: jobs.RunID{Name: "q"}, Sweeps: run.Sweeps}); err == nil {
		t.Fatal("replaced a run by another name")
	}
}

func testDelete(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 20_001, 5_000_000), Sweep(t, "q", jobs.KeepSums, 1, 501))
	other, err := s.Create(f.ctx, jobs.Manifest{ID: jobs.RunID{Name: "r2"}, Sweeps: f.run.Sweeps})
	if err != nil {
		t.Fatal(err)
	}
	f.all()
	late := f.commitOf(0, 10)
	id := f.run.ID
	if err := s.PutTasks(f.ctx, id, []jobs.Task{{Run: id, Sweep: "s", Engine: "test", Version: 1, Keep: jobs.KeepValues, Lo: 1, Hi: 51}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Delete(f.ctx, id); err != nil {
			t.Fatal(err)
		}
		if keys := keysWith(t, s, id.Epoch); len(keys) != 0 {
			t.Fatalf("left after deletion: %v", keys)
		}
	}
	if _, err := s.Run(f.ctx, "r"); !errors.Is(err, jobs.ErrNoRun) {
		t.Fatalf("a deleted run: %v", err)
	}
	if _, err := s.Run(f.ctx, other.ID.Name); err != nil {
		t.Fatalf("another run went too: %v", err)
	}
	fenced := map[string]error{}
	_, fenced["commit"] = s.Commit(f.ctx, late)
	_, fenced["points"] = s.Commit(f.ctx, jobs.Commit{Run: id, Sweep: "s", Keep: jobs.KeepValues, Points: []jobs.PointValue{jobs.NewPoint(5_000_000, Value(5_000_000))}})
	_, fenced["ledger"] = s.Ledger(f.ctx, id, f.sweep())
	_, fenced["beat"] = s.Beat(f.ctx, id, jobs.Beat{Task: "t", Worker: "w"})
	_, fenced["lead"] = s.Lead(f.ctx, id, "me", 1e9)
	_, fenced["update"] = s.Update(f.ctx, f.run.Manifest)
	fenced["tasks"] = s.PutTasks(f.ctx, id, []jobs.Task{{Run: id, Sweep: "s", Engine: "test", Keep: jobs.KeepValues, Lo: 1, Hi: 51}})
	fenced["failure"] = s.AddFailure(f.ctx, id, jobs.Failure{Sweep: "s", Lo: 1, Hi: 2})
	fenced["state"] = s.SaveState(f.ctx, id, "k", []byte("v"))
	for what, err := range fenced {
		if !errors.Is(err, jobs.ErrFenced) {
			t.Errorf("%s of a deleted run: %v", what, err)
		}
	}
	again, err := s.Create(f.ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: f.run.Sweeps})
	if err != nil || again.Number != 2 || again.ID.Epoch == id.Epoch {
		t.Fatalf("recreated as %+v, %v", again, err)
	}
	if _, err := s.Commit(f.ctx, late); !errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("a late commit after recreation: %v", err)
	}
	f.run = again
	f.check(func(int64) bool { return false })
	if keys := keysWith(t, s, id.Epoch); len(keys) != 0 {
		t.Fatalf("the late comers wrote %v", keys)
	}
}

func testGraves(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 20_001))
	f.all()
	// A deletion that was killed after its first step: the manifest is gone,
	// the other keys are there.
	c := s.Client()
	for _, err := range []error{
		c.SAdd(f.ctx, "nsweep:graves", f.run.ID.String(), "nonsense*").Err(),
		c.Del(f.ctx, "nsweep:{"+f.run.ID.String()+"}:manifest").Err(),
		c.HDel(f.ctx, "nsweep:runs", "r").Err(),
		c.Set(f.ctx, "nonsense-kept", "x", 0).Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	other, err := s.Create(f.ctx, jobs.Manifest{ID: jobs.RunID{Name: "else"}, Sweeps: f.run.Sweeps})
	if err != nil {
		t.Fatal(err)
	}
	if keys := keysWith(t, s, f.run.ID.Epoch); len(keys) != 0 {
		t.Fatalf("left: %v", keys)
	}
	if n, err := c.SCard(f.ctx, "nsweep:graves").Result(); err != nil || n != 0 {
		t.Fatalf("%d graves, %v", n, err)
	}
	if v, err := c.Get(f.ctx, "nonsense-kept").Result(); err != nil || v != "x" {
		t.Fatalf("an entry that is no epoch was used as a pattern: %q, %v", v, err)
	}
	// A grave of a run that is alive is a mistake.
	if err := c.SAdd(f.ctx, "nsweep:graves", other.ID.String()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Bury(f.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(f.ctx, "else"); err != nil {
		t.Fatalf("a living run was buried: %v", err)
	}
}

// keysWith lists the keys that hold a text.
func keysWith(t *testing.T, s *store.Store, text string) []string {
	t.Helper()
	keys, err := s.Client().Keys(context.Background(), "*"+text+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
