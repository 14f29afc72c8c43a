package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// bench is a feeder over fakes, running in a bubble of fake time.
type bench struct {
	t     *testing.T
	sweep jobs.Sweep
	store *fakeStore
	queue *fakeQueue
	check *fakeChecker
	begun int // how many checkers were made
	svc   *Service
	end   chan Ended
	stop  context.CancelFunc
}

// newBench starts a feeder on n = 1…hi−1 whose values cost 10 ms each.
func newBench(t *testing.T, hi int64, points ...int64) *bench {
	b := newIdleBench(t, hi, points...)
	b.lead()
	return b
}

// newVerified is newBench for a run of which a share is to be confirmed.
func newVerified(t *testing.T, share, hi int64, points ...int64) *bench {
	b := newIdleBench(t, hi, points...)
	b.store.run.Verify = share
	b.lead()
	return b
}

// newIdleBench is newBench before it starts.
func newIdleBench(t *testing.T, hi int64, points ...int64) *bench {
	set, err := jobs.NewSet(1, hi, points)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, sweep: toySweep(set), queue: newFakeQueue(), check: &fakeChecker{}, end: make(chan Ended, 1)}
	b.store = newFakeStore(b.sweep)
	model := NewModel(engine.NewRegistry(toy{per: func(int64) float64 { return 10e6 }}), nil)
	b.svc = &Service{Store: b.store, Queue: b.queue, Model: model,
		NewChecker: func(jobs.Run) Checker { b.begun++; return b.check }, Options: Options{Owner: "me", MinWindow: 4, PerSlot: 1}}
	return b
}

// lead starts the scheduler.
func (b *bench) lead() {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.stop = cancel
	go func() {
		end, err := b.svc.Lead(ctx, "r")
		if err != nil && !errors.Is(err, context.Canceled) {
			b.t.Error(err)
		}
		b.end <- end
	}()
	b.pass(time.Second)
}

// pass lets time go by until everything is at rest.
func (b *bench) pass(d time.Duration) {
	time.Sleep(d) // in the bubble's fake time
	synctest.Wait()
}

// tasks returns the outstanding tasks.
func (b *bench) tasks() []jobs.Task {
	t, err := b.store.Tasks(b.t.Context(), jobs.RunID{})
	if err != nil {
		b.t.Error(err)
	}
	return t
}

// outstanding reports whether the scheduler still waits for a task.
func (b *bench) outstanding(t jobs.Task) bool {
	return slices.ContainsFunc(b.tasks(), func(x jobs.Task) bool { return x.ID() == t.ID() })
}

// puts returns how many tasks were ever given out.
func (b *bench) puts() (k int) {
	b.store.set(func() { k = len(b.store.given) })
	return k
}

// take takes the next task as the worker and beats once.
func (b *bench) take(worker string) jobs.Task {
	b.t.Helper()
	t, ok := b.queue.take()
	if !ok {
		b.t.Fatal("no task is waiting")
	}
	b.store.join(worker, b.sweep)
	b.store.beat(worker, t, jobs.Beat{})
	return t
}

// finish commits a task and lets go of it.
func (b *bench) finish(worker string, t jobs.Task) {
	b.store.commitBy(worker, b.sweep, t)
	b.store.beat(worker, t, jobs.Beat{Ended: true})
	b.queue.done(t)
}

// serve takes tasks as the worker, one after the other, until there has been
// none for a while. Those that own takes care of are its own; the others are
// finished.
func (b *bench) serve(worker string, patience time.Duration, own func(jobs.Task) bool) {
	b.t.Helper()
	for range 10_000 {
		t, ok := b.queue.take()
		if !ok {
			b.pass(patience)
			if t, ok = b.queue.take(); !ok {
				return
			}
		}
		b.store.join(worker, b.sweep)
		b.store.beat(worker, t, jobs.Beat{})
		if own == nil || !own(t) {
			b.finish(worker, t)
		}
	}
	b.t.Fatal("no end of tasks")
}

// drainAll works through every task that is or becomes available.
func (b *bench) drainAll(worker string) {
	b.t.Helper()
	b.serve(worker, 200*time.Millisecond, nil)
}

// fails lets the engine fail at n: what lies before is committed.
func (b *bench) fails(worker string, t jobs.Task, n int64) {
	if cell := b.sweep.Grid.CellAt(n); t.Lo < cell.Lo {
		done := t
		done.Hi = cell.Lo
		b.store.commit(b.sweep, done)
	}
	b.store.beat(worker, t, jobs.Beat{Ended: true, Error: "no"})
	b.queue.done(t)
}

