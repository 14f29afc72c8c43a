//go:build unix

package hopping

import (
	"context"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
)

// processTime is the processor time this process has used. Unlike a clock it
// does not run while other processes do.
func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestTimeGrowsSlowly measures the processor time of one n from 10^4 to 10^7 with
// warm memory, in turns, and takes the least of many: it grows no faster than
// n^1.1, from end to end and in a fit of the logarithms.
func TestTimeGrowsSlowly(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("measures time: set NSWEEP_SOAK=1")
	}
	sizes := []int{10_000, 100_000, 1_000_000, 10_000_000}
	c, p := newClasses(), newPoller(context.Background())
	times := make([]float64, len(sizes))
	fit, ends := math.Inf(1), math.Inf(1)
	for round := 0; round < 40 && (max(fit, ends) > 1.1 || round < 5); round++ {
		for i, n := range sizes {
			start, count := processTime(t), 0
			for ; count == 0 || processTime(t)-start < 50*time.Millisecond; count++ {
				if _, err := c.solve(n+count%3, p); err != nil {
					t.Fatal(err)
				}
			}
			took := float64(processTime(t)-start) / float64(count)
			if round == 0 || took < times[i] {
				times[i] = took
			}
		}
		l := func(i int) float64 { return math.Log10(times[i]) }
		// The slope of the least squares line through the points 4, 5, 6, 7.
		fit = (1.5*(l(3)-l(0)) + 0.5*(l(2)-l(1))) / 5
		ends = (l(3) - l(0)) / 3
	}
	for i, n := range sizes {
		t.Logf("n = %d: %.3f ms", n, times[i]/1e6)
	}
	t.Logf("exponent %.3f by a fit, %.3f from end to end", fit, ends)
	if max(fit, ends) > 1.1 {
		t.Errorf("time grows like n^%.3f", max(fit, ends))
	}
}

// stopwatch is a context that notes the longest processor time between two looks
// at it.
type stopwatch struct {
	context.Context
	t         *testing.T
	last, gap time.Duration
}

func (s *stopwatch) Err() error {
	now := processTime(s.t)
	s.gap, s.last = max(s.gap, now-s.last), now
	return nil
}

// TestLooksAtContextOften measures how late a cancellation can be noticed. The
// longest gaps are a few milliseconds, except where the system has to find tens
// of megabytes.
func TestLooksAtContextOften(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("measures time: set NSWEEP_SOAK=1")
	}
	for algorithm, n := range map[string]int64{"labels": 20, "grundy": 20, "walk": 28, "table": tableReach, "classes": 100_000_000} {
		e := New()
		ctx := &stopwatch{Context: context.Background(), t: t, last: processTime(t)}
		if err := e.Compute(ctx, mustResolve(t, e, engine.Work{Algorithm: algorithm, Lo: n, Hi: n + 1}), discard); err != nil {
			t.Fatal(err)
		}
		_ = ctx.Err()
		t.Logf("%s at n = %d: %v", algorithm, n, ctx.gap)
		if ctx.gap > 50*time.Millisecond {
			t.Errorf("%s at n = %d does not look at its context for %v", algorithm, n, ctx.gap)
		}
	}
}
