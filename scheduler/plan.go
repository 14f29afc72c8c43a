package scheduler

import (
	"math"
	"slices"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Sizes of tasks in nanoseconds of estimated work. A task of seconds makes
// asynq's fraction of a millisecond vanish; near the end tasks become smaller so
// that all workers share what is left.
const (
	minTarget = 50e6
	maxTarget = 5e9
	// sharesLeft is into how many tasks for each slot the rest is cut.
	sharesLeft = 4
	// A start cost, paid once a task, is kept below 1/startShare of it.
	startShare = 20
	// maxCells and maxPoints bound a task when one n costs next to nothing.
	maxCells  = 8192
	maxPoints = 512
)

// target returns the size for the next task when the given cost is open.
func target(open float64, slots int) float64 {
	return min(max(open/float64(sharesLeft*max(slots, 1)), minTarget), maxTarget)
}

// stretch is a run of cells [first, last) or some points of one sweep.
type stretch struct {
	first, last int64
	points      []int64
	attempt     int
	deaths      int
	// Of a second computation: by which algorithm, how often it was handed back,
	// and when it may be given out again: at soon if a worker that may compute it
	// has nothing to do, else at after.
	algorithm   string
	handed      int
	soon, after time.Time
}

// planner cuts the unfinished cells of one sweep into tasks. It is pure: it
// knows the ledger it was given, what it gave out and what came back.
type planner struct {
	sweep  jobs.Sweep
	model  *Model
	ledger *jobs.Ledger

	cell  int64     // next cell to look at
	point int       // next index into the set's points
	again []stretch // given back, to be given out first
	taken spans     // cells that are given out, given back or failed
	held  map[int64]bool

	aloneAfter int   // deaths after which a task is computed alone
	maxCells   int64 // in one task

	failed []stretch // what was given up
	second *second   // set where it is second computations that are cut
}

func newPlanner(s jobs.Sweep, m *Model, l *jobs.Ledger) *planner {
	first, _ := s.Cells()
	return &planner{sweep: s, model: m, ledger: l, cell: first, held: map[int64]bool{}, aloneAfter: math.MaxInt, maxCells: maxCells}
}

// hold marks the stretch as not to be given out.
func (p *planner) hold(s stretch) {
	p.taken.add(s.first, s.last)
	for _, n := range s.points {
		p.held[n] = true
	}
}

// release marks the stretch as free again.
func (p *planner) release(s stretch) {
	p.taken.remove(s.first, s.last)
	for _, n := range s.points {
		delete(p.held, n)
	}
	if s.last > s.first {
		p.cell = min(p.cell, s.first)
	}
	if p.second != nil {
		p.second.idle = false
	}
	if len(s.points) > 0 {
		p.point = 0
	}
}

// giveBack puts the unfinished part of a stretch first in line, in as few
// pieces as the ledger allows. It stays held.
func (p *planner) giveBack(s stretch) {
	for i := p.ledger.NextOpen(s.first); i < s.last; {
		end := p.runEnd(i, s.last)
		x := s
		x.first, x.last, x.points = i, end, nil
		p.again = append(p.again, x)
		i = p.ledger.NextOpen(end)
	}
	var open []int64
	for _, n := range s.points {
		if !p.ledger.PointDone(n) {
			open = append(open, n)
		}
	}
	if len(open) > 0 {
		s.first, s.last, s.points = 0, 0, open
		p.again = append(p.again, s)
	}
}

// requeue gives a held stretch out again as far as it is unfinished, and
// frees it when nothing is.
func (p *planner) requeue(s stretch) {
	if p.open(s) {
		p.giveBack(s)
	} else {
		p.release(s)
	}
}

// blame splits a stretch into its first unfinished cell or point and all after
// it.
func (p *planner) blame(s stretch) (bad, rest stretch) {
	if i := p.ledger.NextOpen(s.first); i < s.last {
		return stretch{first: i, last: i + 1, algorithm: s.algorithm}, stretch{first: i + 1, last: s.last, points: s.points, algorithm: s.algorithm}
	}
	k := slices.IndexFunc(s.points, func(n int64) bool { return !p.ledger.PointDone(n) })
	if k < 0 {
		return stretch{}, stretch{}
	}
	return stretch{points: s.points[k : k+1], algorithm: s.algorithm}, stretch{points: s.points[k+1:], algorithm: s.algorithm}
}

// open returns whether any of the stretch is unfinished.
func (p *planner) open(s stretch) bool {
	if p.ledger.NextOpen(s.first) < s.last {
		return true
	}
	return slices.ContainsFunc(s.points, func(n int64) bool { return !p.ledger.PointDone(n) })
}

// progress returns whether the beginning of a stretch is finished.
func (p *planner) progress(s stretch) bool {
	if s.last > s.first {
		return p.ledger.Done(s.first)
	}
	return len(s.points) > 0 && p.ledger.PointDone(s.points[0])
}

// next returns the next stretch of about the given cost in nanoseconds and
// holds it, or false when nothing is free. Its own cost is returned too. With
// whole it returns no second computation of much less than that.
func (p *planner) next(want float64, whole bool) (stretch, float64, bool, error) {
	for k := 0; k < len(p.again); {
		s := p.again[k]
		open := p.open(s)
		if open && !p.due(s) {
			k++
			continue
		}
		p.again = slices.Delete(p.again, k, k+1)
		if !open {
			p.release(s)
			continue
		}
		cost, err := p.cost(s)
		return s, cost, true, err
	}
	var s stretch
	var cost float64
	var err error
	if p.second != nil {
		s, cost, err = p.nextChecks(want, whole)
	} else {
		s, cost, err = p.nextCells(want)
	}
	if err == nil && s.last == s.first && !whole {
		s, cost, err = p.nextPoints(want)
	}
	if err != nil || (s.last == s.first && len(s.points) == 0) {
		return stretch{}, 0, false, err
	}
	p.hold(s)
	return s, cost, true, nil
}

func (p *planner) nextCells(want float64) (stretch, float64, error) {
	_, last := p.sweep.Cells()
	i := p.cell
	for {
		if i = p.ledger.NextOpen(i); i >= last {
			p.cell = last
			return stretch{}, 0, nil
		}
		end := p.taken.end(i)
		if end == i {
			break
		}
		i = end
	}
	s := stretch{first: i, last: i}
	begin, _ := p.sweep.Cell(i)
	limit := min(p.ledger.NextDone(i), p.taken.start(i), i+p.maxCells, last)
	var total engine.Cost
	for s.last < limit {
		c, _ := p.sweep.Cell(s.last)
		// Of all from the first cell on: the engine may choose another way for the
		// whole than for a cell alone, for which it may be far too dear.
		cost, err := p.model.Cost(p.sweep, begin.Lo, c.Hi)
		if err != nil {
			return stretch{}, 0, err
		}
		want = max(want, cost.Start*startShare)
		// Stop where the total comes nearest to what is wanted.
		if s.last > i && (total.Run+cost.Run)/2 > want {
			break
		}
		total = cost
		s.last++
	}
	p.cell = s.last
	return s, total.Total(), nil
}

func (p *planner) nextPoints(want float64) (stretch, float64, error) {
	var s stretch
	var authors []string
	sum := 0.0
	for ; p.point < len(p.sweep.Set.Points) && len(s.points) < maxPoints; p.point++ {
		n := p.sweep.Set.Points[p.point]
		if p.held[n] || p.ledger.PointDone(n) || (p.second != nil && !p.second.ready.PointDone(n)) {
			continue
		}
		cost, err := p.pointCost(n)
		if err != nil {
			return stretch{}, 0, err
		}
		if len(s.points) > 0 && sum+cost.Total()/2 > want {
			break
		}
		if p.second != nil {
			w, err := p.model.Again(p.sweep, n, n+1, p.second.same)
			if err != nil {
				return stretch{}, 0, err
			}
			// One algorithm for a task, and one worker who may compute it.
			if len(s.points) > 0 && w.Algorithm != s.algorithm {
				break
			}
			more := p.second.authors(authors, 0, 0, []int64{n})
			if len(authors) > 0 && len(more) > len(authors) && (len(more) > maxAuthors || !p.second.others(more)) {
				break
			}
			s.algorithm, authors = w.Algorithm, more
		}
		s.points = append(s.points, n)
		sum += cost.Total()
	}
	return s, sum, nil
}

func (p *planner) pointCost(n int64) (engine.Cost, error) {
	if p.second != nil {
		return p.secondCost(n, n+1)
	}
	return p.model.Cost(p.sweep, n, n+1)
}

// parts returns what is computed of a stretch of cells.
func (p *planner) parts(s stretch) []jobs.Part {
	a, _ := p.sweep.Cell(s.first)
	b, _ := p.sweep.Cell(s.last - 1)
	if p.second == nil {
		return []jobs.Part{{Lo: a.Lo, Hi: b.Hi}}
	}
	w := p.sweep
	return jobs.Task{Sweep: w.Name, Engine: w.Engine, Version: w.Version, Params: w.Params, Check: p.second.share, Lo: a.Lo, Hi: b.Hi}.Parts(w.Grid)
}

func (p *planner) cost(s stretch) (float64, error) {
	sum := 0.0
	if s.last > s.first {
		w := p.sweep
		if s.algorithm != "" {
			w.Algorithm = s.algorithm
		}
		for _, part := range p.parts(s) {
			c, err := p.model.Cost(w, part.Lo, part.Hi)
			if err != nil {
				return 0, err
			}
			sum += c.Total()
		}
	}
	for _, n := range s.points {
		c, err := p.pointCost(n)
		if err != nil {
			return 0, err
		}
		sum += c.Total()
	}
	return sum, nil
}

// task returns the payload for a stretch.
func (p *planner) task(run jobs.RunID, rev int64, s stretch, cost float64) jobs.Task {
	w := p.sweep
	t := jobs.Task{
		Format: jobs.TaskFormat, Run: run, Rev: rev, Sweep: w.Name, Engine: w.Engine, Version: w.Version, Priority: w.Priority, Params: w.Params,
		Algorithm: w.Algorithm, Keep: w.Keep, Grid: w.Grid.Version, Points: s.points,
		Attempt: s.attempt, Deaths: s.deaths, Alone: s.deaths >= p.aloneAfter, CostNs: cost,
	}
	if s.attempt > 0 {
		// What was lost stood in the queue once already.
		t.Priority = w.Priority.Raised()
	}
	if s.last > s.first {
		a, _ := w.Cell(s.first)
		b, _ := w.Cell(s.last - 1)
		t.Lo, t.Hi = a.Lo, b.Hi
		if w.Keep == jobs.KeepSums {
			t.Sums = w.Powers()
			for _, n := range w.CheckNs() {
				if n >= a.Lo && n < b.Hi {
					t.Checks = append(t.Checks, n)
				}
			}
		}
	}
	if p.second != nil {
		p.checkTask(&t, s)
	}
	return t
}

// stretchOf is the inverse of task.
func stretchOf(w jobs.Sweep, t jobs.Task) stretch {
	s := stretch{points: t.Points, attempt: t.Attempt, deaths: t.Deaths}
	if t.Check > 0 {
		s.algorithm, s.handed = t.Algorithm, t.Handed
	}
	if t.Hi > t.Lo {
		s.first, s.last = w.Grid.Range(t.Lo, t.Hi)
	}
	return s
}
