package scheduler

import (
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Progress is a snapshot of a run under way.
type Progress struct {
	Run    jobs.RunID
	Sweeps []SweepProgress
	// Outstanding counts the tasks in asynq or with a worker, Slots the slots
	// of all workers that can take this run's tasks.
	Outstanding, Slots int
	Failures           int
	At                 time.Time
}

// SweepProgress is one sweep's part of it.
type SweepProgress struct {
	Name string
	// Done and Total count n, DoneCells and TotalCells ledger cells.
	Done, Total           int64
	DoneCells, TotalCells int64
	// Repeated counts cells that were computed again with the same values.
	Repeated int64
	// Checked and ToCheck count the ledger cells that are confirmed by a second
	// computation, and those that must be.
	Checked, ToCheck int64
	// OpenNs and TotalNs are estimated nanoseconds of one core, checks included.
	OpenNs, TotalNs float64
}

// progress counts by the ledger; the task fractions add what is computed but
// not yet committed to the cost estimate only.
func (f *Feeder) progress() Progress {
	p := Progress{Run: f.run.ID, Outstanding: len(f.out), Failures: f.failures, At: time.Now()}
	queues := map[string]bool{}
	for _, ln := range f.sweeps {
		l, s := ln.plan.ledger, ln.sweep
		sp := SweepProgress{Name: s.Name, Total: s.Set.Count(), TotalCells: s.CellCount(),
			DoneCells: l.DoneCells() + l.DonePoints(), Done: doneN(s, l), Repeated: ln.counts.Repeated,
			OpenNs: ln.open + ln.checkOpen, TotalNs: ln.total + ln.checkTotal}
		if p := ln.checks; p != nil {
			open, _ := p.lacking()
			sp.ToCheck = p.second.chosen.DoneCells() + p.second.chosen.DonePoints()
			sp.Checked = sp.ToCheck - open
		}
		if q := s.Queue(); !queues[q] {
			queues[q] = true
			p.Slots += f.slots[q]
		}
		p.Sweeps = append(p.Sweeps, sp)
	}
	for _, o := range f.out {
		if !o.beating || o.beat.Ended {
			continue
		}
		for i := range p.Sweeps {
			if p.Sweeps[i].Name == o.task.Sweep && len(o.task.Points) > 0 {
				// A point shows in the ledger only when it is done.
				p.Sweeps[i].OpenNs = max(0, p.Sweeps[i].OpenNs-o.beat.Fraction*o.task.CostNs)
			}
		}
	}
	return p
}

// doneN counts the n in finished cells.
func doneN(s jobs.Sweep, l *jobs.Ledger) int64 {
	n := l.DonePoints()
	first, last := s.Cells()
	for i := l.NextDone(first); i < last; {
		end := min(l.NextOpen(i), last)
		a, _ := s.Cell(i)
		b, _ := s.Cell(end - 1)
		n += b.Hi - a.Lo
		i = l.NextDone(end)
	}
	return n
}
