package jobs

import (
	"fmt"

	"github.com/nsweep/nsweep/engine"
)

// Another algorithm is taken for a second computation when it costs at most
// dearer times what the sweep's costs, or cheap nanoseconds.
const (
	dearer = 100
	cheap  = 5e7
)

// Again returns the resolved work that computes n in [lo, hi) of the sweep a
// second time, and whether it is by another algorithm than the sweep's: the
// cheapest other one that reaches and costs at most a hundred times as much or
// 50 ms, else the sweep's own, from a start of its own. The error says why the
// engine cannot do these n at all.
func Again(eng engine.Engine, s Sweep, lo, hi int64) (w engine.Work, other bool, err error) {
	resolve := func(algorithm string) (engine.Work, error) {
		return eng.Resolve(engine.Work{Algorithm: algorithm, Params: s.Params, Lo: lo, Hi: hi})
	}
	used, err := resolve(s.Algorithm)
	if err != nil {
		return w, false, fmt.Errorf("sweep %s: %w", s.Name, err)
	}
	w = used
	limit := max(dearer*eng.Cost(used).Total(), cheap)
	for _, name := range eng.Info().AlgorithmNames() {
		if name == used.Algorithm {
			continue
		}
		// An algorithm that does not reach is not meant.
		got, err := resolve(name)
		if err != nil {
			continue
		}
		if cost := eng.Cost(got).Total(); cost <= limit {
			w, other, limit = got, true, cost
		}
	}
	return w, other, nil
}
