package scheduler

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// TestDeletedRunLeavesNoTasks: what was given out of a run that is deleted does
// not stay in the queue; a task that a worker has taken is left to it.
func TestDeletedRunLeavesNoTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newIdleBench(t, 60_001)
		ended := make(chan error, 1)
		go func() {
			_, err := b.svc.Lead(t.Context(), "r")
			ended <- err
		}()
		b.pass(time.Second)
		held := b.take("w")
		b.pass(time.Second)
		if len(b.queue.queue) == 0 {
			t.Fatal("no task is waiting")
		}
		b.store.set(func() { b.store.gone = true })
		b.pass(time.Second)
		if err := <-ended; !errors.Is(err, jobs.ErrFenced) {
			t.Errorf("the lead ends with %v", err)
		}
		if len(b.queue.queue) > 0 {
			t.Errorf("%d tasks are left in the queue", len(b.queue.queue))
		}
		if state, _ := b.queue.State(held); state != jobs.Active {
			t.Errorf("the task under way is %v", state)
		}
	})
}
