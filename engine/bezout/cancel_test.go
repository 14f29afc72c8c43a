package bezout

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// countdown is a context that ends at a given look at it.
type countdown struct {
	context.Context
	left, after int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		c.after++
		return context.Canceled
	}
	return nil
}

var cancelWorks = []engine.Work{
	{Algorithm: algGame, Lo: 1, Hi: 131},
	{Algorithm: algFormula, Lo: 20_000_000, Hi: 20_000_001},
	{Algorithm: algSum, Lo: 5_000_000_000, Hi: 5_000_000_001},
	{Algorithm: algSteps, Lo: 1, Hi: 300_000},
	{Algorithm: algSteps, Lo: 3_000_000_000, Hi: 3_000_100_000},
	{Algorithm: algSteps, Lo: 3_000_000_000, Hi: 3_000_001_000},
	{Algorithm: algSteps, Lo: 1_000_000, Hi: 1_200_000},
}

// TestCancel ends each computation at its first, middle and last look at the
// context: it returns the context's error at once.
func TestCancel(t *testing.T) {
	for _, w := range cancelWorks {
		name := fmt.Sprintf("%s-%d", w.Algorithm, w.Lo)
		emit := engine.Sink{Emit: func(engine.Piece) error { return nil }}
		const many = 1 << 30
		all := &countdown{Context: context.Background(), left: many}
		if err := New().Compute(all, w, emit); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		looks := many - all.left
		for _, k := range []int{0, looks / 3, looks / 2, looks - 1} {
			c := &countdown{Context: context.Background(), left: k}
			err := New().Compute(c, w, emit)
			if !errors.Is(err, context.Canceled) || c.after > 2 {
				t.Errorf("%s ended at look %d of %d: %v after %d more looks", name, k, looks, err, c.after-1)
			}
		}
	}
}
