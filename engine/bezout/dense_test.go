package bezout

import (
	"context"
	"fmt"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// plainSteps is the oracle of the dense sieves.
func plainSteps(t testing.TB, lo, hi int64) []engine.Int128 {
	t.Helper()
	wk := &walker{ctx: context.Background(), last: hi - 1}
	var all []engine.Int128
	wk.out = newEmitter(engine.Work{Lo: lo, Hi: hi}, engine.Sink{Emit: func(p engine.Piece) error {
		for i := range p.Len() {
			all = append(all, p.At(i))
		}
		return nil
	}})
	var err error
	if lo > 1 {
		if wk.w, err = sum(wk.ctx, lo-1, engine.Sink{}); err != nil {
			t.Fatal(err)
		}
	}
	if wk.primes, err = primesUpto(wk.ctx, isqrt(hi)+1); err != nil {
		t.Fatal(err)
	}
	if err = wk.plain(lo, hi); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDenseAgreesWithPlain(t *testing.T) {
	for _, r := range [][2]int64{
		{1, 4097}, {1, 300_000}, {2, 200_001}, {12_345, 222_222}, {17, 99_999},
		{100_000, 300_000}, {999_999, 1_400_003}, {100_000_000, 100_200_000}, {1_000_000_007, 1_000_100_000},
		{1<<31 - 50_000, 1<<31 + 50_000}, {1<<32 - 10_000, 1<<32 + 10_000}, {narrowMax - 30_000, narrowMax + 30_000},
		{1_000_000_000_000, 1_000_000_020_000},
	} {
		want := plainSteps(t, r[0], r[1])
		got := run(t, algSteps, r[0], r[1])
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%d…%d: W(%d) = %s, want %s", r[0], r[1], r[0]+int64(i), got[i], want[i])
			}
		}
	}
}

func BenchmarkDense(b *testing.B) {
	const n = 10_000_000
	for _, c := range []struct {
		name string
		lo   int64
	}{{"from-1", 1}, {"window-1e8", 100_000_001}, {"window-1e9", 1_000_000_001}, {"window-5e9", 5_000_000_001}} {
		b.Run(c.name, func(b *testing.B) {
			w := engine.Work{Algorithm: algSteps, Lo: c.lo, Hi: c.lo + n}
			for b.Loop() {
				if err := New().Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return nil }}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
			_ = fmt.Sprint()
		})
	}
}
