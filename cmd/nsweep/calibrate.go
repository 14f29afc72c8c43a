package main

import (
	"context"
	"syscall"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// A probe of 10 to 20 ms is repeated: a processor that was at rest takes some
// tens of milliseconds to reach its speed.
const (
	probeRuns  = 12
	probeSpend = 250 * time.Millisecond
)

// probe runs an engine's probe and returns its time divided by its estimate. It
// is the processor's time, because an estimate is of a core that nobody shares;
// the best of up to twelve runs in a quarter of a second counts.
func probe(eng engine.Engine) (float64, error) {
	w, err := eng.Resolve(eng.Info().Probe)
	if err != nil {
		return 0, err
	}
	best := time.Duration(1<<63 - 1)
	first := time.Now()
	for i := 0; i < probeRuns && (i < 2 || time.Since(first) < probeSpend); i++ {
		begin, err := processorTime()
		if err != nil {
			return 0, err
		}
		if err := eng.Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return nil }}); err != nil {
			return 0, err
		}
		end, err := processorTime()
		if err != nil {
			return 0, err
		}
		best = min(best, end-begin)
	}
	return float64(best.Nanoseconds()) / eng.Cost(w).Total(), nil
}

// processorTime returns what this process has used of the processors.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
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
