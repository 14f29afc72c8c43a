package web

import (
	"slices"
	"sort"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
)

// view builds the run's part of a snapshot. With sum the sweeps are folded on.
func (t *tracker) view(p *poller, now time.Time, sum bool, workers []jobs.Worker, clock time.Time) *RunView {
	v := &RunView{ID: t.run.ID, Number: t.run.Number, State: t.run.State, Reason: t.run.Reason, Rev: t.run.Rev,
		Created: time.UnixMilli(t.run.CreatedMs), Leader: t.leader, Failures: t.failures, Quarantine: t.quarantine, read: t.deep}
	if t.active() {
		for _, k := range t.tasks {
			if k.Waiting {
				v.Waiting++
			} else {
				v.Tasks = append(v.Tasks, k)
			}
		}
	}
	for i, k := range v.Tasks {
		// Between two heartbeats the ledger knows more.
		if s := t.sweep(k.Sweep); s != nil && s.ledger != nil && len(k.Points) == 0 && !k.Check {
			v.Tasks[i].Fraction = max(k.Fraction, s.layout.share(s.ledger, k))
		}
	}
	partial, havePartial := t.partial(p)
	var open, whole, unchecked float64
	for _, s := range t.sweeps {
		w := s.build(t, v.Tasks)
		left := s.whole
		if s.ledger != nil {
			if s.costed != s.reads {
				s.open, s.costed = p.costs.open(s.layout, s.ledger), s.reads
			}
			left = max(0, min(s.whole, s.open)-p.costs.begun(s.layout, s.ledger, v.Tasks))
		} else if w.Total > 0 {
			left = s.whole * float64(w.Total-w.Values) / float64(w.Total)
		}
		checks, lack := s.checks(w)
		all := s.whole + checks
		left += lack
		if w.Share = 1; (w.Values < w.Total || lack > 0) && all > 0 {
			w.Share = max(0, 1-left/all)
		}
		open, whole, unchecked = open+left, whole+all, unchecked+lack
		if r, ok := partial.Sweep(s.Name); havePartial && ok {
			w.Result = r
		} else if sum && s.ledger != nil {
			k := foldKey{t.run.ID, t.run.Rev, s.Name}
			p.folding[k] = true
			w.Result, w.Trouble = p.folds.want(k, s.Sweep, s.ledger)
		} else if s.view != nil {
			w.Result, w.Trouble = s.view.Result, s.view.Trouble
		}
		if s.ledger != nil && (s.view == nil || s.view.heat == nil) {
			s.before = s.layout.prefix(s.ledger)
		}
		w.Summing = s.ledger != nil && int64(w.Result.Done) < s.before
		s.view = w
		v.Sweeps = append(v.Sweeps, w)
		v.Values += w.Values
		v.Total += w.Total
		v.Cells.Add(w.Cells)
	}
	if v.Share = 1; (v.Values < v.Total || unchecked > 0) && whole > 0 {
		v.Share = max(0, 1-open/whole)
	}
	if t.deep && v.State == jobs.Running {
		t.pace.add(sample{now, open, v.Values})
		v.Left = t.pace.left()
	}
	v.Rate, v.Spark = t.pace.rate(), t.pace.spark()
	v.Workers = t.workers(v, workers, clock)
	return v
}

// checks estimates what the second computations cost that the run asks for, all
// and those that are left: for their number as much as the first ones.
func (s *sweepTrack) checks(w *SweepView) (all, left float64) {
	cells := s.layout.count()
	if s.verify == 0 || cells == 0 {
		return 0, 0
	}
	each := s.whole / float64(cells)
	return each * float64(s.verify), each * float64(max(0, s.verify-w.Confirmed))
}

// partial returns what is summed up elsewhere: the stored result, or that of
// another part of this process.
func (t *tracker) partial(p *poller) (aggregator.Result, bool) {
	if t.result != nil {
		return *t.result, true
	}
	if p.o.Partial != nil {
		if r, ok := p.o.Partial(t.run.ID); ok && r.Epoch == t.run.ID.Epoch && r.Rev == t.run.Rev {
			return r, true
		}
	}
	return aggregator.Result{}, false
}

