package main

import (
	"context"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// probe runs an engine's probe and returns its time divided by its estimate.
// The better of two runs counts: the first one also pays for cold caches.
func probe(eng engine.Engine) (float64, error) {
	w, err := eng.Resolve(eng.Info().Probe)
	if err != nil {
		return 0, err
	}
	best := time.Duration(1<<63 - 1)
	for range 2 {
		begin := time.Now()
		err := eng.Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return nil }})
		if err != nil {
			return 0, err
		}
		best = min(best, time.Since(begin))
	}
	return float64(best.Nanoseconds()) / eng.Cost(w).Total(), nil
}

// engineNames returns the engines of the sweeps, each once.
func engineNames(sweeps []jobs.Sweep) []string {
	var names []string
	seen := map[string]bool{}
	for _, s := range sweeps {
		if !seen[s.Engine] {
			seen[s.Engine] = true
			names = append(names, s.Engine)
		}
	}
	return names
}
