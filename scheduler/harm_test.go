package scheduler

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// TestLostCommits: Redis comes back without the last commits. They are computed
// again, and everything is summed up anew.
func TestLostCommits(t *testing.T) {
	for name, restart := range map[string]bool{"same name": false, "another name": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 3001, 90_000)
				for range 3 {
					task := b.take("w")
					b.finish("w", task)
					b.pass(time.Second)
				}
				b.store.set(func() {
					lost := jobs.NewLedger(b.sweep.Cells())
					first, last := b.sweep.Cells()
					for i := first; i < last; i++ {
						if b.store.ledgers["s"].Done(i) && i != 7 {
							lost.Mark(i)
						}
					}
					b.store.ledgers["s"] = lost
					b.store.counts["s"] = jobs.Counts{Cells: lost.DoneCells()}
					if restart {
						b.store.server = "another"
					}
				})
				b.pass(2 * time.Second)
				b.drainAll("w")
				b.wantEnd(jobs.Complete, "")
				if b.begun != 2 {
					t.Errorf("summed up %d times, want 2", b.begun)
				}
				if n := b.store.ledgers["s"].DoneCells(); n != 60 {
					t.Errorf("%d cells done, want 60", n)
				}
			})
		})
	}
}

// TestServerReplaced: another server with the same content is looked at anew,
// too: what it lost may have been committed again before anybody looked.
func TestServerReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		task := b.take("w")
		b.store.set(func() { b.store.server = "another" })
		b.pass(2 * time.Second)
		if b.begun != 2 || !b.outstanding(task) {
			t.Errorf("begun %d times, task outstanding: %t", b.begun, b.outstanding(task))
		}
		b.finish("w", task)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestFullStore: a store that answers but takes nothing keeps heartbeats away.
// No worker is taken for dead.
func TestFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		task := b.take("w")
		b.store.set(func() { b.store.full = true })
		b.pass(3 * time.Minute)
		b.store.set(func() { b.store.full = false })
		b.pass(4 * time.Second)
		b.store.beat("w", task, jobs.Beat{Fraction: 0.5})
		b.pass(20 * time.Second)
		if !b.outstanding(task) {
			t.Error("given out again though its worker is alive")
		}
		b.finish("w", task)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestFailedAfterAll: a cell that was given up is computed by a worker that was
// taken for dead. Neither is another cell forgotten because of it, nor is the
// run a failure.
func TestFailedAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		const bad = 2999 // in the last cell
		cell := b.sweep.Grid.CellAt(bad)
		var left jobs.Task
		for len(b.store.failures) == 0 {
			task := b.take("w")
			switch {
			case task.Lo == 1:
				left = task // stays with its worker, which goes on beating
			case task.Hi > bad:
				b.fails("w", task, bad)
			default:
				b.finish("w", task)
			}
			b.pass(time.Second)
			b.store.beat("w", left, jobs.Beat{})
		}
		b.store.commit(b.sweep, jobs.Task{Lo: cell.Lo, Hi: cell.Hi})
		b.store.beat("w", left, jobs.Beat{})
		b.pass(5 * time.Second)
		if b.store.run.State != jobs.Running {
			t.Fatalf("run is %s while a task is under way", b.store.run.State)
		}
		b.finish("w", left)
		b.wantEnd(jobs.Complete, "")
		if len(b.store.failures) != 0 {
			t.Errorf("failures are left: %v", b.store.failures)
		}
	})
}

// TestPauseKeepsWhatIsUnderWay: what a worker is at stays outstanding through
// a pause, so that nobody computes it twice.
func TestPauseKeepsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		done, busy := b.take("w"), b.take("w")
		b.store.set(func() { b.store.run.State = jobs.Paused })
		b.wantEnd(jobs.Paused, "")
		if _, ok := b.queue.take(); ok || len(b.tasks()) != 2 {
			t.Errorf("outstanding in the pause: %v", b.tasks())
		}
		b.finish("w", done)
		b.store.set(func() { b.store.run.State = jobs.Running })
		puts := b.puts()
		b.lead()
		b.store.beat("w", busy, jobs.Beat{})
		b.pass(time.Second)
		if b.outstanding(done) || !b.outstanding(busy) {
			t.Errorf("after the pause: ended task outstanding %t, busy one %t", b.outstanding(done), b.outstanding(busy))
		}
		b.finish("w", busy)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
		given := int64(0)
		for _, x := range b.store.given[puts:] {
			given += x.Count()
		}
		if want := 3000 - done.Count() - busy.Count(); given != want {
			t.Errorf("%d n given out after the pause, want %d", given, want)
		}
	})
}

