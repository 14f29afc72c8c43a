package hopping

import (
	"context"
	"fmt"

	"github.com/nsweep/nsweep/engine"
)

// firstValues are M(1), …, M(20), found by playing the game on the whole board.
var firstValues = [...]int64{0, 2, 1, 4, 2, 2, 1, 7, 5, 5, 7, 4, 13, 7, 15, 2, 9, 1, 7, 4}

// SelfTest recomputes M(1), …, M(20) by the table algorithm, the first twelve
// of them by playing, and M(1000) and M(10000) by the default algorithm.
func (g *game) SelfTest(ctx context.Context) error {
	checks := []struct {
		algorithm string
		lo        int64
		want      []int64
	}{
		{"labels", 1, firstValues[:12]},
		{"grundy", 1, firstValues[:12]},
		{"walk", 1, firstValues[:]},
		{"table", 1, firstValues[:]},
		{g.fastest, 1, firstValues[:]},
		{g.fastest, 1000, []int64{771}},
		{g.fastest, 10_000, []int64{4709}},
	}
	for _, c := range checks {
		w, err := g.Resolve(engine.Work{Algorithm: c.algorithm, Lo: c.lo, Hi: c.lo + int64(len(c.want))})
		if err != nil {
			return fmt.Errorf("hopping self-test: %w", err)
		}
		err = g.Compute(ctx, w, engine.Sink{Emit: func(p engine.Piece) error {
			for i, v := range p.Narrow {
				n := p.Lo + int64(i)
				if want := c.want[n-c.lo]; v != want {
					return fmt.Errorf("algorithm %s gives M(%d) = %d, want %d", c.algorithm, n, v, want)
				}
			}
			return nil
		}})
		if err != nil {
			return fmt.Errorf("hopping self-test: %w", err)
		}
	}
	return nil
}
