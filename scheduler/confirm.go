package scheduler

import (
	"slices"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

const (
	// maxAuthors bounds the workers that a check keeps away from.
	maxAuthors = 32
	// maxHanded is how often a check is handed back by workers that must not
	// compute it before anybody may.
	maxHanded = 100
	// A check that was handed back is given out again after minPause when a worker
	// is free that may compute it, and after maxPause at the latest.
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
	// costSamples is how many cells the cost of a share is estimated from.
	costSamples = 32
)

// second makes a planner cut second computations: cells of a share that are
// stored and not confirmed. Its ledger has everything for done that is confirmed
// or not in the share, so that what is open is what is still to be confirmed.
type second struct {
	share  int64        // in millionths
	same   bool         // by the sweep's own algorithm
	chosen *jobs.Ledger // the share
	ready  *jobs.Ledger // what is stored
	marks  *jobs.Marks  // who stored it, or nil
	// others reports whether a worker is at hand that is not among those.
	others func(not []string) bool
	// free reports whether one of them has a slot to spare.
	free func(not []string) bool
	mean float64 // estimated cost of a cell where not all are chosen
	idle bool    // since the last look at the store there was no whole stretch
}

// newSecond returns a planner of second computations of a share of the sweep, with
// same by its own algorithm.
func newSecond(s jobs.Sweep, m *Model, share int64, same bool) (*planner, error) {
	first, last := s.Cells()
	x := &second{share: share, same: same, chosen: jobs.NewLedger(first, last), ready: jobs.NewLedger(first, last),
		others: func([]string) bool { return false }, free: func([]string) bool { return true }}
	has := s.CheckSample(share).Of(s.Name)
	for i := first; i < last; i++ {
		if has(i) {
			x.chosen.Mark(i)
		}
	}
	for _, n := range s.Set.Points {
		if has(-n) {
			x.chosen.MarkPoint(n)
		}
	}
	p := newPlanner(s, m, nil)
	p.second = x
	p.confirm(jobs.NewLedger(first, last))
	return p, p.estimate()
}

// confirm takes a newer ledger of what is confirmed.
func (p *planner) confirm(confirmed *jobs.Ledger) {
	confirmed.MarkAllBut(p.second.chosen)
	for _, n := range p.sweep.Set.Points {
		if !p.second.chosen.PointDone(n) {
			confirmed.MarkPoint(n)
		}
	}
	p.ledger = confirmed
}

// stored takes a newer ledger of what is stored, and by whom.
func (p *planner) stored(ready *jobs.Ledger, marks *jobs.Marks) {
	p.second.ready, p.second.marks, p.point, p.second.idle = ready, marks, 0, false
}

// estimate finds what a cell of the share costs on average.
func (p *planner) estimate() error {
	x := p.second
	count := x.chosen.DoneCells()
	if x.share >= jobs.All || count == 0 {
		return nil
	}
	step := max(1, count/costSamples)
	sum, taken, k := 0.0, 0, int64(0)
	_, last := p.sweep.Cells()
	for i := x.chosen.NextDone(x.chosen.First); i < last; i = x.chosen.NextDone(i + 1) {
		if k++; k%step != 0 {
			continue
		}
		c, _ := p.sweep.Cell(i)
		cost, err := p.secondCost(c.Lo, c.Hi)
		if err != nil {
			return err
		}
		sum += cost.Total()
		taken++
	}
	x.mean = sum / float64(max(taken, 1))
	return nil
}

// secondCost estimates what a second computation of n in [lo, hi) costs.
func (p *planner) secondCost(lo, hi int64) (engine.Cost, error) {
	w, err := p.model.Again(p.sweep, lo, hi, p.second.same)
	if err != nil {
		return engine.Cost{}, err
	}
	s := p.sweep
	s.Algorithm = w.Algorithm
	return p.model.Cost(s, lo, hi)
}

// left estimates the cost of all that is not confirmed in nanoseconds.
func (p *planner) left() (float64, error) {
	total := 0.0
	first, last := p.sweep.Cells()
	switch {
	case p.second.share < jobs.All:
		total = p.second.mean * float64(last-first-p.ledger.DoneCells())
	default:
		for i := p.ledger.NextOpen(first); i < last; {
			end := min(p.ledger.NextDone(i), last)
			a, _ := p.sweep.Cell(i)
			b, _ := p.sweep.Cell(end - 1)
			c, err := p.secondCost(a.Lo, b.Hi)
			if err != nil {
				return 0, err
			}
			total += c.Total()
			i = p.ledger.NextOpen(end)
		}
	}
	for _, n := range p.sweep.Set.Points {
		if p.ledger.PointDone(n) {
			continue
		}
		c, err := p.secondCost(n, n+1)
		if err != nil {
			return 0, err
		}
		total += c.Total()
	}
	return total, nil
}

// Checks estimates, in nanoseconds of one core, what it takes to confirm a share
// of the sweep's cells, in millionths, with same by its own algorithm, and how much
// of it is left by the marks. It takes time in proportion to the number of cells.
func (m *Model) Checks(s jobs.Sweep, share int64, same bool, marks *jobs.Marks) (total, left float64, err error) {
	p, err := newSecond(s, m, share, same)
	if err != nil {
		return 0, 0, err
	}
	if total, err = p.left(); err != nil {
		return 0, 0, err
	}
	p.confirm(marks.Confirmed())
	left, err = p.left()
	return total, left, err
}

// nextChecks returns cells to be confirmed of about the given cost, or nothing.
// With whole it leaves a stretch alone that is far smaller: more of it will be
// stored soon.
func (p *planner) nextChecks(want float64, whole bool) (stretch, float64, error) {
	if whole && p.second.idle {
		return stretch{}, 0, nil
	}
	first, last := p.sweep.Cells()
	for i := first; ; {
		if i = p.ledger.NextOpen(i); i >= last {
			p.second.idle = whole
			return stretch{}, 0, nil
		}
		if end := p.taken.end(i); end > i {
			i = end
			continue
		}
		if !p.second.ready.Done(i) {
			i = p.second.ready.NextDone(i)
			continue
		}
		s, cost, full, err := p.cutChecks(i, want)
		if err != nil || full || !whole {
			return s, cost, err
		}
		i = s.last
	}
}

// cutChecks cuts a stretch that begins with cell i: cells of the share, with
// whatever lies between them, that one worker may compute. full reports that it
// is no use to wait for more of it to be stored.
func (p *planner) cutChecks(i int64, want float64) (s stretch, cost float64, full bool, err error) {
	x := p.second
	_, last := p.sweep.Cells()
	limit := min(p.taken.start(i), last)
	begin, _ := p.sweep.Cell(i)
	// A stretch of neighbours is computed in one go, so that the way is chosen for
	// all of it.
	to := begin.Hi
	if x.share >= jobs.All {
		limit = min(limit, i+p.maxCells, p.ledger.NextDone(i))
		end, _ := p.sweep.Cell(limit - 1)
		to = end.Hi
	}
	again, err := p.model.Again(p.sweep, begin.Lo, to, x.same)
	if err != nil {
		return s, 0, false, err
	}
	s = stretch{first: i, last: i, algorithm: again.Algorithm}
	sweep := p.sweep
	sweep.Algorithm = again.Algorithm
	var authors []string
	count := int64(0)
	full = true
	for c := i; c < limit; c++ {
		if !x.chosen.Done(c) {
			continue
		}
		if p.ledger.Done(c) {
			break
		}
		if !x.ready.Done(c) {
			full = cost >= want/2
			break
		}
		more := x.authors(authors, c, c+1, nil)
		if len(more) > len(authors) && len(authors) > 0 && (len(more) > maxAuthors || !x.others(more)) {
			break
		}
		cell, _ := p.sweep.Cell(c)
		one, err := p.model.Cost(sweep, cell.Lo, cell.Hi)
		if err != nil {
			if c > i {
				break // beyond the reach of the algorithm
			}
			return s, 0, false, err
		}
		if c == i {
			want = max(want, one.Start*startShare)
		}
		add := one.Run
		if c != s.last || c == i {
			add += one.Start
		}
		if c > i && (cost+add/2 > want || count >= p.maxCells) {
			break
		}
		cost += add
		count++
		authors, s.last = more, c+1
	}
	return s, cost, full, nil
}

// authors adds to a sorted list those who stored the cells [first, last) of the
// share, and points.
func (x *second) authors(list []string, first, last int64, points []int64) []string {
	if x.marks == nil {
		return list
	}
	out := list
	add := func(number uint16) {
		h, ok := x.marks.Hand(number)
		if !ok {
			return
		}
		if k, known := slices.BinarySearch(out, h.Worker); !known {
			out = slices.Insert(slices.Clone(out), k, h.Worker)
		}
	}
	for i := first; i < last; i++ {
		if x.chosen.Done(i) {
			by, _ := x.marks.Cell(i)
			add(by)
		}
	}
	for _, n := range points {
		by, _ := x.marks.Point(n)
		add(by)
	}
	return out
}

// not returns the workers that must not confirm a stretch: those who stored it,
// unless nobody else is at hand.
func (x *second) not(s stretch) []string {
	list := x.authors(nil, s.first, s.last, s.points)
	if s.handed >= maxHanded || len(list) == 0 || !x.others(list) {
		return nil
	}
	return list
}

// runEnd returns the end of a run of open cells that begins with cell i and goes
// no further than last. Cells that are not in the share interrupt nothing.
func (p *planner) runEnd(i, last int64) int64 {
	if p.second == nil {
		return min(p.ledger.NextDone(i), last)
	}
	end := i + 1
	for c := end; c < last; c++ {
		if !p.second.chosen.Done(c) {
			continue
		}
		if p.ledger.Done(c) {
			break
		}
		end = c + 1
	}
	return end
}

// checkTask makes the payload of a stretch a second computation.
func (p *planner) checkTask(t *jobs.Task, s stretch) {
	t.Check, t.Handed, t.Algorithm, t.Not = p.second.share, s.handed, s.algorithm, p.second.not(s)
}
