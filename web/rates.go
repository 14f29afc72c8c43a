package web

import (
	"sort"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Rates follows how many values a second each worker of a run computes, by how
// its tasks go on from look to look. The zero value has seen nothing. It is for
// one goroutine.
type Rates struct {
	flows map[string]*flow // by worker
	tasks []TaskView       // of the last look
	at    time.Time        // when that was; zero before the first
}

// finished is a task that ended, and how long it took.
type finished struct {
	TaskView
	took time.Duration
}

// Of returns a worker's values a second over the last 15 s or so, 0 when nothing
// is known of it. What confirms values that are stored does not count.
func (r *Rates) Of(worker string) float64 {
	if f := r.flows[worker]; f != nil {
		return f.rate()
	}
	return 0
}

// Look takes the tasks that are given out, what is said of them, and the store's
// clock at that moment; now is the clock of this process. It returns the tasks
// that nobody has let go of, those with a worker first in the order of their start. It takes
// O(k log k) for k tasks.
func (r *Rates) Look(tasks []jobs.Task, beats []jobs.Beat, clock, now time.Time) []TaskView {
	views, _ := r.look(tasks, beats, clock, now)
	return views
}

// look credits workers with what their tasks did since the last look, and also
// returns what ended since.
func (r *Rates) look(tasks []jobs.Task, beats []jobs.Beat, clock, now time.Time) (views []TaskView, ended []finished) {
	views = taskViews(tasks, beats, clock)
	defer func() { r.tasks, r.at = views, now }()
	if r.at.IsZero() {
		r.flows = map[string]*flow{}
		return views, nil // what was done before is not known to be recent
	}
	did := map[string]float64{}
	old := map[string]TaskView{}
	for _, k := range r.tasks {
		if !k.Waiting {
			old[k.ID] = k
		}
	}
	for _, k := range views {
		if k.Waiting {
			continue
		}
		did[k.Worker] += max(0, (k.Fraction-old[k.ID].Fraction)*float64(k.Count))
		delete(old, k.ID)
	}
	gone := map[string]jobs.Beat{}
	for _, b := range beats {
		if b.Ended {
			gone[b.Task] = b
		}
	}
	for id, k := range old {
		b, ok := gone[id]
		switch {
		case ok:
			did[k.Worker] += max(0, (b.Fraction-k.Fraction)*float64(k.Count))
			if b.Error == "" && b.Fraction == 1 {
				ended = append(ended, finished{k, time.Duration(b.AtMs-b.StartedMs) * time.Millisecond})
			}
		case now.Sub(r.at) < 2*time.Second && k.Silent < 10*time.Second:
			// It came and went between two looks: it must have been finished.
			did[k.Worker] += (1 - k.Fraction) * float64(k.Count)
			ended = append(ended, finished{k, clock.Sub(k.Started)})
		}
	}
	for w, v := range did {
		if r.flows[w] == nil {
			r.flows[w] = &flow{}
		}
		r.flows[w].add(now, v)
	}
	for w, f := range r.flows {
		if _, ok := did[w]; !ok {
			f.add(now, 0)
			if now.Sub(f.since) > time.Hour && f.amount < 1e-6 {
				delete(r.flows, w)
			}
		}
	}
	return views, ended
}

// taskViews joins tasks with their beats. A task whose worker has let go of it
// is left out.
func taskViews(tasks []jobs.Task, beats []jobs.Beat, clock time.Time) []TaskView {
	byID := map[string]jobs.Beat{}
	for _, b := range beats {
		byID[b.Task] = b
	}
	var out []TaskView
	for _, k := range tasks {
		v := TaskView{ID: k.ID(), Sweep: k.Sweep, Lo: k.Lo, Hi: k.Hi, Points: k.Points, Count: k.Count(), Attempt: k.Attempt, Deaths: k.Deaths, Check: k.Check > 0}
		if v.Check {
			v.Count = 0 // it adds no values
		}
		b, ok := byID[v.ID]
		switch {
		case ok && b.Ended:
			continue
		case ok:
			v.Worker, v.Fraction = b.Worker, min(1, max(0, b.Fraction))
			v.Started, v.Seen = time.UnixMilli(b.StartedMs), time.UnixMilli(b.AtMs)
			v.Silent = max(0, clock.Sub(v.Seen))
		default:
			v.Waiting = true
		}
		out = append(out, v)
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Waiting != b.Waiting {
			return b.Waiting
		}
		return a.Started.Before(b.Started)
	})
	return out
}
