package scheduler

import "github.com/nsweep/nsweep/jobs"

// lane is one sweep on its way.
type lane struct {
	sweep  jobs.Sweep
	plan   *planner
	counts jobs.Counts
	// total and open are estimated nanoseconds of the whole sweep and of what
	// is unfinished.
	total, open float64
	fresh       bool // the ledger was read after the heartbeats in hand

	checks                *planner // of second computations, or nil
	checkTotal, checkOpen float64  // estimated nanoseconds of them
}

// lacking returns the number of unfinished cells and points, and how many of
// them are among those that failed.
func (p *planner) lacking() (open, failed int64) {
	l := p.ledger
	open = p.sweep.CellCount() - l.DoneCells() - l.DonePoints()
	for _, s := range p.failed {
		for i := l.NextOpen(s.first); i < s.last; i = l.NextOpen(i + 1) {
			failed++
		}
		for _, n := range s.points {
			if !l.PointDone(n) {
				failed++
			}
		}
	}
	return open, failed
}

// plans returns the planner of the lane, and that of its second computations
// where there are any.
func (ln *lane) plans() []*planner {
	if ln.checks == nil {
		return []*planner{ln.plan}
	}
	return []*planner{ln.plan, ln.checks}
}

// planOf returns the planner that a task is from, or nil.
func (ln *lane) planOf(t jobs.Task) *planner {
	if t.Check > 0 {
		return ln.checks
	}
	return ln.plan
}
