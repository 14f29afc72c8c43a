//go:build unix

package bezout

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
)

// processTime is the processor time this process has used. Unlike a clock it
// does not run while other processes do.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stopwatch is a context that measures the longest time between two looks.
type stopwatch struct {
	context.Context
	last, gap time.Duration
}

func (s *stopwatch) Err() error {
	now := processTime()
	if s.last != 0 {
		s.gap = max(s.gap, now-s.last)
	}
	s.last = now
	return nil
}

// TestCancelInterval measures how long a computation works without looking at
// its context, or before the first and after the last time.
func TestCancelInterval(t *testing.T) {
	soak(t)
	for _, w := range append(cancelWorks,
		engine.Work{Algorithm: algFormula, Lo: 1_000_000_000_000, Hi: 1_000_000_000_001},
		engine.Work{Algorithm: algSum, Lo: 100_000_000_000_000, Hi: 100_000_000_000_001},
		engine.Work{Algorithm: algLinear, Lo: 100_000_000, Hi: 100_000_001},
		engine.Work{Algorithm: algSteps, Lo: 1_000_000_000_000, Hi: 1_000_002_000_000},
		engine.Work{Algorithm: algSteps, Lo: 10_000_000_000_000, Hi: 10_000_000_001_000},
		engine.Work{Algorithm: algSteps, Lo: 10_000_000_000_000, Hi: 10_000_002_000_000},
		engine.Work{Algorithm: algSteps, Lo: 1_000_000_000_000_000, Hi: 1_000_000_000_002_000}, // W(lo−1) too
		engine.Work{Algorithm: algSteps, Lo: 1_000_000_000, Hi: 1_020_000_000},
	) {
		s := &stopwatch{Context: context.Background(), last: processTime()}
		if err := New().Compute(s, w, engine.Sink{Emit: func(engine.Piece) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		_ = s.Err()
		t.Logf("%s from %d: %v", w.Algorithm, w.Lo, s.gap)
		if s.gap > 50*time.Millisecond {
			t.Errorf("%s from %d looks at its context every %v only", w.Algorithm, w.Lo, s.gap)
		}
	}
}
