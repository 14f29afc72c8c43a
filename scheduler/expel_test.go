package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// convict puts a worker into quarantine, as the store does.
func (b *bench) convict(worker string) {
	b.store.set(func() {
		b.store.quarantine = append(b.store.quarantine, jobs.Quarantine{Worker: worker, Sweep: b.sweep.Name, N: 51, Value: "1", Won: "2", By: "c", Pending: true})
	})
}

// TestQuarantineOpensCells: what a worker has computed is given out again once it
// is in quarantine, its tasks as well, and the sums begin anew.
func TestQuarantineOpensCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 60_001)
		b.finish("bad", b.take("bad"))
		b.pass(time.Second)
		b.finish("good", b.take("good"))
		b.pass(time.Second)
		held := b.take("bad")
		b.pass(time.Second)
		done := b.store.ledgers["s"].DoneCells()
		b.convict("bad")
		b.pass(3 * time.Second)
		if left := b.store.ledgers["s"].DoneCells(); left >= done || left == 0 {
			t.Errorf("of %d cells %d are left", done, left)
		}
		if b.begun < 2 || b.outstanding(held) {
			t.Errorf("begun %d times; the task that it holds is outstanding: %v", b.begun, b.outstanding(held))
		}
		if q := b.store.quarantine[0]; q.Pending || q.Reopened == 0 {
			t.Errorf("quarantine %+v", q)
		}
		b.drainAll("good")
		b.wantEnd(jobs.Complete, "")
		m, _ := b.store.Marks(t.Context(), b.store.run.ID, b.sweep)
		first, last := b.sweep.Cells()
		for i := first; i < last; i++ {
			by, _ := m.Cell(i)
			if h, _ := m.Hand(by); h.Worker != "good" {
				t.Errorf("cell %d is from %q", i, h.Worker)
			}
		}
	})
}

// TestQuarantineIsResumed: a scheduler that dies while it opens cells leaves the
// rest to the next one, and nothing is given out before.
func TestQuarantineIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 60_001)
		b.finish("bad", b.take("bad"))
		b.pass(time.Second)
		b.store.set(func() { b.store.onExpel = func() error { return errDown } })
		b.convict("bad")
		b.pass(5 * time.Second)
		given := b.puts()
		b.stop()
		b.pass(15 * time.Second)
		<-b.end
		if q := b.store.quarantine[0]; !q.Pending {
			t.Fatalf("quarantine %+v", q)
		}
		b.store.set(func() { b.store.onExpel, b.store.leader = nil, "" })
		b.lead()
		b.pass(time.Second)
		if q := b.store.quarantine[0]; q.Pending || q.Reopened == 0 {
			t.Fatalf("quarantine %+v", q)
		}
		if b.puts() == given {
			t.Error("nothing is given out afterwards")
		}
		b.drainAll("good")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestQuarantineWhilePlanChanges: cells that come into the plan while another
// scheduler opens what their author has computed are opened as well, although
// that scheduler has never heard of them.
func TestQuarantineWhilePlanChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newIdleBench(t, 60_001)
		whole := b.sweep
		half := whole
		half.Set.Hi = 30_001
		b.store.commitBy("bad", whole, jobs.Task{Lo: 20_001, Hi: 40_001})
		opened := b.store.ledgers["s"].DoneCells()
		b.store.run.Sweeps = []jobs.Sweep{half}
		first := true
		b.store.onExpel = func() error { // the store is locked
			if first {
				first = false
				b.store.run.Sweeps = []jobs.Sweep{whole}
				b.store.run.Rev++
			}
			return nil
		}
		b.convict("bad")
		b.lead()
		if q := b.store.quarantine[0]; first || q.Pending || q.Reopened != opened || b.store.ledgers["s"].DoneCells() != 0 {
			t.Errorf("of %d cells %d are left, quarantine %+v", opened, b.store.ledgers["s"].DoneCells(), q)
		}
		b.drainAll("good")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestQuarantineWhileSweepLeaves: that a sweep leaves the plan while its cells are
// opened is a change of the plan, not the end of the run.
func TestQuarantineWhileSweepLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newIdleBench(t, 60_001)
		b.store.commitBy("bad", b.sweep, jobs.Task{Lo: 1, Hi: 10_001})
		first := true
		b.store.onExpel = func() error { // the store is locked
			if first {
				first = false
				b.store.run.Rev++
				return fmt.Errorf("%w: the run has no sweep x now", jobs.ErrFenced)
			}
			return nil
		}
		b.convict("bad")
		b.lead()
		if q := b.store.quarantine[0]; first || q.Pending {
			t.Errorf("quarantine %+v", q)
		}
		b.drainAll("good")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestTwoInQuarantine: what each of them has computed is opened.
func TestTwoInQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newIdleBench(t, 60_001)
		for i, w := range []string{"bad", "worse", "good"} {
			b.store.commitBy(w, b.sweep, jobs.Task{Lo: int64(i)*20_000 + 1, Hi: int64(i)*20_000 + 20_001})
		}
		b.convict("bad")
		b.convict("worse")
		b.lead()
		for _, q := range b.store.quarantine {
			if q.Pending || q.Reopened == 0 {
				t.Errorf("quarantine %+v", q)
			}
		}
		b.drainAll("good")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestQuarantinedIsNotAtHand: a worker in quarantine decides nothing, and checks
// are not kept for it.
func TestQuarantinedIsNotAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVerified(t, jobs.All, 3001)
		b.store.join("bad", b.sweep)
		b.convict("bad")
		b.pass(3 * time.Second)
		b.drainAll("a")
		b.wantEnd(jobs.Complete, "")
		if slices.ContainsFunc(b.store.given, func(x jobs.Task) bool { return len(x.Not) > 0 }) {
			t.Error("a check was kept for a worker in quarantine")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.contradict("a", "b", "bad")
		b.convict("bad")
		b.drainAll("a")
		b.pass(80 * time.Second)
		b.wantEnd(jobs.Halted, "no worker is left that has not spoken")
	})
}
