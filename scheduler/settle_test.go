package scheduler

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// contradict makes the cell with n = 51 disputed: a has stored it, b says
// something else. The workers named are at hand.
func (b *bench) contradict(workers ...string) {
	for _, w := range workers {
		b.store.join(w, b.sweep)
	}
	cell := b.sweep.Grid.CellAt(51)
	b.store.set(func() {
		b.store.origins = []jobs.Origin{{Worker: jobs.Worker{ID: "a"}, Lo: 1, Hi: 3001}, {Worker: jobs.Worker{ID: "c"}, Lo: 3001, Hi: 4001}}
		b.store.disputes = map[string][]jobs.Dispute{b.sweep.Name: {{Cell: cell.Index, N: cell.Lo, Claims: []jobs.Claim{{By: `"b" some task`}}}}}
		b.dispute(1)
	})
}

// dispute sets the counter; the store is locked.
func (b *bench) dispute(k int64) {
	c := b.store.counts[b.sweep.Name]
	c.Disputed = k
	b.store.counts[b.sweep.Name] = c
}

// TestDisputeIsSettled: a disputed cell is given out again and again, until a
// worker that has not spoken computes it. Then everything is summed up anew.
func TestDisputeIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.contradict("a", "b", "c")
		b.drainAll("a")
		b.pass(5 * time.Second)
		again := b.tasks()
		if len(again) != 1 || !slices.Equal(again[0].Not, []string{"a", "b"}) || again[0].Hi-again[0].Lo != b.sweep.Grid.CellAt(51).Len() || again[0].Lo > 51 {
			t.Fatalf("outstanding %+v", again)
		}
		if b.store.run.State != jobs.Running {
			t.Fatalf("the run is %s", b.store.run.State)
		}
		c := again[0]
		if b.begun != 1 {
			t.Fatalf("begun %d times before anything is decided", b.begun)
		}
		b.store.set(func() { b.store.disputes = nil; b.dispute(0) })
		b.finish("c", c)
		b.drainAll("c")
		b.wantEnd(jobs.Complete, "")
		if b.begun != 2 {
			t.Errorf("summed up %d times, want once more after the decision", b.begun)
		}
	})
}

// TestDisputeBeforeHalt: a checkpoint that a disputed value fails halts nothing
// until the dispute is decided; one that fails afterwards does.
func TestDisputeBeforeHalt(t *testing.T) {
	for _, better := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 3001)
			b.contradict("a", "b", "c")
			b.store.set(func() { b.check.halt = errors.New("expected 8151, found 8150") })
			b.finish("a", b.take("a"))
			b.pass(5 * time.Second)
			k := slices.IndexFunc(b.tasks(), func(t jobs.Task) bool { return len(t.Not) > 0 })
			if b.store.run.State != jobs.Running || k < 0 {
				t.Fatalf("the run is %s, outstanding %+v", b.store.run.State, b.tasks())
			}
			c := b.tasks()[k]
			b.store.set(func() {
				b.store.disputes = nil
				b.dispute(0)
				if better {
					b.check.halt = nil
				}
			})
			b.finish("c", c)
			if !better {
				b.wantEnd(jobs.Halted, "expected 8151")
				return
			}
			b.pass(time.Minute)
			b.drainAll("c")
			b.wantEnd(jobs.Complete, "")
		})
	}
}

// TestDisputeWithoutJudge: when everybody at hand has spoken, the run waits a
// minute for another worker, then halts and says what is missing.
func TestDisputeWithoutJudge(t *testing.T) {
	for _, joins := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 3001)
			b.contradict("a", "b")
			b.drainAll("a")
			b.pass(50 * time.Second)
			if b.state() != jobs.Running {
				t.Fatal("halted before a third worker could join")
			}
			if !joins {
				b.pass(30 * time.Second)
				b.wantEnd(jobs.Halted, "computations of n = 51 on differ")
				return
			}
			b.store.join("c", b.sweep)
			b.pass(5 * time.Second)
			if !slices.ContainsFunc(b.tasks(), func(t jobs.Task) bool { return len(t.Not) > 0 }) {
				t.Fatalf("the dispute is not given to the worker that joined: %+v", b.tasks())
			}
			b.pass(2 * time.Minute)
			if b.state() != jobs.Running {
				t.Error("halted while the dispute is given out")
			}
			b.stop()
		})
	}
}

// TestDisputeCounterOff: a counter without a dispute keeps no run from its end.
func TestDisputeCounterOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.store.set(func() { b.dispute(2) })
		b.drainAll("a")
		b.wantEnd(jobs.Complete, "")
	})
}
