//go:build unix

package bezout

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
)

// TestTasksTakeEqualTime cuts 1…10^8 by the cost model into tasks of equal cost,
// as large as their starts ask for, and compares the processor time of each.
func TestTasksTakeEqualTime(t *testing.T) {
	soak(t)
	const last, each = int64(100_000_000), 60e6
	e := New()
	var works []engine.Work
	for lo := int64(1); lo <= last; {
		w := engine.Work{Algorithm: algSteps, Lo: lo, Hi: lo + 20_000}
		for w.Hi <= last && e.Cost(engine.Work{Algorithm: algSteps, Lo: lo, Hi: w.Hi + 10_000}).Total() < each {
			w.Hi += 20_000
		}
		w.Hi = min(w.Hi, last+1)
		works = append(works, w)
		lo = w.Hi
	}
	took := make([]time.Duration, len(works))
	for round := range 8 {
		for i, w := range works {
			start := processTime()
			if err := e.Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return nil }}); err != nil {
				t.Fatal(err)
			}
			if d := processTime() - start; round == 0 || d < took[i] {
				took[i] = d
			}
		}
	}
	for i, w := range works {
		t.Logf("%d…%d: %v", w.Lo, w.Hi-1, took[i])
	}
	took = took[:len(took)-1] // the last one takes what is left
	slices.Sort(took)
	n := len(took)
	t.Logf("%d tasks: median %v, p95/p5 %.2f", n, took[n/2], float64(took[n*95/100])/float64(took[n*5/100]))
	if took[n-1] > 2*took[0] {
		t.Errorf("tasks of equal cost take from %v to %v", took[0], took[n-1])
	}
}
