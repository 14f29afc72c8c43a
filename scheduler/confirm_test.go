package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// TestChecksCoverExactly stores cells by several workers bit by bit, lets the
// planner cut second computations meanwhile, which come back finished or not, and
// requires that every cell of the share is confirmed, none is in two hands, none
// is computed before it is stored or by its author while another is at hand.
func TestChecksCoverExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.Float64Range(1, 1e7).Draw(t, "cost")
		model := NewModel(engine.NewRegistry(toy{start: cost * 10, per: func(int64) float64 { return cost }}), nil)
		s := toySweep(genSet(t))
		first, last := s.Cells()
		share := rapid.SampledFrom([]int64{20_000, 300_000, 900_000, jobs.All}).Draw(t, "share")
		p, err := newSecond(s, model, share, rapid.Bool().Draw(t, "same"))
		if err != nil {
			t.Fatal(err)
		}
		p.maxCells = rapid.Int64Range(1, 300).Draw(t, "most cells")
		workers := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "workers")]
		p.second.others = func(not []string) bool {
			return slices.ContainsFunc(workers, func(w string) bool { return !slices.Contains(not, w) })
		}
		has := s.CheckSample(share).Of(s.Name)
		ready, confirmed := jobs.NewLedger(first, last), jobs.NewLedger(first, last)
		marks := jobs.NewMarks(first, last, []jobs.Hand{{Worker: "a"}, {Worker: "b"}, {Worker: "c"}, {Worker: "d"}})
		author := func() uint16 { return uint16(1 + rapid.IntRange(0, len(workers)-1).Draw(t, "author")) }
		next := first
		inHand := map[int64]bool{}
		var tasks []stretch
		for back := 0; ; {
			if next < last {
				to, by := min(last, next+rapid.Int64Range(0, 300).Draw(t, "stored")), author()
				for ; next < to; next++ {
					ready.Mark(next)
					marks.Set(next, by, 0)
				}
				if next == last {
					for _, n := range s.Set.Points {
						ready.MarkPoint(n)
						marks.SetPoint(n, author(), 0)
					}
				}
			} else if first == last {
				for _, n := range s.Set.Points {
					ready.MarkPoint(n)
				}
			}
			p.stored(ready, marks)
			whole := next < last
			x, _, ok, err := p.next(rapid.Float64Range(1e3, 1e9).Draw(t, "want"), whole)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				task := p.task(jobs.RunID{Name: "r", Epoch: "e"}, 0, x, 0)
				authors := map[string]bool{}
				chosen := func(i int64, stored, done bool, by uint16) {
					if inHand[i] || !stored || done {
						t.Fatalf("%d is given out: in hand %v, stored %v, confirmed %v", i, inHand[i], stored, done)
					}
					inHand[i] = true
					if h, ok := marks.Hand(by); ok {
						authors[h.Worker] = true
					}
				}
				cells := int64(0)
				for _, part := range task.Parts(s.Grid) {
					a, b := s.Grid.Range(part.Lo, part.Hi)
					for i := a; i < b; i++ {
						if !has(i) {
							t.Fatalf("cell %d is not in the share", i)
						}
						by, _ := marks.Cell(i)
						chosen(i, ready.Done(i), confirmed.Done(i), by)
						cells++
					}
				}
				for _, n := range task.Points {
					by, _ := marks.Point(n)
					chosen(-n, ready.PointDone(n), confirmed.PointDone(n), by)
				}
				if cells+int64(len(task.Points)) == 0 || cells > p.maxCells {
					t.Fatalf("a task of %d cells, at most %d are allowed", cells, p.maxCells)
				}
				if len(authors) < len(workers) {
					if len(task.Not) != len(authors) {
						t.Fatalf("%v keep away from what %v stored", task.Not, authors)
					}
				} else if len(authors) > 1 || len(task.Not) > 0 {
					t.Fatalf("a task for nobody: from %v, not for %v", authors, task.Not)
				}
				tasks = append(tasks, x)
			}
			if len(tasks) == 0 {
				if !ok && !whole {
					break
				}
				continue
			}
			if ok && rapid.Bool().Draw(t, "go on") {
				continue
			}
			k := rapid.IntRange(0, len(tasks)-1).Draw(t, "which")
			x = tasks[k]
			tasks = slices.Delete(tasks, k, k+1)
			all := back > 50 || rapid.Bool().Draw(t, "all")
			if !all {
				back++
			}
			for i := x.first; i < x.last; i++ {
				delete(inHand, i)
				if has(i) && (all || rapid.Bool().Draw(t, "confirmed")) {
					confirmed.Mark(i)
				}
			}
			for _, n := range x.points {
				delete(inHand, -n)
				if all {
					confirmed.MarkPoint(n)
				}
			}
			l := jobs.NewLedger(first, last)
			for i := first; i < last; i++ {
				if confirmed.Done(i) {
					l.Mark(i)
				}
			}
			for _, n := range s.Set.Points {
				if confirmed.PointDone(n) {
					l.MarkPoint(n)
				}
			}
			p.confirm(l)
			x.attempt++
			p.requeue(x)
		}
		if open, failed := p.lacking(); open != 0 || failed != 0 {
			t.Fatalf("%d are not confirmed", open)
		}
		for i := first; i < last; i++ {
			if has(i) && !confirmed.Done(i) {
				t.Fatalf("cell %d is not confirmed", i)
			}
		}
		for _, n := range s.Set.Points {
			if has(-n) && !confirmed.PointDone(n) {
				t.Fatalf("point %d is not confirmed", n)
			}
		}
	})
}