// wantFailed expects that the cell of n is all that is not done of so many cells.
func (b *bench) wantFailed(n, cells int64) {
	b.t.Helper()
	cell := b.sweep.Grid.CellAt(n)
	if f := b.store.failures; len(f) != 1 || f[0].Lo != cell.Lo || f[0].Hi != cell.Hi {
		b.t.Errorf("failures %+v, want the cell %v", f, cell)
	}
	if done := b.store.ledgers["s"].DoneCells(); done != cells-1 {
		b.t.Errorf("%d cells done, want all but one of %d", done, cells)
	}
}

// state reads the run's state.
func (b *bench) state() (s jobs.State) {
	b.store.set(func() { s = b.store.run.State })
	return s
}

func (b *bench) wantEnd(state jobs.State, reason string) {
	b.t.Helper()
	b.pass(2 * time.Second)
	select {
	case e := <-b.end:
		if e.State != state || !strings.Contains(e.Reason, reason) {
			b.t.Errorf("ended %s (%s), want %s (%s)", e.State, e.Reason, state, reason)
		}
		if b.check.closed != b.begun {
			b.t.Errorf("%d checkers were made and %d closed", b.begun, b.check.closed)
		}
	default:
		b.stop()
		b.t.Errorf("still going on, want %s", state)
	}
}

func TestFeederCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001, 90_000)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
		if b.check.finished != 1 || string(b.store.result) != "result" {
			t.Errorf("finished %d times with result %q", b.check.finished, b.store.result)
		}
		if len(b.tasks()) != 0 || len(b.store.beats) != 0 || b.store.leader != "" {
			t.Errorf("left behind: tasks %v, beats %v, leader %q", b.tasks(), b.store.beats, b.store.leader)
		}
	})
}

// TestFeederWindow: however many tasks there are, few are outstanding.
func TestFeederWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 60_001)
		for range 20 {
			if k := len(b.tasks()); k != 2 {
				t.Fatalf("%d tasks outstanding, want 2, which are work for 10 s", k)
			}
			task := b.take("w")
			b.finish("w", task)
			b.pass(time.Second)
		}
		b.stop()
	})
}

// TestSilentWorker: cells of a worker that fell silent are given out again
// after 35 s, and not before.
func TestSilentWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		lost := b.take("dead")
		for range 6 {
			b.pass(5 * time.Second)
			b.store.beat("dead", lost, jobs.Beat{Fraction: 0.5})
		}
		b.pass(34 * time.Second)
		if !b.outstanding(lost) {
			t.Fatal("given out again too early")
		}
		b.pass(2 * time.Second)
		if b.outstanding(lost) {
			t.Fatal("not given out again after 36 s of silence")
		}
		again := false
		b.serve("w", time.Second, func(task jobs.Task) bool {
			again = again || (task.Lo == lost.Lo && task.Attempt == 1 && task.Deaths == 1 && task.Priority == jobs.High)
			return false
		})
		if !again {
			t.Error("the lost cells did not come again, before the others")
		}
		b.wantEnd(jobs.Complete, "")
	})
}

// TestGoodbye: the cells of a worker that left are given out at once.
func TestGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		lost := b.take("leaver")
		b.pass(2 * time.Second)
		b.store.set(func() { delete(b.store.workers, "leaver") })
		b.pass(4 * time.Second)
		if b.outstanding(lost) {
			t.Error("still waiting for a worker that said goodbye")
		}
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestDrainedTask: what a draining worker left undone is given out again
// without counting a death.
func TestDrainedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		task := b.take("w")
		half := task
		half.Hi = b.sweep.Grid.CellAt((task.Lo + task.Hi) / 2).Lo
		b.store.commit(b.sweep, half)
		b.store.beat("w", task, jobs.Beat{Ended: true})
		b.queue.done(task)
		b.pass(time.Second)
		found := false
		for _, x := range b.tasks() {
			if x.Lo == half.Hi && x.Hi == task.Hi {
				found = x.Attempt == 1 && x.Deaths == 0
			}
		}
		if !found {
			t.Errorf("the rest of %s is not outstanding: %v", task.ID(), b.tasks())
		}
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestLostEnqueue: a task that never reached asynq, though it looked so, is
// found and given out again.
func TestLostEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.queue.mu.Lock()
		b.queue.queue, b.queue.state = nil, map[string]jobs.QueueState{}
		b.queue.mu.Unlock()
		b.pass(12 * time.Second)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestOrphanInAsynq: active for ever in asynq with no heartbeat.
