package worker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// tracingStore keeps the origins of all commits.
type tracingStore struct {
	*fakeStore
	mu      sync.Mutex
	origins []jobs.Origin
}

func (s *tracingStore) Commit(ctx context.Context, c jobs.Commit) (jobs.Committed, error) {
	s.mu.Lock()
	if c.Origin == nil {
		s.origins = append(s.origins, jobs.Origin{})
	} else {
		s.origins = append(s.origins, *c.Origin)
	}
	s.mu.Unlock()
	return s.fakeStore.Commit(ctx, c)
}

// TestOrigins: every commit says who computes, how, how far, and since when;
// commits of one task have one number.
func TestOrigins(t *testing.T) {
	s := &tracingStore{fakeStore: newFakeStore()}
	me := jobs.Worker{ID: "host:1:abcd1234", Host: "host", PID: 1, Slots: 1, Build: "b", CPU: "c"}
	// Each commit takes the cells of a moment, so a task has several.
	w := New(s, engine.NewRegistry(testengine.New(testengine.Options{PerCell: time.Millisecond})), Options{Self: me, CommitEvery: time.Nanosecond})
	first := task(1, 1001)
	first.Attempt = 3
	points := task(1, 2)
	points.Lo, points.Hi, points.Points, points.Algorithm = 0, 0, []int64{5, 7, 2000}, "again"
	for _, x := range []jobs.Task{first, points, task(1001, 1051)} {
		if err := process(w, x); err != nil {
			t.Fatal(err)
		}
	}
	last := map[int64]jobs.Origin{}
	for i, o := range s.origins {
		if err := o.Check(); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
		before, seen := last[o.Seq]
		if seen && (o.Hi <= before.Hi || o.Took < before.Took || o.Lo != before.Lo || !o.Began.Equal(before.Began)) {
			t.Errorf("origin %+v after %+v", o, before)
		}
		if fmt.Sprint(o.Worker) != fmt.Sprint(me) || time.Since(o.Began) < o.Took {
			t.Errorf("origin %+v", o)
		}
		last[o.Seq] = o
	}
	if len(last) != 3 || len(s.origins) <= 3 {
		t.Fatalf("%d tasks in %d commits", len(last), len(s.origins))
	}
	for seq, want := range []jobs.Origin{
		{Lo: 1, Hi: 1001, Attempt: 3, Algorithm: "plain"}, {Lo: 5, Hi: 2001, Points: 3, Algorithm: "again"}, {Lo: 1001, Hi: 1051, Algorithm: "plain"},
	} {
		got := last[int64(seq)]
		if got.Lo != want.Lo || got.Hi != want.Hi || got.Points != want.Points || got.Attempt != want.Attempt || got.Algorithm != want.Algorithm {
			t.Errorf("task %d has origin %+v, want %+v", seq, got, want)
		}
	}
	if took := last[0].Took; took < 20*time.Millisecond {
		t.Errorf("20 cells of 1 ms took %s", took)
	}
	if a, b := w.number(jobs.RunID{Name: "a"}, "s"), w.number(jobs.RunID{Name: "b"}, "s"); a != 0 || b != 0 {
		t.Errorf("other runs begin with %d and %d", a, b)
	}
}