// drainBy works through every task as the workers would: any of them takes the
// next one, and hands back what it must not compute. It returns who confirmed.
func (b *bench) drainBy(workers ...string) map[string]int {
	for _, w := range workers {
		b.store.join(w, b.sweep)
	}
	b.pass(2 * time.Second) // the scheduler looks who is there once a second
	checks := map[string]int{}
	any := rand.New(rand.NewPCG(1, 2))
	for idle := 0; idle < 40; {
		t, ok := b.queue.take()
		if !ok {
			idle++
			b.pass(100 * time.Millisecond)
			continue
		}
		idle = 0
		w := workers[any.IntN(len(workers))]
		b.store.beat(w, t, jobs.Beat{})
		if slices.Contains(t.Not, w) {
			b.store.beat(w, t, jobs.Beat{Ended: true})
			b.queue.done(t)
			continue
		}
		if t.Check > 0 {
			checks[w]++
		}
		b.finish(w, t)
	}
	return checks
}

// TestVerifiedByOthers: with two workers, each confirms what the other stored.
func TestVerifiedByOthers(t *testing.T) {
	for _, share := range []int64{jobs.All, 300_000} {
		synctest.Test(t, func(t *testing.T) {
			b := newVerified(t, share, 20_001, 90_000, 95_000)
			checks := b.drainBy("a", "b")
			b.wantEnd(jobs.Complete, "")
			if len(checks) != 2 {
				t.Errorf("checks %v", checks)
			}
			m, _ := b.store.Marks(t.Context(), b.store.run.ID, b.sweep)
			has := b.sweep.CheckSample(share).Of("s")
			first, last := b.sweep.Cells()
			for i := first; i < last; i++ {
				if by, chk := m.Cell(i); has(i) != (chk != 0) || by == chk {
					t.Errorf("cell %d is from %d and confirmed by %d", i, by, chk)
				}
			}
			for _, n := range b.sweep.Set.Points {
				if by, chk := m.Point(n); has(-n) != (chk != 0) || by == chk {
					t.Errorf("point %d is from %d and confirmed by %d", n, by, chk)
				}
			}
		})
	}
}

