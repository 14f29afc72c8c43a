package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// toy is an engine whose cost is given and whose values nobody asks for.
type toy struct {
	start float64
	per   func(n int64) float64
}

func (toy) Info() engine.Info {
	return engine.Info{Name: "toy", Version: 1, Algorithms: []engine.Algorithm{{Name: "plain", Reach: engine.MaxN}},
		Grid: engine.Grid{Version: 1, Bands: []engine.Band{{Upto: 4000, Cell: 50}, {Upto: 80_000, Cell: 1000}, {Upto: engine.MaxN, Cell: 20_000}},
			Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 8}}}}
}

func (t toy) Resolve(w engine.Work) (engine.Work, error) {
	return engine.ResolveBasics(t.Info(), w, func(engine.Work) string { return "plain" }, nil)
}

// Cost is exact where per is linear.
func (t toy) Cost(w engine.Work) engine.Cost {
	return engine.Cost{Start: t.start, Run: (t.per(w.Lo) + t.per(w.Hi-1)) / 2 * float64(w.Len())}
}

func (toy) Compute(context.Context, engine.Work, engine.Sink) error { return nil }
func (toy) SelfTest(context.Context) error                          { return nil }

func toySweep(set jobs.Set) jobs.Sweep {
	return jobs.Sweep{Name: "s", Engine: "toy", Version: 1, Keep: jobs.KeepValues, Set: set, Grid: toy{}.Info().Grid}
}

func genSet(t *rapid.T) jobs.Set {
	lo := rapid.Int64Range(1, 100_000).Draw(t, "lo")
	hi := lo + rapid.Int64Range(0, 60_000).Draw(t, "len")
	points := rapid.SliceOfN(rapid.Int64Range(1, 200_000), 0, 20).Draw(t, "points")
	set, err := jobs.NewSet(lo, hi, points)
	if err != nil {
		t.Skip(err)
	}
	return set
}

// TestPlannerCoversExactly draws a ledger, lets the planner cut it while tasks
// come back unfinished, and requires that in the end every unfinished cell was
// given out and at no moment two tasks held the same cell.
func TestPlannerCoversExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.Float64Range(1, 1e7).Draw(t, "cost")
		model := NewModel(engine.NewRegistry(toy{start: cost * 10, per: func(int64) float64 { return cost }}), nil)
		s := toySweep(genSet(t))
		first, last := s.Cells()
		l := jobs.NewLedger(first, last)
		for i := first; i < last; i++ {
			if rapid.IntRange(0, 3).Draw(t, "done") == 0 {
				l.Mark(i)
			}
		}
		p := newPlanner(s, model, l)
		inHand := map[int64]bool{} // cells in tasks under way
		pointsInHand := map[int64]bool{}
		var tasks []stretch
		back := 0
		for {
			want := rapid.Float64Range(1e3, 1e9).Draw(t, "want")
			x, _, ok, err := p.next(want, false)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				if x.last == x.first && len(x.points) == 0 {
					t.Fatal("an empty task")
				}
				for i := x.first; i < x.last; i++ {
					if inHand[i] || l.Done(i) {
						t.Fatalf("cell %d given out twice or though done", i)
					}
					inHand[i] = true
				}
				for _, n := range x.points {
					if pointsInHand[n] || l.PointDone(n) {
						t.Fatalf("point %d given out twice or though done", n)
					}
					pointsInHand[n] = true
				}
				tasks = append(tasks, x)
			}
			if len(tasks) == 0 {
				if !ok {
					break
				}
				continue
			}
			if ok && rapid.Bool().Draw(t, "go on") {
				continue
			}
			// A task comes back: finished, or in part.
			k := rapid.IntRange(0, len(tasks)-1).Draw(t, "which")
			x = tasks[k]
			tasks = slices.Delete(tasks, k, k+1)
			whole := back > 50 || rapid.Bool().Draw(t, "whole")
			if !whole {
				back++
			}
			for i := x.first; i < x.last; i++ {
				delete(inHand, i)
				if whole || rapid.Bool().Draw(t, "cell done") {
					l.Mark(i)
				}
			}
			for _, n := range x.points {
				delete(pointsInHand, n)
				if whole {
					l.MarkPoint(n)
				}
			}
			x.attempt++
			p.requeue(x)
		}
		if open := l.NextOpen(first); open < last {
			t.Fatalf("cell %d was never finished", open)
		}
		for _, n := range s.Set.Points {
			if !l.PointDone(n) {
				t.Fatalf("point %d was never finished", n)
			}
		}
	})
}

