package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nsweep/nsweep/internal/embedredis"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/scheduler"
	"github.com/nsweep/nsweep/store"
)

// demand is memory that is still to be filled.
type demand struct {
	plan   int64 // by the run in question
	others int64 // by other runs under way
}

func (d demand) total() int64 { return d.plan + d.others }

// missing estimates the bytes that a run's values still take: the estimate for
// all of them, less the share that is stored.
func missing(sweeps []jobs.Sweep, have map[string]jobs.Counts) int64 {
	var need int64
	for _, s := range sweeps {
		all := scheduler.Bytes(s)
		done := min(1, float64(have[s.Name].Values)/float64(max(s.Set.Count(), 1)))
		need += int64(float64(all) * (1 - done))
	}
	return need
}

// demandOf returns what the named run with these sweeps and the other runs
// under way still take. With an empty name all are others.
func demandOf(ctx context.Context, st *opened, name string, sweeps []jobs.Sweep) (demand, error) {
	var d demand
	runs, err := st.Runs(ctx)
	if _, err = jobs.Damaged(err); err != nil {
		return d, err
	}
	have := map[string]jobs.Counts{}
	for _, run := range runs {
		counts, err := st.Counts(ctx, run.ID)
		if err != nil {
			return d, err
		}
		switch {
		case run.ID.Name == name:
			have = counts
		case run.State == jobs.Running || run.State == jobs.Paused:
			d.others += missing(run.Sweeps, counts)
		}
	}
	d.plan = missing(sweeps, have)
	return d, nil
}

// judgeMemory says whether a demand fits into a Redis.
func judgeMemory(f store.Fitness, d demand, name string) diagnosis {
	limit, what := f.MaxMemory, "maxmemory"
	if limit == 0 {
		limit, what = f.SystemMemory, "memory of its machine"
	}
	free := max(0, limit-f.UsedMemory)
	out := diagnosis{Check: "memory", Verdict: store.Fit, Figures: map[string]float64{
		"used_bytes": float64(f.UsedMemory), "limit_bytes": float64(limit), "free_bytes": float64(free),
		"run_bytes": float64(d.plan), "others_bytes": float64(d.others)}}
	wants := ""
	if d.others > 0 {
		wants = ", runs under way take " + bytesText(d.others) + " more"
	}
	if name != "" {
		wants = ", run " + name + " takes " + bytesText(d.plan) + " more"
		if d.others > 0 {
			wants += " and other runs under way " + bytesText(d.others)
		}
	}
	out.Text = fmt.Sprintf("%s of %s (%s) are free%s", bytesText(free), bytesText(limit), what, wants)
	must := d.plan // what is asked about; the others were let in before
	if name == "" {
		must = d.others
	}
	switch {
	case limit == 0:
		out.Text = "Redis does not say how much it has" + wants
	case must > free && f.MaxMemory > 0:
		out.Verdict = store.Unfit
		out.Text += ": raise maxmemory, shorten the range, or keep sums instead of values"
	case d.total() > free && f.MaxMemory > 0:
		out.Verdict = store.Warning
		out.Text += ": not all of them will fit; raise maxmemory"
	case d.total() > free:
		out.Verdict = store.Warning
		out.Text += ": Redis will be killed when the machine has none left"
	case float64(d.total()) > 0.8*float64(free):
		out.Verdict = store.Warning
		out.Text += ": little is left for anything else"
	}
	return out
}

// examineMemory judges the head-room for a plan, or for the runs under way.
func (a *app) examineMemory(ctx context.Context, st *opened, f store.Fitness, p patient) diagnosis {
	d, err := demandOf(ctx, st, p.name, p.sweeps)
	if err != nil {
		return diagnosis{Check: "memory", Verdict: store.Unfit, Text: "the runs in the store cannot be read: " + firstLine(err.Error())}
	}
	return judgeMemory(f, d, p.name)
}

// checkMemory refuses a plan whose values do not fit into the store, before
// anything is stored.
func (a *app) checkMemory(ctx context.Context, st *opened, name string, sweeps []jobs.Sweep) error {
	f, err := st.Fitness(ctx)
	if err != nil || f.Mode == "embedded" {
		return err // its limit is this machine's memory, which changes all the time
	}
	d, err := demandOf(ctx, st, name, sweeps)
	if err != nil {
		return err
	}
	switch m := judgeMemory(f, d, name); m.Verdict {
	case store.Unfit:
		return &store.UnfitError{Store: st.where, Problem: "has too little memory: " + m.Text}
	case store.Warning:
		a.warn(st.where + ": " + m.Text)
	}
	return nil
}

// examineEmbedded looks at the folder of the embedded store without making it.
func (a *app) examineEmbedded(ctx context.Context, h *health, p patient) error {
	dir := p.settings.DataDir
	h.Store = "embedded store " + dir
	need := missing(p.sweeps, nil)
	dial, err := embedredis.Attach(dir)
	switch {
	case err == nil:
		h.say("reachable", store.Fit, "a process owns %s and answers", h.Store)
		s, err := store.Open(ctx, store.Options{Dialer: dial, Embedded: true, Logger: a.log()})
		if err != nil {
			h.say("data", store.Unfit, "%s", firstLine(err.Error()))
			return nil
		}
		defer s.Close()
		if d, err := demandOf(ctx, &opened{Store: s, where: h.Store}, p.name, p.sweeps); err == nil {
			need = d.total()
		}
	case !errors.Is(err, embedredis.ErrNotRunning):
		h.say("reachable", store.Unfit, "%s", firstLine(err.Error()))
		return nil
	default:
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			h.say("reachable", store.Fit, "%s is not there yet; the first run makes it", h.Store)
		case err != nil:
			h.say("reachable", store.Unfit, "%s", firstLine(err.Error()))
			return nil
		case !info.IsDir():
			h.say("reachable", store.Unfit, "%s is a file", dir)
			return nil
		default:
			h.say("reachable", store.Fit, "%s is there, and no process owns it", h.Store)
		}
	}
	h.add(judgeDisk(dir, need))
	return nil
}

// judgeDisk says whether so many bytes fit on the disk of a folder that may not
// be there yet.
func judgeDisk(dir string, need int64) diagnosis {
	at := filepath.Clean(dir)
	free, err := freeSpace(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		free, err = freeSpace(at)
	}
	if err != nil {
		return diagnosis{Check: "disk", Verdict: store.Warning, Text: fmt.Sprintf("free space cannot be told: %v", err)}
	}
	out := diagnosis{Check: "disk", Verdict: store.Fit, Text: bytesText(free) + " are free",
		Figures: map[string]float64{"free_bytes": float64(free), "run_bytes": float64(need)}}
	if need > 0 {
		out.Text += ", the values take about " + bytesText(need) + " more, in memory as well"
	}
	switch {
	case need > free:
		out.Verdict = store.Unfit
		out.Text += ": free some, choose another data_dir, or keep sums instead of values"
	case free < 100<<20:
		out.Verdict = store.Warning
		out.Text += ": a run stops when nothing can be written"
	}
	return out
}