// TestVerifiedAlone: a worker without another beside it confirms its own.
func TestVerifiedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVerified(t, jobs.All, 3001, 90_000)
		b.drainAll("a")
		b.wantEnd(jobs.Complete, "")
		k := 0
		for _, x := range b.store.given {
			if x.Check > 0 {
				k++
			}
			if len(x.Not) > 0 {
				t.Errorf("nobody may compute %s", x.ID())
			}
		}
		if k == 0 || b.store.counts["s"].Confirmed != b.sweep.CellCount() {
			t.Errorf("%d checks confirmed %d cells", k, b.store.counts["s"].Confirmed)
		}
	})
}

// TestVerifyOfWhatIsComplete: a run whose values are all there has only checks.
// Those of a worker that falls silent are given out again, and the run is not
// complete before the last.
func TestVerifyOfWhatIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVerified(t, 0, 3001)
		b.drainAll("a")
		b.wantEnd(jobs.Complete, "")
		b.store.set(func() {
			b.store.run.State, b.store.run.Verify, b.store.run.Rev = jobs.Running, jobs.All, 1
			b.store.workers = map[string]jobs.Worker{}
		})
		b.lead()
		lost := b.take("dead")
		if lost.Check != jobs.All {
			t.Fatalf("a task of a complete run is no check: %+v", lost)
		}
		b.pass(34 * time.Second)
		if !b.outstanding(lost) {
			t.Fatal("given out again too early")
		}
		b.pass(5 * time.Second)
		b.drainAll("w")
		b.wantEnd(jobs.Complete, "")
		again := slices.ContainsFunc(b.store.given, func(x jobs.Task) bool { return x.Check > 0 && x.Lo == lost.Lo && x.Attempt > 0 })
		if !again {
			t.Error("the lost check did not come again")
		}
	})
}

// TestCheckFails: a cell that cannot be confirmed makes the run fail, and says so.
func TestCheckFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVerified(t, jobs.All, 1001)
		for range 1000 {
			x, ok := b.queue.take()
			if !ok {
				b.pass(300 * time.Millisecond)
				if x, ok = b.queue.take(); !ok {
					break
				}
			}
			b.store.join("a", b.sweep)
			if x.Check > 0 && x.Lo <= 101 && x.Hi > 101 {
				if y := x; y.Lo < 101 {
					y.Hi = 101
					b.store.commitBy("a", b.sweep, y)
				}
				b.store.beat("a", x, jobs.Beat{Ended: true, Error: "no way"})
				b.queue.done(x)
				continue
			}
			b.finish("a", x)
		}
		b.wantEnd(jobs.Failed, "no way")
		if len(b.store.failures) != 1 || !b.store.failures[0].Check || b.store.failures[0].Lo != 101 || b.store.failures[0].Hi != 151 {
			t.Errorf("failures %+v", b.store.failures)
		}
	})
}

// TestHaltWaitsForChecks: a checkpoint that fails halts the run only when what is
// stored is confirmed; nothing else is given out meanwhile.
func TestHaltWaitsForChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVerified(t, jobs.All, 20_001)
		b.store.set(func() { b.check.halt = errors.New("expected 8151, found 8150") })
		b.finish("a", b.take("a"))
		b.pass(time.Second)
		for range 100 {
			if x, ok := b.queue.take(); ok {
				b.finish("a", x)
			}
			b.pass(100 * time.Millisecond)
		}
		b.wantEnd(jobs.Halted, "expected 8151")
		c := b.store.counts["s"]
		if c.Confirmed != c.Cells || c.Cells == b.sweep.CellCount() {
			t.Errorf("%d cells of %d are stored, %d confirmed", c.Cells, b.sweep.CellCount(), c.Confirmed)
		}
	})
}