// TestTasksAreOfOneSize holds tasks to a factor of two where cells are small
// beside the target.
func TestTasksAreOfOneSize(t *testing.T) {
	model := NewModel(engine.NewRegistry(toy{per: func(n int64) float64 { return float64(n) / 2 }}), nil)
	set, err := jobs.NewSet(1, 60_001, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := toySweep(set)
	p := newPlanner(s, model, jobs.NewLedger(s.Cells()))
	var costs []float64
	for {
		x, cost, ok, err := p.next(1e8, false)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if x.last < 80+56 { // the last one takes what is left
			costs = append(costs, cost)
		}
	}
	if len(costs) < 5 {
		t.Fatalf("%d tasks, want more", len(costs))
	}
	if lo, hi := slices.Min(costs), slices.Max(costs); hi > 2*lo {
		t.Errorf("tasks cost from %.3g to %.3g ns, want a factor of at most 2", lo, hi)
	}
}

// inBulk is an engine that has a dear way for few n and a cheap one for many, as
// sieves are.
type inBulk struct{ toy }

func (e inBulk) Resolve(w engine.Work) (engine.Work, error) { return e.toy.Resolve(w) }

func (inBulk) Cost(w engine.Work) engine.Cost {
	if w.Len() < 4000 {
		return engine.Cost{Run: 2000 * float64(w.Len())}
	}
	return engine.Cost{Start: 1e6, Run: 100 * float64(w.Len())}
}

// TestTasksInBulk: what a cell would cost by itself does not count.
func TestTasksInBulk(t *testing.T) {
	set, err := jobs.NewSet(1, 4_000_000, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlanner(toySweep(set), NewModel(engine.NewRegistry(inBulk{}), nil), jobs.NewLedger(toySweep(set).Cells()))
	const want = 50e6
	for tasks := 0; ; tasks++ {
		s, cost, ok, err := p.next(want, false)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if tasks != 8 { // 400 ms in all
				t.Errorf("%d tasks", tasks)
			}
			return
		}
		if _, last := toySweep(set).Cells(); s.last < last && (cost < 0.8*want || cost > 1.2*want) {
			t.Errorf("cells %d…%d cost %.0f ms, want 50", s.first, s.last-1, cost/1e6)
		}
	}
}

// TestTaskRoundTrip: the payload of a stretch names the same cells again.
func TestTaskRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := toySweep(genSet(t))
		model := NewModel(engine.NewRegistry(toy{per: func(int64) float64 { return 1000 }}), nil)
		p := newPlanner(s, model, jobs.NewLedger(s.Cells()))
		x, cost, ok, err := p.next(rapid.Float64Range(1e3, 1e9).Draw(t, "want"), false)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		task := p.task(jobs.RunID{Name: "r", Epoch: "e"}, 3, x, cost)
		got, err := jobs.DecodeTask(task.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if y := stretchOf(s, got); y.first != x.first || y.last != x.last || !slices.Equal(y.points, x.points) {
			t.Fatalf("stretch %v came back as %v", x, y)
		}
	})
}

func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s spans
		model := map[int64]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			lo := rapid.Int64Range(0, 60).Draw(t, "lo")
			hi := lo + rapid.Int64Range(0, 10).Draw(t, "len")
			add := rapid.Bool().Draw(t, "add")
			if add {
				s.add(lo, hi)
			} else {
				s.remove(lo, hi)
			}
			for i := lo; i < hi; i++ {
				model[i] = add
			}
		}
		for i := int64(0); i < 75; i++ {
			if end := s.end(i); (end > i) != model[i] {
				t.Fatalf("%d: in the spans %v, want %v (%v)", i, end > i, model[i], s)
			}
			if !model[i] {
				next := s.start(i)
				for k := i; k < min(next, 75); k++ {
					if model[k] {
						t.Fatalf("start(%d) = %d, but %d is in %v", i, next, k, s)
					}
				}
			}
		}
	})
}

// TestPlanCountsKeeping: ten million kept values take a second of one core to
// store and sum up, 0.4 s of it in one place; a tenth where only sums are kept; and
// single points nothing worth mentioning.
func TestPlanCountsKeeping(t *testing.T) {
	model := NewModel(engine.NewRegistry(toy{per: func(int64) float64 { return 1 }}), nil)
	dense, err := jobs.NewSet(1, 10_000_001, nil)
	if err != nil {
		t.Fatal(err)
	}
	points, err := jobs.NewSet(0, 0, []int64{5, 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set           jobs.Set
		keep          jobs.Keep
		keeping, fold time.Duration
	}{
		{dense, jobs.KeepValues, time.Second, 400 * time.Millisecond},
		{dense, jobs.KeepSums, 100 * time.Millisecond, 0},
		{points, jobs.KeepValues, 0, 0},
	} {
		s := toySweep(c.set)
		s.Keep = c.keep
		p, err := model.Plan(t.Context(), s, 2, 0, false)
		if err != nil || p.Keeping != c.keeping || p.Summing != c.fold {
			t.Errorf("%s of %s: %s and %s (%v), want %s and %s", c.keep, c.set, p.Keeping, p.Summing, err, c.keeping, c.fold)
		}
	}
}
