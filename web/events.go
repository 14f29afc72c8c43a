package web

import (
	"fmt"
	"slices"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// note adds an event.
func (p *poller) note(at time.Time, run, kind, text string) {
	p.seq++
	if len(p.events) >= maxEvents {
		p.events = slices.Clone(p.events[maxEvents/4:])
	}
	p.events = append(p.events, Event{Seq: p.seq, At: at, Run: run, Kind: kind, Text: text})
}

// record notes what is different between two snapshots. There is nothing to
// say about the first.
func (p *poller) record(old, s *Snapshot) {
	if old == nil || s.Lost != "" {
		return
	}
	for _, e := range differences(old, s) {
		p.note(s.At, e.Run, e.Kind, e.Text)
	}
}

// differences tells what happened between two snapshots.
func differences(old, s *Snapshot) []Event {
	var out []Event
	say := func(run, kind, format string, args ...any) {
		out = append(out, Event{Run: run, Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	workers := func(w WorkerView) string { return w.ID }
	for _, w := range gone(s.Workers, old.Workers, workers) {
		say("", "joined", "worker %s joined with %s", shortWorker(w.ID), report.Plural(w.Slots, "slot"))
	}
	for _, w := range gone(old.Workers, s.Workers, workers) {
		if w.Silent > 30*time.Second {
			say("", "left", "worker %s fell silent", shortWorker(w.ID))
		} else {
			say("", "left", "worker %s left", shortWorker(w.ID))
		}
	}
	name := func(d jobs.DamagedRun) string { return d.ID.Name }
	for _, d := range gone(s.Damaged, old.Damaged, name) {
		say(d.ID.Name, "failed", "%s", d.Error())
	}
	for _, r := range old.Runs {
		if s.Run(r.ID.Name) == nil && !slices.ContainsFunc(s.Damaged, func(d jobs.DamagedRun) bool { return d.ID == r.ID }) {
			say(r.ID.Name, "cancelled", "run %s was deleted", r.ID.Name)
		}
	}
	for _, r := range s.Runs {
		was := old.Run(r.ID.Name)
		switch {
		case was == nil && slices.ContainsFunc(old.Damaged, func(d jobs.DamagedRun) bool { return d.ID == r.ID }):
			say(r.ID.Name, string(r.State), "run %s can be read again", r.ID.Name)
		case was == nil:
			say(r.ID.Name, "running", "run %s was created", r.ID.Name)
		case was.ID != r.ID:
			say(r.ID.Name, "running", "run %s was started afresh (start %d)", r.ID.Name, r.Number)
		default:
			out = append(out, runDifferences(was, r)...)
		}
	}
	return out
}

// gone returns the elements of a whose key b lacks.
func gone[T any, K comparable](a, b []T, key func(T) K) []T {
	have := map[K]bool{}
	for _, x := range b {
		have[key(x)] = true
	}
	var out []T
	for _, x := range a {
		if !have[key(x)] {
			out = append(out, x)
		}
	}
	return out
}

// maxAlike is how many events of one kind one look may give for one run; the
// rest is counted.
const maxAlike = 5

func runDifferences(old, r *RunView) []Event {
	var out []Event
	say := func(kind, format string, args ...any) {
		out = append(out, Event{Run: r.ID.Name, Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	if old.State != r.State {
		text := "run " + r.ID.Name + " " + verb(old.State, r.State)
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		say(string(r.State), "%s", text)
	}
	for _, q := range firstN(gone(r.Quarantine, old.Quarantine, func(q jobs.Quarantine) string { return q.Worker }), maxAlike) {
		say("disputed", "%s is in quarantine: %s", shortWorker(q.Worker), q.Why())
	}
	if old.Rev != r.Rev {
		say("plan", "the plan of run %s was changed (revision %d)", r.ID.Name, r.Rev)
		return out
	}
	if old.Leader != r.Leader && r.Leader != "" && old.read {
		say("plan", "%s leads run %s", shortWorker(r.Leader), r.ID.Name)
	}
	again := gone(retries(r), retries(old), func(k TaskView) string { return k.ID })
	for _, k := range firstN(again, maxAlike) {
		say("retried", "%s of %s is tried again (attempt %d)", describe(k), k.Sweep, k.Attempt+1)
	}
	if more := len(again) - maxAlike; more > 0 {
		say("retried", "%s more are tried again", report.Plural(more, "task"))
	}
	failures := gone(r.Failures, old.Failures, func(f jobs.Failure) string { return fmt.Sprint(f.Sweep, f.Lo, f.Points, f.AtMs) })
	for _, f := range firstN(failures, maxAlike) {
		say("failed", "%s of %s failed: %s", describe(TaskView{Lo: f.Lo, Hi: f.Hi, Points: f.Points}), f.Sweep, firstLine(f.Error))
	}
	if more := len(failures) - maxAlike; more > 0 {
		say("failed", "%s more failed", report.Plural(more, "stretch"))
	}
	for _, s := range r.Sweeps {
		was := old.Sweep(s.Name)
		if was == nil {
			continue
		}
		for _, d := range firstN(gone(s.Disputes, was.Disputes, func(d jobs.Dispute) int64 { return d.N }), maxAlike) {
			say("disputed", "two computations of %s disagree at n = %d", s.Name, d.N)
		}
		out = append(out, checkDifferences(r, was, s)...)
	}
	return out
}

// retries are the running tasks that are not the first attempt.
func retries(r *RunView) []TaskView {
	var out []TaskView
	for _, k := range r.Tasks {
		if k.Attempt > 0 {
			out = append(out, k)
		}
	}
	return out
}

func checkDifferences(r *RunView, was, s *SweepView) []Event {
	var out []Event
	if was.Summing || was.heat == nil {
		return nil // it was met at some time before, which is not known
	}
	for i, c := range s.Result.Checkpoints {
		if i >= len(was.Result.Checkpoints) || was.Result.Checkpoints[i].Status == c.Status || len(out) >= maxAlike {
			continue
		}
		e := Event{Run: r.ID.Name, Kind: "checked", Text: fmt.Sprintf("checkpoint met: %s = %s", checkName(s.Symbol, c), short(c.Want, 40))}
		if c.Status == aggregator.Mismatch {
			e.Kind, e.Text = "halted", fmt.Sprintf("checkpoint NOT met: %s: expected %s, found %s", checkName(s.Symbol, c), short(c.Want, 40), short(c.Got, 40))
		}
		if c.Status != aggregator.Pending {
			out = append(out, e)
		}
	}
	return out
}

// verb says what the change of state means.
func verb(from, to jobs.State) string {
	switch to {
	case jobs.Running:
		if from == jobs.Paused {
			return "goes on"
		}
		return "runs again"
	case jobs.Paused:
		return "is paused"
	case jobs.Complete:
		return "is complete"
	case jobs.Halted:
		return "is halted"
	case jobs.Cancelled:
		return "is cancelled"
	}
	return "has failed cells and ended"
}