// TestDeadLeader: the lock of a process that is known to be gone is taken at
// once.
func TestDeadLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.stop()
		<-b.end
		b.store.set(func() { b.store.leader = "gone" })
		if _, err := b.svc.Lead(t.Context(), "r"); !errors.Is(err, ErrLed) {
			t.Fatalf("the lock of another was taken: %v", err)
		}
		b.svc.Options.Dead = func(name string) bool { return name == "gone" }
		b.lead()
		if b.store.leader != "me" {
			t.Errorf("leader is %q", b.store.leader)
		}
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestDamagedStore: an error that lasts ends the lead instead of being tried for
// ever.
func TestDamagedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.stop()
		<-b.end
		b.store.set(func() { b.store.damage = jobs.Lasting(errors.New("key x holds 3 bytes instead of 512")) })
		if _, err := b.svc.Lead(t.Context(), "r"); err == nil || !strings.Contains(err.Error(), "holds 3 bytes") {
			t.Errorf("Lead gives %v", err)
		}
		if b.store.leader != "" {
			t.Error("the lock is kept")
		}
	})
}

// TestCancelledAtTheEnd: a user cancels in the moment in which the scheduler
// declares the run complete. That is no error, and the user's word counts.
func TestCancelledAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 501)
		b.store.set(func() {
			b.store.onResult = func() { b.store.run.State = jobs.Cancelled } // between result and state
		})
		b.drainAll("w")
		b.wantEnd(jobs.Cancelled, "")
	})
}

func TestFinal(t *testing.T) {
	for err, want := range map[error]bool{
		jobs.ErrFenced: true, jobs.ErrNoRun: true, jobs.Lasting(errDown): true, errDown: false, ErrLed: false, errFull: false,
	} {
		if Final(err) != want {
			t.Errorf("Final(%v) is %t", err, !want)
		}
	}
}

// dies lets a task's worker fall silent after one more beat and returns the task
// that holds what is left of its cells afterwards.
func (b *bench) dies(task jobs.Task, beat jobs.Beat) jobs.Task {
	b.t.Helper()
	b.queue.take()
	b.store.beat("w", task, beat)
	b.pass(40 * time.Second)
	b.queue.done(task)
	for _, x := range b.tasks() {
		if x.Hi == task.Hi {
			return x
		}
	}
	b.t.Fatalf("the cells of %s are not outstanding: %v", task.ID(), b.tasks())
	return jobs.Task{}
}

// TestWhatCountsAsADeath: silence does while there is no progress; waiting for a
// seat, a goodbye and a lost reply do not. After the last but one death the task
// is computed alone.
func TestWhatCountsAsADeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		task := b.take("w")
		b.drainAll("w") // the others
		want := func(what string, deaths int, alone bool) {
			t.Helper()
			if task.Deaths != deaths || task.Alone != alone {
				t.Fatalf("%s: %d deaths, alone %t; want %d, %t", what, task.Deaths, task.Alone, deaths, alone)
			}
		}
		task = b.dies(task, jobs.Beat{Waiting: true})
		want("waiting", 0, false)
		for i := range 3 {
			task = b.dies(task, jobs.Beat{})
			want("silent", i+1, false)
		}
		// Progress: the next death is of a cell further on.
		begin := task
		begin.Hi = b.sweep.Grid.CellAt(task.Lo).Hi
		b.store.commit(b.sweep, begin)
		task = b.dies(task, jobs.Beat{})
		want("silent after progress", 1, false)
		if task.Lo != begin.Hi {
			t.Errorf("the rest begins at %d, want %d", task.Lo, begin.Hi)
		}
		// The worker lives and speaks of other things.
		b.store.set(func() {
			w := b.store.workers["w"]
			w.AtMs = time.Now().Add(36 * time.Second).UnixMilli()
			b.store.workers["w"] = w
		})
		task = b.dies(task, jobs.Beat{})
		want("let go", 1, false)
		b.store.set(func() { b.store.workers["w"] = jobs.Worker{ID: "w"} })
		for i := range 3 {
			task = b.dies(task, jobs.Beat{})
			want("silent again", i+2, i == 2)
		}
		b.stop()
	})
}

func TestWindowFollowsTheWorkers(t *testing.T) {
	f := NewFeeder(nil, nil, nil, nil, jobs.Run{}, Options{})
	for _, c := range []struct{ ended, want int }{{0, 64}, {33, 128}, {60, 128}, {128, 256}, {1000, 512}, {1000, 1024}, {2000, 2048}, {2048, 2048}, {300, 2048}, {0, 1024}, {5, 512}} {
		f.ended = c.ended
		if f.resize(); f.window != c.want {
			t.Errorf("after %d ended the window is %d, want %d", c.ended, f.window, c.want)
		}
	}
	for _, c := range []struct {
		have  load
		slots int
		want  bool
	}{
		{load{0, 0}, 1, true}, {load{1, 100e9}, 1, true}, {load{2, 100e9}, 1, false}, {load{63, 9e9}, 1, true}, {load{63, 11e9}, 1, false},
		{load{512, 0}, 1, false}, {load{511, 0}, 1, true}, {load{512, 0}, 200, true}, {load{800, 0}, 200, false},
	} {
		if got := f.room(c.have, c.slots); got != c.want {
			t.Errorf("room beside %+v with %d slots: %t", c.have, c.slots, got)
		}
	}
}
