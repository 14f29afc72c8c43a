package bezout

import (
	"context"
	"fmt"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

func TestSumAgreesWithSteps(t *testing.T) {
	for i, want := range run(t, algSteps, 1, 3001) {
		got, err := sum(context.Background(), int64(i+1), engine.Sink{})
		if err != nil || got != want {
			t.Fatalf("W(%d) = %s, %v, want %s", i+1, got, err, want)
		}
	}
}

func TestSumKnown(t *testing.T) {
	for _, k := range known {
		got, err := sum(context.Background(), k.n, engine.Sink{})
		if err != nil || got.String() != k.w {
			t.Errorf("W(%d) = %s, %v, want %s", k.n, got, err, k.w)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	for e, n := 9, int64(1_000_000_000); e <= 13; e, n = e+1, n*10 {
		b.Run(fmt.Sprintf("1e%d", e), func(b *testing.B) {
			for b.Loop() {
				if _, err := sum(context.Background(), n, engine.Sink{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
