package scheduler

import (
	"fmt"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Model estimates costs in nanoseconds of one core of the machine it was
// calibrated on.
type Model struct {
	reg   *engine.Registry
	scale map[string]float64
}

// NewModel returns a model over the engines' own estimates. scale holds, by
// engine, the measured time of its probe divided by the estimate; an engine
// without an entry counts as 1.
func NewModel(reg *engine.Registry, scale map[string]float64) *Model {
	return &Model{reg: reg, scale: scale}
}

// Cost estimates the values of the sweep at n in [lo, hi).
func (m *Model) Cost(s jobs.Sweep, lo, hi int64) (engine.Cost, error) {
	eng, err := m.reg.Get(s.Engine)
	if err != nil {
		return engine.Cost{}, err
	}
	if v := eng.Info().Version; v != s.Version {
		return engine.Cost{}, fmt.Errorf("engine %s has value version %d here, the run wants %d", s.Engine, v, s.Version)
	}
	w, err := eng.Resolve(engine.Work{Algorithm: s.Algorithm, Params: s.Params, Lo: lo, Hi: hi})
	if err != nil {
		return engine.Cost{}, err
	}
	k := m.scale[s.Engine]
	if k <= 0 {
		k = 1
	}
	c := eng.Cost(w)
	return engine.Cost{Start: c.Start * k, Run: c.Run * k}, nil
}

// Again returns the work by which n in [lo, hi) of a sweep are computed a second
// time, with same by the sweep's own algorithm.
func (m *Model) Again(s jobs.Sweep, lo, hi int64, same bool) (engine.Work, error) {
	eng, err := m.reg.Get(s.Engine)
	if err != nil {
		return engine.Work{}, err
	}
	if same {
		w, err := eng.Resolve(engine.Work{Algorithm: s.Algorithm, Params: s.Params, Lo: lo, Hi: hi})
		if err != nil {
			err = fmt.Errorf("sweep %s: %w", s.Name, err)
		}
		return w, err
	}
	w, _, err := jobs.Again(eng, s, lo, hi)
	return w, err
}

// Open estimates what is left of a sweep by its ledger: the sum over all
// unfinished stretches and points, with one start each.
func (m *Model) Open(s jobs.Sweep, l *jobs.Ledger) (float64, error) {
	total := 0.0
	first, last := s.Cells()
	for i := l.NextOpen(first); i < last; {
		end := min(l.NextDone(i), last)
		a, _ := s.Cell(i)
		b, _ := s.Cell(end - 1)
		c, err := m.Cost(s, a.Lo, b.Hi)
		if err != nil {
			return 0, err
		}
		total += c.Total()
		i = l.NextOpen(end)
	}
	for _, n := range s.Set.Points {
		if l.PointDone(n) {
			continue
		}
		c, err := m.Cost(s, n, n+1)
		if err != nil {
			return 0, err
		}
		total += c.Total()
	}
	return total, nil
}
