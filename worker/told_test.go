package worker

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// TestObservers: what becomes of tasks and commits is told once each.
func TestObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.refuse = 2 // what is tried again is not told twice
		var mu sync.Mutex
		var tasks []string
		var values int64
		var cells jobs.Committed
		o := Options{Self: jobs.Worker{ID: "w", Slots: 2},
			OnTask: func(engine, outcome string, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				tasks = append(tasks, fmt.Sprint(engine, " ", outcome, " ", took.Round(time.Second)))
			},
			OnCommit: func(engine string, n int64, c jobs.Committed) {
				mu.Lock()
				defer mu.Unlock()
				if engine != "toy" {
					t.Errorf("a commit of %q", engine)
				}
				values += n
				cells.Add(c)
			}}
		w := New(f, engine.NewRegistry(testengine.New(testengine.Options{PerCell: time.Second, FailAt: 1_000_010})), o)
		points := task(0, 0)
		points.Points = []int64{7, 9, 11}
		for _, tk := range []jobs.Task{task(1, 501), task(1_000_001, 1_000_051), points} {
			if err := process(w, tk); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() { done <- process(w, task(2001, 4001)) }()
		time.Sleep(20*time.Second + 500*time.Millisecond)
		w.Drain()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		// One that another process is to compute, and one nobody waits for.
		not := task(1, 51)
		not.Not = []string{"w"}
		f.live = false
		for _, tk := range []jobs.Task{not, task(1, 51)} {
			if err := process(w, tk); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"toy done 10s", "toy failed 0s", "toy done 0s", "toy early 21s"}; !slices.Equal(tasks, want) {
			t.Errorf("told of tasks %q, want %q", tasks, want)
		}
		if values != 500+3+20*50 || cells.Stored != 10+3+20 {
			t.Errorf("told of %d values, %+v", values, cells)
		}
	})
}
