package scheduler

import (
	"context"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Preview is what a plan says about one sweep before anything is stored.
type Preview struct {
	Sweep  string
	N      string
	Values int64
	Cells  int64
	// Tasks is how many tasks the sweep would be cut into for the given slots.
	Tasks int64
	// Cost is the estimated time of one core, Shortest and Longest that of a
	// task.
	Cost, Shortest, Longest time.Duration
	// Keeping is the time of one core to encode, store and sum up the values.
	// Summing is the part of it that goes through them one after the other, however
	// many workers there are.
	Keeping, Summing time.Duration
	// Bytes estimates the memory in Redis.
	Bytes int64
	// Checks is how many cells are computed a second time, CheckTasks in how many
	// tasks; Tasks, Cost, Shortest and Longest are of the first computation and
	// CheckCost is the time of one core beside them.
	Checks, CheckTasks int64
	CheckCost          time.Duration
}

// Plan cuts a sweep of which nothing is done into tasks, as a feeder with the
// given slots would when every task takes its estimated time, and then the share
// of its cells, in millionths, that is to be confirmed, with same by its own
// algorithm. It takes time in proportion to the number of cells, touches nothing,
// and ends with ctx's error.
func (m *Model) Plan(ctx context.Context, s jobs.Sweep, slots int, verify int64, same bool) (Preview, error) {
	first, last := s.Cells()
	ledger := jobs.NewLedger(first, last)
	open, err := m.Open(s, ledger)
	if err != nil {
		return Preview{}, err
	}
	v := Preview{Sweep: s.Name, N: s.Set.String(), Values: s.Set.Count(), Cells: s.CellCount(), Bytes: Bytes(s)}
	v.Keeping, v.Summing = keeping(s)
	p := newPlanner(s, m, ledger)
	for total := 0.0; ; v.Tasks++ {
		if err := ctx.Err(); err != nil {
			return Preview{}, err
		}
		_, cost, ok, err := p.next(target(open-total, slots), false)
		if err != nil {
			return Preview{}, err
		}
		if !ok {
			v.Cost = time.Duration(total)
			err := m.planChecks(s, slots, verify, same, &v)
			return v, err
		}
		total += cost
		d := time.Duration(cost)
		if v.Tasks == 0 {
			v.Shortest = d
		}
		v.Shortest, v.Longest = min(v.Shortest, d), max(v.Longest, d)
	}
}

// planChecks cuts second computations of a sweep that is stored by one worker.
func (m *Model) planChecks(s jobs.Sweep, slots int, verify int64, same bool, v *Preview) error {
	if verify == 0 {
		return nil
	}
	p, err := newSecond(s, m, verify, same)
	if err != nil {
		return err
	}
	v.Checks, _ = p.lacking()
	first, last := s.Cells()
	v.Bytes += checkedBytes * (last - first)
	all := jobs.NewLedger(first, last)
	all.MarkAllBut(jobs.NewLedger(first, last))
	for _, n := range s.Set.Points {
		all.MarkPoint(n)
	}
	p.stored(all, nil)
	open, err := p.left()
	if err != nil {
		return err
	}
	for total := 0.0; ; v.CheckTasks++ {
		_, cost, ok, err := p.next(target(open-total, slots), false)
		if err != nil {
			return err
		}
		if !ok {
			v.CheckCost = time.Duration(total)
			return nil
		}
		total += cost
	}
}

// Nanoseconds for each value of a dense range besides its computation, measured
// with W on the engines' reference machine: codec and CRC, commit and store, and
// the fold, most of which is the text digest. Under keep: sums it is the SHA-256
// of the value's bytes, and one record for each cell.
const (
	keepValueNs = 100
	foldValueNs = 40
	keepSumNs   = 10
)

// keeping estimates the time of one core that values take besides their
// computation, and the part of it that cannot be shared.
func keeping(s jobs.Sweep) (all, fold time.Duration) {
	dense := time.Duration(s.Set.Hi - s.Set.Lo)
	if s.Keep == jobs.KeepSums {
		return keepSumNs * dense, 0
	}
	return keepValueNs * dense, foldValueNs * dense
}

// Bytes that a value, a cell and a point take in Redis beside the value's own
// width, as measured with MEMORY USAGE: string headers, size classes of the
// allocator, keys, CRCs and bitmaps.
const (
	overheadShare = 1.03
	cellBytes     = 6.2
	checkedBytes  = 2
	recordBytes   = 260
	pointBytes    = 160
	runBytes      = 4096
)

// Bytes estimates the memory in Redis that a sweep takes when it is complete.
// It takes next to no time.
func Bytes(s jobs.Sweep) int64 {
	total := float64(runBytes + pointBytes*len(s.Set.Points))
	first, last := s.Cells()
	cells := float64(last - first)
	if s.Keep == jobs.KeepSums {
		return int64(total + cells*(recordBytes+cellBytes))
	}
	lo := s.Set.Lo
	for _, w := range s.Grid.Widths {
		if hi := min(s.Set.Hi, w.Upto+1); hi > lo {
			total += float64(hi-lo) * float64(w.Bytes) * overheadShare
			lo = hi
		}
	}
	return int64(total + cells*cellBytes)
}
