package web

import (
	"strconv"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
)

// Snapshot is what the poller knows at one moment. It is immutable; whoever
// gets one may keep it.
type Snapshot struct {
	// Seq counts snapshots from 1.
	Seq int64
	// At is when it was made, by the clock of this process.
	At time.Time
	// Where names the store, Latency is what its last answer took. Lost is
	// empty while it answers; otherwise it says why not, since when, and the
	// rest is as it was then.
	Where   string
	Latency time.Duration
	Lost    string
	LostAt  time.Time

	Runs    []*RunView
	Workers []WorkerView
	// Damaged are runs that cannot be read.
	Damaged []jobs.DamagedRun
	// Events are the latest, oldest first; the last has number EventSeq.
	Events []Event

	parts *partCache
}

// Run returns the named run, or nil.
func (s *Snapshot) Run(name string) *RunView {
	for _, r := range s.Runs {
		if r.ID.Name == name {
			return r
		}
	}
	return nil
}

// damaged says why the named run cannot be read, or nothing.
func (s *Snapshot) damaged(name string) string {
	for _, d := range s.Damaged {
		if d.ID.Name == name {
			return d.Error()
		}
	}
	return ""
}

// RunView is one run.
type RunView struct {
	ID      jobs.RunID
	Number  int
	State   jobs.State
	Reason  string
	Created time.Time
	Rev     int64
	Leader  string

	Sweeps []*SweepView
	// Values and Total count n.
	Values, Total int64
	// Share is how much is done by estimated cost, 0 to 1.
	Share float64
	Cells CellCounts
	// Rate is values a second, Spark its course in steps of 5 s.
	Rate  float64
	Spark []float64
	Left  Left

	// Tasks are those with a worker, the longest running first; Waiting counts
	// those without.
	Tasks    []TaskView
	Waiting  int
	Workers  []WorkerView
	Failures []jobs.Failure
	// Quarantine lists the workers that computed a wrong value.
	Quarantine []jobs.Quarantine

	// read says that the details were read: ledger, tasks, failures.
	read bool
}

// Sweep returns the named sweep, or nil.
func (r *RunView) Sweep(name string) *SweepView {
	for _, s := range r.Sweeps {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Checks counts the checkpoints of all sweeps by how they stand.
func (r *RunView) Checks() (c CheckCounts) {
	for _, s := range r.Sweeps {
		ok, bad, pending := s.Result.Checks()
		c.OK += ok
		c.Mismatch += bad
		c.Pending += pending
	}
	return c
}

// CheckCounts counts checkpoints.
type CheckCounts struct{ OK, Mismatch, Pending int }

// All is their number.
func (c CheckCounts) All() int { return c.OK + c.Mismatch + c.Pending }

// SweepView is one sweep of a run.
type SweepView struct {
	jobs.Sweep
	Symbol   string
	Values   int64
	Total    int64
	Repeated int64
	// Confirmed counts cells that a second computation confirmed, ToConfirm those
	// for which the run asks for one.
	Confirmed, ToConfirm int64
	Share                float64
	Cells                CellCounts
	// Result is what is summed up so far. Trouble says why that does not go
	// on, Summing that it has not yet caught up with what was finished when this
	// process first looked.
	Result  aggregator.SweepResult
	Trouble string
	Summing bool

	Disputes []jobs.Dispute
	heat     *heatSource // nil before the ledger was read
}

// TaskView is one task that is given out.
type TaskView struct {
	ID      string
	Sweep   string
	Lo, Hi  int64 // [Lo, Hi), or 0
	Points  []int64
	Count   int64
	Attempt int
	Deaths  int
	// Check says that it confirms what is stored; Count is then 0.
	Check bool
	// Waiting says that no worker has it; the rest is then zero.
	Waiting  bool
	Worker   string
	Fraction float64
	Started  time.Time
	Seen     time.Time
	Silent   time.Duration
}

// First is the task's first n, Last its last.
func (t TaskView) First() int64 {
	if len(t.Points) > 0 {
		return t.Points[0]
	}
	return t.Lo
}

// Last is the task's last n.
func (t TaskView) Last() int64 {
	if k := len(t.Points); k > 0 {
		return t.Points[k-1]
	}
	return t.Hi - 1
}

// WorkerView is one worker process.
type WorkerView struct {
	jobs.Worker
	Started time.Time
	Silent  time.Duration
	// Busy counts its running tasks, Rate is its values a second: of one run in
	// a RunView, of all in a Snapshot.
	Busy int
	Rate float64
}

// Event is something that happened.
type Event struct {
	Seq int64
	At  time.Time
	// Run is empty for what concerns all.
	Run string
	// Kind is one word for the style: joined, left, running, paused, complete,
	// halted, failed, cancelled, retried, disputed, checked, plan, store.
	Kind string
	Text string
}

// versionText writes a version so that scripts do not round it.
func versionText(v uint64) string { return strconv.FormatUint(v, 36) }