// build makes the sweep's view from what was read last.
func (s *sweepTrack) build(t *tracker, running []TaskView) *SweepView {
	c := t.counts[s.Name]
	v := &SweepView{Sweep: s.Sweep, Symbol: s.symbol, Values: c.Values, Total: s.Set.Count(), Repeated: c.Repeated, Result: s.empty, Disputes: s.disputes,
		Confirmed: c.Confirmed, ToConfirm: s.verify}
	var failed []span
	for _, f := range t.failures {
		if f.Sweep == s.Name {
			failed = append(failed, s.layout.spans(f.Lo, f.Hi, f.Points)...)
		}
	}
	failed = merged(failed)
	if s.ledger == nil {
		sure := min(c.Confirmed, max(0, c.Cells-c.Disputed))
		v.Cells = CellCounts{All: s.layout.count(), Done: c.Cells - c.Disputed - sure, Verified: sure, Disputed: c.Disputed}
		for _, f := range failed {
			v.Cells.Failed += f.to - f.from
		}
		v.Cells.Open = max(0, v.Cells.All-v.Cells.Stored()-v.Cells.Failed)
		return v
	}
	h := &heatSource{layout: s.layout, ledger: s.ledger, verified: s.verified, failed: failed, times: s.times}
	for _, k := range running {
		if k.Sweep == s.Name && !k.Check {
			h.running = append(h.running, s.layout.spans(k.Lo, k.Hi, k.Points)...)
		}
	}
	h.running = merged(h.running)
	for _, d := range s.disputes {
		if p, ok := s.layout.holds(d.N); ok {
			h.disputed = append(h.disputed, p)
		}
	}
	slices.Sort(h.disputed)
	h.sign(s.reads)
	if s.view != nil && s.view.heat != nil && s.view.heat.version == h.version {
		h = s.view.heat
		v.Cells = s.view.Cells
	} else {
		v.Cells = h.totals()
	}
	v.heat = h
	return v
}

// share is the part of a task's cells that is finished.
func (l layout) share(led *jobs.Ledger, k TaskView) float64 {
	var done, all int64
	for _, s := range l.spans(k.Lo, k.Hi, k.Points) {
		all += s.to - s.from
		l.stretches(led, s.from, s.to, true, func(a, b int64) { done += b - a })
	}
	return float64(done) / float64(max(all, 1))
}

// merged sorts spans and joins those that meet or overlap.
func merged(spans []span) []span {
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var out []span
	for _, s := range spans {
		if k := len(out); k > 0 && s.from <= out[k-1].to {
			out[k-1].to = max(out[k-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// prefix returns the number of n that are finished without a gap from the
// first on.
func (l layout) prefix(led *jobs.Ledger) int64 {
	from, to := l.dense()
	for i, n := range l.below {
		if !led.PointDone(n) {
			return int64(i)
		}
	}
	if from < to {
		if i := led.NextOpen(l.first); i < l.last {
			c, _ := l.s.Cell(i)
			return from + c.Lo - l.s.Set.Lo
		}
	}
	done := from + l.s.Set.Hi - l.s.Set.Lo
	for i, n := range l.above {
		if !led.PointDone(n) {
			return done + int64(i)
		}
	}
	return done + int64(len(l.above))
}

// workers returns the processes that can compute this run, and those that hold
// tasks of it though the store knows them no more.
func (t *tracker) workers(v *RunView, all []jobs.Worker, clock time.Time) []WorkerView {
	busy := map[string]int{}
	for _, k := range v.Tasks {
		busy[k.Worker]++
	}
	var out []WorkerView
	for _, w := range all {
		able := slices.ContainsFunc(t.sweeps, func(s *sweepTrack) bool { return slices.Contains(w.Queues, s.Queue()) })
		if !able && busy[w.ID] == 0 {
			continue
		}
		x := newWorkerView(w, clock)
		x.Busy = busy[w.ID]
		if t.active() {
			x.Rate = t.rates.Of(w.ID)
		}
		out = append(out, x)
	}
	return out
}

func newWorkerView(w jobs.Worker, clock time.Time) WorkerView {
	return WorkerView{Worker: w, Started: time.UnixMilli(w.StartedMs), Silent: max(0, clock.Sub(time.UnixMilli(w.AtMs)))}
}
