package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

const (
	// ledgerShare bounds the time that reading ledgers takes: one part in so
	// many.
	ledgerShare = 20
	// ledgerAge is when a ledger is read again though no counter moved.
	ledgerAge = 30 * time.Second
	// maxTimes is how many tasks' times are kept for a sweep.
	maxTimes = 4096
)

// tracker follows one epoch of one run. It belongs to the poller's goroutine.
type tracker struct {
	run    jobs.Run
	result *aggregator.Result // the stored one, when it is of this plan
	sweeps []*sweepTrack

	counts     map[string]jobs.Counts
	tasks      []TaskView
	failures   []jobs.Failure
	quarantine []jobs.Quarantine
	leader     string
	pace       pace
	rates      Rates

	readAt  time.Time // when the details were read
	lightAt time.Time // when the counters were
	deep    bool
}

type sweepTrack struct {
	jobs.Sweep
	layout   layout
	symbol   string
	whole    float64 // estimated cost of all
	empty    aggregator.SweepResult
	ledger   *jobs.Ledger
	verified *jobs.Ledger
	readAt   time.Time
	took     time.Duration
	reads    uint64
	open     float64     // estimated cost of what the ledger has open,
	costed   uint64      // after so many reads
	seen     jobs.Counts // when the ledger was read
	before   int64       // values finished without a gap when the ledger was first read
	disputes []jobs.Dispute
	times    []timed
	verify   int64 // cells and points that a second computation must confirm
	view     *SweepView
}

func newTracker(run jobs.Run, c costs) *tracker {
	t := &tracker{run: run}
	for _, s := range run.Sweeps {
		t.sweeps = append(t.sweeps, &sweepTrack{Sweep: s, layout: newLayout(s), symbol: c.symbol(s), whole: c.whole(s), empty: unfolded(run.ID, s), verify: s.CheckCount(run.Verify)})
	}
	t.adopt(run)
	return t
}

// adopt takes over a newer state of the same plan.
func (t *tracker) adopt(run jobs.Run) {
	if run.State != t.run.State {
		t.pace.reset()
	}
	if t.result == nil || string(run.Result) != string(t.run.Result) {
		t.result = nil
		if r, err := aggregator.Decode(run.Result); err == nil && r.Rev == run.Rev {
			t.result = &r
		}
	}
	if run.Verify != t.run.Verify {
		for _, s := range t.sweeps {
			s.verify = s.CheckCount(run.Verify)
		}
	}
	t.run = run
}

// active reports whether work may be going on.
func (t *tracker) active() bool { return t.run.State == jobs.Running || t.run.State == jobs.Paused }

// expire has all ledgers read anew with the next look.
func (t *tracker) expire() {
	for _, s := range t.sweeps {
		s.readAt = time.Time{}
	}
}

// behind reports whether a ledger was read that the counters have left.
func (t *tracker) behind() bool {
	return t.deep && slices.ContainsFunc(t.sweeps, func(s *sweepTrack) bool { return s.readAt.IsZero() || t.counts[s.Name] != s.seen })
}

// light reads the counters alone.
func (t *tracker) light(ctx context.Context, st Store, now time.Time) (err error) {
	if t.counts, err = st.Counts(ctx, t.run.ID); err != nil {
		return err
	}
	if t.failures, err = st.Failures(ctx, t.run.ID); err != nil {
		return err
	}
	t.quarantine, err = st.Quarantines(ctx, t.run.Manifest)
	t.lightAt = now
	return err
}

// read reads everything. now is the clock of this process, which the pace goes
// by; ages are by the store's clock.
func (t *tracker) read(ctx context.Context, o *Options, now time.Time) error {
	st := o.Store
	if err := t.light(ctx, st, now); err != nil {
		return err
	}
	tasks, err := st.Tasks(ctx, t.run.ID)
	if err != nil {
		return err
	}
	beats, clock, err := st.Beats(ctx, t.run.ID)
	if err != nil {
		return err
	}
	if t.leader, err = st.Leader(ctx, t.run.ID); err != nil {
		return err
	}
	var ended []finished
	t.tasks, ended = t.rates.look(tasks, beats, clock, now)
	for _, k := range ended {
		t.timed(k.TaskView, k.took)
	}
	for _, s := range t.sweeps {
		if err := t.readSweep(ctx, o, s, now); err != nil {
			return err
		}
	}
	t.readAt, t.deep = now, true
	return nil
}

func (t *tracker) readSweep(ctx context.Context, o *Options, s *sweepTrack, now time.Time) (err error) {
	c := t.counts[s.Name]
	age := now.Sub(s.readAt)
	if s.ledger == nil || (age >= ledgerShare*s.took && (c != s.seen || age >= ledgerAge)) {
		begin := time.Now()
		if s.ledger, err = o.Store.Ledger(ctx, t.run.ID, s.Sweep); err != nil {
			return err
		}
		if s.verified = nil; o.Verified != nil && c.Confirmed > 0 {
			if s.verified, err = o.Verified(ctx, t.run.ID, s.Sweep); err != nil {
				return err
			}
		}
		s.took, s.readAt, s.seen = time.Since(begin), now, c
		s.reads++
	}
	if s.disputes = nil; c.Disputed > 0 {
		s.disputes, err = o.Store.Disputes(ctx, t.run.ID, s.Sweep)
	}
	return err
}

func (t *tracker) timed(k TaskView, d time.Duration) {
	s := t.sweep(k.Sweep)
	if s == nil || d <= 0 || k.Check {
		return // a check computes a part of its cells, perhaps in another way
	}
	for _, sp := range s.layout.spans(k.Lo, k.Hi, k.Points) {
		share := float64(sp.to-sp.from) / float64(max(1, len(k.Points)))
		if len(k.Points) == 0 {
			share = 1
		}
		if len(s.times) >= maxTimes {
			// Views may still read the old list, so it is copied, not moved.
			s.times = slices.Clone(s.times[maxTimes/4:])
		}
		s.times = append(s.times, timed{sp, d.Seconds() * share})
	}
}

func (t *tracker) sweep(name string) *sweepTrack {
	for _, s := range t.sweeps {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// describe names a task's cells for people.
func describe(k TaskView) string {
	if k.Check {
		k.Check = false
		return "check of " + describe(k)
	}
	if a, b := k.First(), k.Last(); a != b {
		if len(k.Points) > 0 {
			return fmt.Sprintf("%d points from n = %s to %s", len(k.Points), report.Group(a), report.Group(b))
		}
		return fmt.Sprintf("n = %s…%s", report.Group(a), report.Group(b))
	}
	return "n = " + report.Group(k.First())
}
