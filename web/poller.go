package web

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// poller reads the store for everybody. Its fields belong to run.
type poller struct {
	o     *Options
	hub   *hub
	folds *folder
	costs costs
	now   func() time.Time

	tracks  map[jobs.RunID]*tracker
	folding map[foldKey]bool
	events  []Event
	seq     int64 // of events
	last    *Snapshot
	// ready is told how each look went.
	ready func(error)
}

// maxLive is how many runs are followed at full pace for a list that somebody
// looks at.
const maxLive = 16

// maxEvents is how many events are remembered.
const maxEvents = 200

// run polls until ctx ends.
func (p *poller) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	begun := p.now().Add(-time.Hour)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-p.hub.kick:
			// Many requests at once are one look, and no more than five a second.
			if rest := p.o.Pace.Milliseconds() / 4; p.now().Sub(begun).Milliseconds() < rest {
				timer.Reset(time.Duration(rest) * time.Millisecond)
				continue
			}
		}
		begun = p.now()
		p.tick(ctx)
		pace := p.o.IdlePace
		if any, _ := p.hub.watched(); any {
			pace = p.o.Pace
		}
		// A slow store is given as much time to rest as it took.
		timer.Reset(max(pace-p.now().Sub(begun), p.now().Sub(begun), time.Millisecond))
	}
}

// tick takes one look and publishes a snapshot of it.
func (p *poller) tick(ctx context.Context) {
	now := p.now()
	look, cancel := context.WithTimeout(ctx, p.o.waits.poll)
	s, err := p.look(look, now)
	cancel()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s = p.lost(now, err)
	} else if p.last != nil && p.last.Lost != "" {
		p.note(now, "", "store", "the store answers again")
	}
	p.record(p.last, s)
	s.Seq, s.Events, s.parts = 1, slices.Clone(p.events), newPartCache()
	if p.last != nil {
		s.Seq = p.last.Seq + 1
	}
	p.last = s
	p.hub.publish(s)
	p.ready(err) // what it is ready to show is there
}

// lost is the last snapshot, marked as out of date.
func (p *poller) lost(now time.Time, err error) *Snapshot {
	s := &Snapshot{Where: p.o.Store.Where()}
	if p.last != nil {
		*s = *p.last
	}
	if s.Lost == "" {
		s.LostAt = now
		p.note(now, "", "store", "the store does not answer: "+err.Error())
		p.o.Log.Warn("dashboard: store out of reach", "err", err)
	}
	s.At, s.Lost = now, err.Error()
	return s
}

func (p *poller) look(ctx context.Context, now time.Time) (*Snapshot, error) {
	begin := time.Now()
	clock, err := p.o.Store.Time(ctx)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{At: now, Where: p.o.Store.Where(), Latency: time.Since(begin)}
	p.o.Metrics.ObserveStore(s.Latency)
	runs, err := p.o.Store.Runs(ctx)
	if s.Damaged, err = jobs.Damaged(err); err != nil {
		return nil, err
	}
	workers, err := p.o.Store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	_, watched := p.hub.watched()
	p.folding = map[foldKey]bool{}
	seen := map[jobs.RunID]bool{}
	inList := 0
	for _, run := range runs {
		active := run.State == jobs.Running || run.State == jobs.Paused
		live := watched[run.ID.Name]
		if active && watched[""] && inList < maxLive {
			live = true
			inList++
		}
		v, err := p.follow(ctx, run, now, live, workers, clock)
		switch {
		case errors.Is(err, jobs.ErrFenced), errors.Is(err, jobs.ErrNoRun):
			continue // deleted meanwhile
		case jobs.IsLasting(err):
			s.Damaged = append(s.Damaged, jobs.DamagedRun{ID: run.ID, Err: err})
			continue
		case err != nil:
			return nil, err
		}
		seen[run.ID] = true
		s.Runs = append(s.Runs, v)
	}
	for id := range p.tracks {
		if !seen[id] {
			delete(p.tracks, id)
		}
	}
	p.folds.keep(p.folding)
	sortRuns(s.Runs)
	s.Workers = allWorkers(workers, s.Runs, clock)
	return s, nil
}

// follow brings one run's tracker up to date: in full while somebody looks, at
// the idle pace while it is under way, and now and then otherwise.
func (p *poller) follow(ctx context.Context, run jobs.Run, now time.Time, watched bool, workers []jobs.Worker, clock time.Time) (*RunView, error) {
	t := p.tracks[run.ID]
	fresh := t == nil || t.run.Rev != run.Rev
	if fresh {
		t = newTracker(run, p.costs)
		p.tracks[run.ID] = t
	}
	turned := t.run.State != run.State
	t.adopt(run)
	if turned {
		// The last cells came just before: what was read is not the end.
		t.expire()
	}
	full := watched || t.active() && (fresh || turned || now.Sub(t.readAt) >= p.o.IdlePace)
	if !full && (fresh || turned || now.Sub(t.lightAt) >= ledgerAge) {
		if err := t.light(ctx, p.o.Store, now); err != nil {
			return nil, err
		}
		full = t.behind()
	}
	if full {
		if err := t.read(ctx, p.o, now); err != nil {
			return nil, err
		}
	}
	return t.view(p, now, watched, workers, clock), nil
}

// sortRuns puts first what is under way, then what needs somebody, then the
// rest, each with the youngest first.
func sortRuns(runs []*RunView) {
	rank := map[jobs.State]int{jobs.Running: 0, jobs.Paused: 1, jobs.Halted: 2, jobs.Failed: 2, jobs.Complete: 3, jobs.Cancelled: 3}
	sort.SliceStable(runs, func(i, j int) bool {
		a, b := runs[i], runs[j]
		if rank[a.State] != rank[b.State] {
			return rank[a.State] < rank[b.State]
		}
		return a.Created.After(b.Created)
	})
}

// allWorkers sums up over runs.
func allWorkers(all []jobs.Worker, runs []*RunView, clock time.Time) []WorkerView {
	out := make([]WorkerView, len(all))
	at := map[string]*WorkerView{}
	for i, w := range all {
		out[i] = newWorkerView(w, clock)
		at[w.ID] = &out[i]
	}
	for _, r := range runs {
		for _, w := range r.Workers {
			if x := at[w.ID]; x != nil {
				x.Busy += w.Busy
				x.Rate += w.Rate
			}
		}
	}
	return out
}
