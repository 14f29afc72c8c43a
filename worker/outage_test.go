package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// TestOutage: the store is gone for 45 s and asynq gives up its lease in the
// middle of it. The task goes on, loses nothing, and tells its end when the
// store is back.
func TestOutage(t *testing.T) {
	for name, from := range map[string]time.Duration{"in the middle": 10 * time.Second, "at the end": 58 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeStore()
				w := newWorker(f, testengine.Options{PerCell: time.Second})
				ctx, lease := context.WithCancel(t.Context())
				begin, done := time.Now(), make(chan error, 1)
				go func() {
					done <- w.ProcessTask(ctx, asynq.NewTask(jobs.TaskKind, task(1, 3001).Encode()))
				}()
				time.Sleep(from)
				f.setDown(true)
				time.Sleep(30 * time.Second)
				lease()
				time.Sleep(15 * time.Second)
				f.setDown(false)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				checkCells(t, f, 1, 3001)
				if b := f.last(); !b.Ended || b.Error != "" || b.Fraction != 1 {
					t.Errorf("last beat %+v", b)
				}
				// While it waits for the store the engine computes on, until what
				// waits to be stored fills a batch for each commit under way.
				if took := time.Since(begin); took > max(60*time.Second, from+48*time.Second) {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

// TestDrainInOutage: a worker that drains while the store is gone does not wait
// for it for ever.
func TestDrainInOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		w := newWorker(f, testengine.Options{PerCell: time.Second})
		done := make(chan error, 1)
		go func() { done <- process(w, task(1, 3001)) }()
		time.Sleep(10 * time.Second)
		f.setDown(true)
		time.Sleep(time.Minute)
		begin := time.Now()
		w.Drain()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("the drain took %s", took)
		}
	})
}

// TestSameTaskTwice: asynq gives a task out again to the worker that still
// computes it. It is computed once.
func TestSameTaskTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		w := newWorker(f, testengine.Options{PerCell: time.Second})
		done := make(chan error, 1)
		go func() { done <- process(w, task(1, 1001)) }()
		time.Sleep(3 * time.Second)
		begin := time.Now()
		if err := process(w, task(1, 1001)); err != nil || time.Since(begin) > 0 {
			t.Errorf("the second one took %s, %v", time.Since(begin), err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		checkCells(t, f, 1, 1001)
	})
}

// TestNeverMoreThanSlots: asynq frees the slot of a task whose lease it lost.
// The next task beats, says that it waits, and begins when there is a seat.
func TestNeverMoreThanSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		w := newWorker(f, testengine.Options{PerCell: time.Second})
		done := make(chan error, 2)
		go func() { done <- process(w, task(1, 1001)) }()
		time.Sleep(time.Millisecond)
		go func() { done <- process(w, task(1001, 1051)) }()
		time.Sleep(19 * time.Second)
		waits := 0
		for _, b := range f.beatsOf(task(1001, 1051)) {
			if b.Waiting {
				waits++
			} else {
				t.Errorf("beat %+v of a task that has no seat", b)
			}
		}
		if waits < 4 {
			t.Errorf("%d beats of a task that waits 19 s", waits)
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		checkCells(t, f, 1, 1051)
	})
}

// TestAlone: a task that must be alone waits for the others and keeps them
// waiting, and says when it begins.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		reg := engine.NewRegistry(testengine.New(testengine.Options{PerCell: time.Second}))
		w := New(f, reg, Options{Self: jobs.Worker{ID: "w", Slots: 2}})
		lone := task(101, 201)
		lone.Alone = true
		done := make(chan error, 3)
		for _, tk := range []jobs.Task{task(1, 101), lone, task(201, 301)} {
			go func() { done <- process(w, tk) }()
			time.Sleep(time.Millisecond)
		}
		begin := time.Now()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begin).Round(time.Second); took != 6*time.Second {
			t.Errorf("took %s, want 2 s for each, one after the other", took)
		}
		checkCells(t, f, 1, 301)
		beats := f.beatsOf(lone)
		if len(beats) < 3 || !beats[0].Waiting || beats[1].Waiting || beats[1].Ended {
			t.Errorf("beats %+v, want one that waits, then one that begins", beats)
		}
	})
}

// TestLastingErrorEndsTheTask: what the store will refuse for ever is not tried
// for ever, and the reason is told.
func TestLastingErrorEndsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.lasting = jobs.Lasting(errors.New("WRONGTYPE key nsweep:x holds a hash"))
		begin := time.Now()
		if err := process(newWorker(f, testengine.Options{PerCell: 100 * time.Millisecond}), task(1, 5001)); err != nil {
			t.Fatal(err)
		}
		if b := f.last(); !b.Ended || !strings.Contains(b.Error, "WRONGTYPE") {
			t.Errorf("last beat %+v", b)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}