// TestPlanCountsChecks: a plan names as many checks as there are cells in the
// share, at their cost, beside what it says without.
func TestPlanCountsChecks(t *testing.T) {
	set, err := jobs.NewSet(1, 60_001, []int64{90_000, 95_000})
	if err != nil {
		t.Fatal(err)
	}
	s := toySweep(set)
	model := NewModel(engine.NewRegistry(toy{per: func(int64) float64 { return 1e6 }}), nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := model.Plan(gone, s, 4, 0, false); !errors.Is(err, context.Canceled) {
		t.Errorf("a plan that nobody waits for ends with %v", err)
	}
	without, err := model.Plan(t.Context(), s, 4, 0, false)
	if err != nil || without.Checks != 0 || without.CheckCost != 0 {
		t.Fatalf("%+v, %v", without, err)
	}
	for _, share := range []int64{300_000, jobs.All} {
		p, err := model.Plan(t.Context(), s, 4, share, false)
		if err != nil || p.Cost != without.Cost || p.Tasks != without.Tasks || p.Checks != s.CheckCount(share) || p.CheckTasks == 0 || p.Bytes <= without.Bytes {
			t.Errorf("share %d: %+v, %v; without %+v", share, p, err, without)
		}
		values := int64(0)
		for _, part := range (jobs.Task{Sweep: s.Name, Engine: s.Engine, Version: 1, Check: share, Lo: 1, Hi: 60_001}).Parts(s.Grid) {
			values += part.Hi - part.Lo
		}
		has := s.CheckSample(share).Of(s.Name)
		for _, n := range set.Points {
			if has(-n) {
				values++
			}
		}
		if want := time.Duration(values) * time.Millisecond; p.CheckCost != want {
			t.Errorf("share %d: checks take %s, want %s", share, p.CheckCost, want)
		}
	}
}

// TestDisputeIsSettledInMidRun: a third worker is asked while there is still work
// of other kinds.
func TestDisputeIsSettledInMidRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 60_001)
		b.contradict("a", "b", "c")
		b.finish("a", b.take("a"))
		b.pass(3 * time.Second)
		k := slices.IndexFunc(b.tasks(), func(t jobs.Task) bool { return len(t.Not) > 0 })
		if k < 0 || len(b.tasks()) < 2 {
			t.Fatalf("outstanding %+v", b.tasks())
		}
		c := b.tasks()[k]
		b.store.set(func() { b.store.disputes = nil; b.dispute(0) })
		b.finish("c", c)
		b.drainAll("c")
		b.wantEnd(jobs.Complete, "")
		if b.begun != 2 {
			t.Errorf("summed up %d times, want once more after the decision", b.begun)
		}
	})
}

// TestHandedBackWaitsForAFreeWorker: a check that its author handed back is not
// given to it again and again while the other worker is busy, and at once when
// that is free.
func TestHandedBackWaitsForAFreeWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVerified(t, 0, 4001)
		b.drainAll("a")
		b.wantEnd(jobs.Complete, "")
		b.store.set(func() { b.store.run.State, b.store.run.Verify, b.store.run.Rev = jobs.Running, jobs.All, 1 })
		b.store.join("b", b.sweep)
		b.lead()
		held := b.take("b")
		if !slices.Equal(held.Not, []string{"a"}) {
			t.Fatalf("a check of what a stored is not for %v", held.Not)
		}
		given := b.puts()
		b.pass(10 * time.Second)
		for range 100 {
			b.store.beat("b", held, jobs.Beat{})
			if x, ok := b.queue.take(); ok {
				b.store.beat("a", x, jobs.Beat{})
				b.store.beat("a", x, jobs.Beat{Ended: true})
				b.queue.done(x)
			}
			b.pass(100 * time.Millisecond)
		}
		// Ten seconds, with pauses that grow to two seconds for each of a few tasks.
		if k := b.puts() - given; k > 60 {
			t.Errorf("given out %d times while only a was free", k)
		}
		for range 10 { // all that a can get
			if x, ok := b.queue.take(); ok {
				b.store.beat("a", x, jobs.Beat{})
				b.store.beat("a", x, jobs.Beat{Ended: true})
				b.queue.done(x)
			}
		}
		b.pass(60 * time.Millisecond)
		b.finish("b", held)
		b.pass(200 * time.Millisecond)
		x, ok := b.queue.take()
		if !ok {
			t.Fatal("nothing is given out though b is free")
		}
		b.store.beat("b", x, jobs.Beat{})
		b.finish("b", x)
		b.drainBy("b")
		b.wantEnd(jobs.Complete, "")
	})
}
