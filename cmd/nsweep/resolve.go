package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// resolveSweeps turns an experiment, whose shape config has checked, into
// sweeps that the engines accept. All problems are returned together, each with
// the key and line it comes from.
func (a *app) resolveSweeps(e *config.Experiment) ([]jobs.Sweep, error) {
	var out []jobs.Sweep
	var errs []error
	for _, s := range e.Sweeps {
		r, err := a.resolveSweep(e, s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, r)
	}
	return out, errors.Join(errs...)
}

func (a *app) resolveSweep(e *config.Experiment, s config.Sweep) (jobs.Sweep, error) {
	key := "sweeps." + s.Name + "."
	none := jobs.Sweep{}
	eng, err := a.reg.Get(s.Engine)
	if err != nil {
		return none, e.Errorf(key+"engine", fmt.Sprintf("unknown engine %q", s.Engine), "want one of "+strings.Join(a.reg.Names(), ", "))
	}
	info := eng.Info()
	if s.Algorithm != "" {
		if _, ok := info.Algorithm(s.Algorithm); !ok {
			return none, e.Errorf(key+"algorithm", fmt.Sprintf("engine %s has no algorithm %q", s.Engine, s.Algorithm), "want one of "+strings.Join(info.AlgorithmNames(), ", "))
		}
	}
	for name, v := range s.Params {
		if !slices.ContainsFunc(info.Params, func(p engine.Param) bool { return p.Name == name }) {
			return none, e.Errorf(key+"params."+name, fmt.Sprintf("engine %s has no parameter %q", s.Engine, name), "want "+knownParams(info))
		}
		// One n that every engine can do shows what is wrong with a parameter
		// alone.
		if _, err := eng.Resolve(engine.Work{Params: engine.Params{name: v}, Lo: 1, Hi: 2}); err != nil {
			return none, e.Errorf(key+"params."+name, trimEngine(err, s.Engine), "")
		}
	}
	params := engine.Params(s.Params)
	if _, err := eng.Resolve(engine.Work{Params: params, Lo: 1, Hi: 2}); err != nil {
		return none, e.Errorf(key+"params", trimEngine(err, s.Engine), "")
	}
	lo, hi, points, err := s.N.Expand()
	if err != nil {
		return none, e.Errorf(key+"n", err.Error(), "")
	}
	set, err := jobs.NewSet(lo, hi, points)
	if err != nil {
		return none, e.Errorf(key+"n", err.Error(), "")
	}
	var works []engine.Work
	if set.Dense() {
		works = append(works, engine.Work{Algorithm: s.Algorithm, Params: params, Lo: set.Lo, Hi: set.Hi})
	}
	if k := len(set.Points); k > 0 {
		n := set.Points[k-1]
		works = append(works, engine.Work{Algorithm: s.Algorithm, Params: params, Lo: n, Hi: n + 1})
	}
	var canon engine.Params
	for _, w := range works {
		r, err := eng.Resolve(w)
		if err != nil {
			return none, e.Errorf(key+"n", trimEngine(err, s.Engine), "")
		}
		canon = r.Params
	}
	if err := fewEnough(info.Grid, set); err != nil {
		return none, e.Errorf(key+"n", err.Error(), "want a shorter range, or single points such as {decades: {from: 0, to: 18}}")
	}
	priority, err := jobs.ParsePriority(e.Priority)
	if err != nil {
		return none, e.Errorf("priority", err.Error(), "")
	}
	out := jobs.Sweep{Name: s.Name, Engine: s.Engine, Version: info.Version, Priority: priority, Params: canon, Algorithm: s.Algorithm,
		Keep: jobs.Keep(s.Keep), Set: set, Grid: info.Grid, Sums: slices.Clone(s.Sums)}
	slices.Sort(out.Sums)
	for _, c := range s.Checkpoints {
		out.Checkpoints = append(out.Checkpoints, jobs.Checkpoint{N: c.N, Power: c.Power, Want: c.Want()})
	}
	known, err := knownValues(e.ComparePath(s), set)
	if err != nil {
		return none, e.Errorf(key+"compare", err.Error(), "want a b-file or CSV with values at n of the sweep")
	}
	out.Checkpoints = append(out.Checkpoints, known...)
	return out, nil
}

// maxCells bounds the cells of a sweep's dense part. Whoever looks at a run holds
// a bit for each of them and goes through them all: 300 million take 38 MB, and
// in Redis at least 1.2 GB. It is twelve times what W to 10^12 needs.
const maxCells = 300_000_000

// fewEnough refuses a dense range of more cells than maxCells.
func fewEnough(g engine.Grid, set jobs.Set) error {
	first, last := g.Range(set.Lo, set.Hi)
	if last-first <= maxCells {
		return nil
	}
	return fmt.Errorf("%d…%d has %s cells, more than the %s that a sweep can have, which end at n = %d",
		set.Lo, set.Hi-1, group(last-first), group(maxCells), g.Cell(first+maxCells-1).Hi-1)
}

// maxCompare bounds the checkpoints of a file: they are part of the run's
// manifest, which every process reads. "nsweep diff" compares any number.
const maxCompare = 100_000

// knownValues reads a file of known values, where a path is given, and returns
// those at n of the set as checkpoints.
func knownValues(path string, set jobs.Set) ([]jobs.Checkpoint, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []jobs.Checkpoint
	for p, err := range report.ReadValues(f) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i := range p.Len() {
			if n := p.Lo + int64(i); set.Contains(n) {
				out = append(out, jobs.Checkpoint{N: n, Want: p.At(i).Big()})
			}
		}
		if len(out) > maxCompare {
			return nil, fmt.Errorf("%s has more than %d values at n of the sweep; nsweep diff compares any number afterwards", path, maxCompare)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no value at an n of the sweep", path)
	}
	return out, nil
}

func knownParams(info engine.Info) string {
	if len(info.Params) == 0 {
		return "no params at all"
	}
	names := make([]string, len(info.Params))
	for i, p := range info.Params {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

// trimEngine drops the engine's name, which the key shows already.
func trimEngine(err error, name string) string {
	return strings.TrimPrefix(err.Error(), name+": ")
}

// calibrate measures each engine's probe once and returns the ratio of the
// time to the estimate, for the cost model.
func (a *app) calibrate(names ...string) map[string]float64 {
	scale := map[string]float64{}
	if uncalibrated() {
		return scale
	}
	for _, name := range names {
		if eng, err := a.reg.Get(name); err == nil {
			if k, err := probe(eng); err == nil {
				scale[name] = k
			}
		}
	}
	return scale
}