func TestOrphanInAsynq(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		orphan, _ := b.queue.take() // taken, and the worker died before its first beat
		b.pass(60 * time.Second)
		if b.outstanding(orphan) {
			t.Error("still waiting for the orphan")
		}
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestStoreDown: an outage ends no run, costs no attempt where workers went on,
// and silence during it does not count.
func TestStoreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		task := b.take("w")
		b.store.set(func() { b.store.down = true })
		b.pass(45 * time.Second)
		b.store.set(func() { b.store.down = false })
		b.pass(5 * time.Second)
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

// TestKillerCell: one cell kills every worker that holds it. It is found by
// halving, fails after 5 deaths, and everything else completes.
func TestKillerCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const killer = 777
		b := newBench(t, 3001)
		deaths := 0
		b.serve("w", time.Minute, func(task jobs.Task) bool {
			if task.Lo > killer || task.Hi <= killer {
				return false
			}
			deaths++
			b.pass(40 * time.Second)
			b.queue.done(task)
			return true
		})
		b.wantEnd(jobs.Failed, "killed its worker")
		b.wantFailed(killer, 60)
		t.Logf("%d deaths", deaths)
	})
}

// TestEngineError: a cell whose engine returns an error is tried three times,
// found by being tried alone, and everything else completes.
func TestEngineError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bad = 1234
		b := newBench(t, 2001)
		tries := 0
		b.serve("w", time.Second, func(task jobs.Task) bool {
			if task.Lo > bad || task.Hi <= bad {
				return false
			}
			tries++
			b.fails("w", task, bad)
			return true
		})
		b.wantEnd(jobs.Failed, "no")
		if tries < 3 || tries > 4 {
			t.Errorf("%d tries, want 3, or 4 with the one that found it", tries)
		}
		b.wantFailed(bad, 40)
	})
}

func TestHalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.store.set(func() { b.check.halt = errors.New("expected 8151, found 8150") })
		task := b.take("w")
		b.finish("w", task)
		b.wantEnd(jobs.Halted, "expected 8151, found 8150")
		if b.store.run.State != jobs.Halted || len(b.tasks()) != 0 {
			t.Errorf("state %s, tasks %v", b.store.run.State, b.tasks())
		}
	})
}

// TestPauseWithdraws: a paused run leaves nothing in the queue.
func TestPauseWithdraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.store.set(func() { b.store.run.State = jobs.Paused })
		b.wantEnd(jobs.Paused, "")
		if _, ok := b.queue.take(); ok || len(b.tasks()) != 0 {
			t.Error("tasks are left")
		}
	})
}

// TestTakeover: a second scheduler waits while the first leads, then goes on
// with the outstanding tasks instead of giving their cells out twice.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		task := b.take("w")
		second := *b.svc
		second.Options.Owner = "second"
		if _, err := second.Lead(t.Context(), "r"); !errors.Is(err, ErrLed) {
			t.Fatalf("second leader: %v", err)
		}
		b.stop()
		<-b.end
		puts := b.puts()
		go func() {
			end, err := second.Lead(t.Context(), "r")
			if err != nil {
				t.Error(err)
			}
			b.end <- end
		}()
		b.pass(2 * time.Second)
		if b.puts() != puts {
			t.Errorf("%d tasks were given out though the window was full", b.puts()-puts)
		}
		b.finish("w", task)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
	})
}

// TestReplan: a changed plan is taken up by the same leader.
func TestReplan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3001)
		b.store.set(func() {
			set, err := jobs.NewSet(1, 3501, nil)
			if err != nil {
				t.Error(err)
			}
			s := toySweep(set)
			old := b.store.ledgers["s"]
			l := jobs.NewLedger(s.Cells())
			for i := range int64(60) {
				if old.Done(i) {
					l.Mark(i)
				}
			}
			b.store.ledgers["s"] = l
			b.store.run.Rev++
			b.store.run.Sweeps = []jobs.Sweep{s}
			b.sweep = s
		})
		b.pass(time.Second)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
		if done := b.store.ledgers["s"].DoneCells(); done != 70 {
			t.Errorf("%d cells done, want 70", done)
		}
	})
}
