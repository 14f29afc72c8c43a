//go:build unix

package bezout

import (
	"context"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
)

// TestCost compares the cost model, after one calibration by the probe, with
// the processor time of the works it is made for.
func TestCost(t *testing.T) {
	soak(t)
	measure := func(w engine.Work) time.Duration {
		best := time.Hour
		for range 5 {
			// Short works repeat: the kernel counts time in coarse steps.
			runs, start := 0, processTime()
			for runs == 0 || processTime()-start < 200*time.Millisecond {
				if err := New().Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return nil }}); err != nil {
					t.Fatal(err)
				}
				runs++
			}
			best = min(best, (processTime()-start)/time.Duration(runs))
		}
		return best
	}
	e := New()
	scale := float64(measure(info.Probe)) / e.Cost(info.Probe).Total()
	for _, w := range []engine.Work{
		{Algorithm: algSum, Lo: 1e9, Hi: 1e9 + 1}, {Algorithm: algSum, Lo: 1e10, Hi: 1e10 + 1},
		{Algorithm: algSum, Lo: 1e11, Hi: 1e11 + 1}, {Algorithm: algSum, Lo: 1e12, Hi: 1e12 + 1},
		{Algorithm: algSteps, Lo: 1, Hi: 1e7}, {Algorithm: algSteps, Lo: 1, Hi: 1e8},
		{Algorithm: algSteps, Lo: 1e8, Hi: 1.1e8}, {Algorithm: algSteps, Lo: 1e8, Hi: 2e8},
		{Algorithm: algSteps, Lo: 1e9, Hi: 1.01e9}, {Algorithm: algSteps, Lo: 1e9, Hi: 1.1e9},
		{Algorithm: algSteps, Lo: 5e9, Hi: 5.01e9},
	} {
		ratio := float64(measure(w)) / (scale * e.Cost(w).Total())
		t.Logf("%s %d…%d: %.2f of the estimate", w.Algorithm, w.Lo, w.Hi-1, ratio)
		if ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%s %d…%d took %.2f of the estimate", w.Algorithm, w.Lo, w.Hi-1, ratio)
		}
	}
}

// TestCostAddsUp checks what planning relies on: costs are positive, and the
// parts of a range cost its whole but for their starts and checks.
func TestCostAddsUp(t *testing.T) {
	e := New()
	for _, lo := range []int64{200_000_000, 3_000_000_000, 1_000_000_000_000} {
		const part, parts = 5_000_000, 4
		whole := e.Cost(engine.Work{Algorithm: algSteps, Lo: lo, Hi: lo + parts*part})
		sum := 0.0
		for i := range int64(parts) {
			c := e.Cost(engine.Work{Algorithm: algSteps, Lo: lo + i*part, Hi: lo + (i+1)*part})
			if c.Start <= 0 || c.Run <= 0 {
				t.Fatalf("cost of part %d from %d is %v", i, lo, c)
			}
			sum += c.Run
		}
		if r := sum / whole.Run; r < 0.9 || r > 1.1 {
			t.Errorf("parts from %d cost %.2f of the whole", lo, r)
		}
	}
}
