package bezout

import (
	"context"
	"errors"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// TestLinearAgreesWithSteps compares two sieves that share nothing, on ranges
// that begin at 1 and later.
func TestLinearAgreesWithSteps(t *testing.T) {
	for _, r := range [][2]int64{{1, 2}, {1, 3}, {1, 300_000}, {123_456, 234_567}, {999_999, 1_000_001}} {
		var got [2][]int64
		for i, a := range []string{algLinear, algSteps} {
			w, err := New().Resolve(engine.Work{Algorithm: a, Lo: r[0], Hi: r[1]})
			if err != nil {
				t.Fatal(err)
			}
			err = New().Compute(t.Context(), w, engine.Sink{Emit: func(p engine.Piece) error {
				if p.Lo != r[0]+int64(len(got[i])) {
					t.Fatalf("%s: piece at %d", a, p.Lo)
				}
				got[i] = append(got[i], p.Narrow...)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if int64(len(got[0])) != r[1]-r[0] || len(got[0]) != len(got[1]) {
			t.Fatalf("range %v: %d and %d values", r, len(got[0]), len(got[1]))
		}
		for k := range got[0] {
			if got[0][k] != got[1][k] {
				t.Fatalf("W(%d): linear %d, steps %d", r[0]+int64(k), got[0][k], got[1][k])
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w, err := New().Resolve(engine.Work{Algorithm: algLinear, Lo: 1, Hi: 10_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := New().Compute(ctx, w, engine.Sink{Emit: func(engine.Piece) error { return nil }}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, but %v", err)
	}
}
