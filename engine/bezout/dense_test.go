package bezout

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

// newTestWalker returns a walker for [lo, hi) that stands at W(lo−1), and what
// it will have emitted.
func newTestWalker(t testing.TB, lo, hi int64) (*walker, *[]engine.Int128) {
	t.Helper()
	wk := &walker{ctx: context.Background(), last: hi - 1}
	all := new([]engine.Int128)
	wk.out = newEmitter(engine.Work{Lo: lo, Hi: hi}, engine.Sink{Emit: func(p engine.Piece) error {
		for i := range p.Len() {
			*all = append(*all, p.At(i))
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
	return wk, all
}

// plainSteps is the oracle of the dense sieves.
func plainSteps(t testing.TB, lo, hi int64) []engine.Int128 {
	t.Helper()
	wk, all := newTestWalker(t, lo, hi)
	if err := wk.plain(lo, hi); err != nil {
		t.Fatal(err)
	}
	return *all
}

func compare(t testing.TB, what string, lo int64, got, want []engine.Int128) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s from %d: %d values, want %d", what, lo, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s from %d: W(%d) = %s, want %s", what, lo, lo+int64(i), got[i], want[i])
		}
	}
}

// TestDenseAgreesWithPlain covers each way through a range and the borders
// between them.
func TestDenseAgreesWithPlain(t *testing.T) {
	for _, r := range [][2]int64{
		{1, 4097}, {1, 230_000}, {2, 120_001}, {12_345, 222_222}, {17, 99_999}, // from the table
		{100_000, 200_000}, {999_999, 1_100_003}, {100_000_000, 100_050_000}, {1_000_000_007, 1_000_040_000}, // windows
		{1<<31 - 20_000, 1<<31 + 20_000}, {1<<32 - 10_000, 1<<32 + 10_000}, // 32 and 64 bits
		{narrowMax - 30_000, narrowMax + 30_000}, {20_000_000_000, 20_000_010_000}, // wide values
	} {
		compare(t, "steps", r[0], run(t, algSteps, r[0], r[1]), plainSteps(t, r[0], r[1]))
	}
}

func TestDenseRandomWindows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lo := rapid.Int64Range(1, 1<<rapid.IntRange(1, 33).Draw(rt, "bits")).Draw(rt, "lo")
		hi := lo + rapid.Int64Range(1, 40_000).Draw(rt, "length")
		want := plainSteps(t, lo, hi)
		compare(t, "steps", lo, run(t, algSteps, lo, hi), want)
		// The window sieve is right for short ranges and from 1 on, too.
		wk, all := newTestWalker(t, lo, hi)
		size := int64(denseCells)
		if err := window(wk, lo, hi, newTables[uint64](2, hi, size, wk.primes[1:]), size); err != nil {
			rt.Fatal(err)
		}
		compare(t, "64-bit window", lo, *all, want)
	})
}

// TestDenseLong crosses chunks of large prime powers and the end of the table;
// the last value is checked by the direct sum.
func TestDenseLong(t *testing.T) {
	for _, r := range [][2]int64{{1, 5_000_001}, {50_000_001, 55_000_001}, {denseTableMax - 100_000, denseTableMax + 100_000}} {
		if r[0] == 1 && !checkPays(r[0], r[1]) {
			t.Error("a long range is not checked at its end")
		}
		last := engine.Int128{}
		err := New().Compute(context.Background(), engine.Work{Algorithm: algSteps, Lo: r[0], Hi: r[1]}, engine.Sink{
			Emit: func(p engine.Piece) error { last = p.At(p.Len() - 1); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if want, err := sum(context.Background(), r[1]-1, engine.Sink{}); err != nil || last != want {
			t.Errorf("W(%d) = %s, want %s, %v", r[1]-1, last, want, err)
		}
	}
}

// TestDenseVeryLong goes from the table through 32-bit into 64-bit cells, with
// W(10^9) on the way and the check at the end.
func TestDenseVeryLong(t *testing.T) {
	soak(t)
	const hi = dense32Max + 50_000_000
	seen := false
	err := New().Compute(context.Background(), engine.Work{Algorithm: algSteps, Lo: 1, Hi: hi}, engine.Sink{Emit: func(p engine.Piece) error {
		for _, k := range knownW {
			if i := k.n - p.Lo; i >= 0 && i < int64(p.Len()) {
				seen = seen || k.n == 1_000_000_000
				if got := p.At(int(i)).String(); got != k.w {
					t.Errorf("W(%d) = %s, want %s", k.n, got, k.w)
				}
			}
		}
		return nil
	}})
	if err != nil || !seen {
		t.Fatalf("%v, 10^9 seen: %v", err, seen)
	}
}

// TestDenseAlarm starts a range from a wrong value: the check at the end finds it
// before the last values leave.
func TestDenseAlarm(t *testing.T) {
	const lo, hi = 20_000, 120_000
	for _, walk := range []func(wk *walker) error{
		func(wk *walker) error { return wk.plain(lo, hi) },
		func(wk *walker) error { _, err := wk.part(lo, hi); return err },
	} {
		wk, all := newTestWalker(t, lo, hi)
		wk.w = wk.w.Add(engine.Int128From(1))
		wk.check = checkEnd(context.Background(), lo, hi)
		err := walk(wk)
		if err == nil || !strings.Contains(err.Error(), "W(119999) = 2918039182, the direct sum gives 2918039181") {
			t.Errorf("error %v, want the direct sum", err)
		}
		if len(*all) >= hi-lo {
			t.Error("all values left before the check")
		}
	}
}

// TestDenseAllocations counts the allocations between two blocks of a range: in
// between, segments and blocks allocate nothing.
func TestDenseAllocations(t *testing.T) {
	for _, lo := range []int64{1, 10_000_000, 2_500_000_000} {
		const from, to = 10, 50
		var before, after runtime.MemStats
		blocks, usual := 0, 0
		w := engine.Work{Algorithm: algSteps, Lo: lo, Hi: lo + (to+5)*8*blockOctets}
		err := New().Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error {
			switch blocks++; blocks {
			case from:
				// A collection in between would allocate a little of its own.
				usual = debug.SetGCPercent(-1)
				runtime.GC()
				runtime.ReadMemStats(&before)
			case to:
				runtime.ReadMemStats(&after)
				debug.SetGCPercent(usual)
			}
			return nil
		}})
		if err != nil || blocks < to {
			t.Fatalf("%v after %d blocks", err, blocks)
		}
		// The runtime allocates a little of its own accord.
		if n := after.Mallocs - before.Mallocs; n > (to-from)/4 {
			t.Errorf("from %d: %d allocations in %d blocks", lo, n, to-from)
		}
	}
}

// FuzzAlgorithms compares all algorithms that reach a random range.
func FuzzAlgorithms(f *testing.F) {
	f.Add(int64(1), uint16(130))
	f.Add(int64(99_990), uint16(20_000))
	f.Add(int64(1<<31-7), uint16(4100))
	f.Add(narrowMax-3, uint16(9))
	f.Fuzz(func(t *testing.T, lo int64, length uint16) {
		lo = 1 + (lo&(1<<62-1))%20_000_000_000
		hi := lo + 1 + int64(length)
		stepped := run(t, algSteps, lo, hi)
		compare(t, "plain", lo, plainSteps(t, lo, hi), stepped)
		for _, n := range []int64{lo, (lo + hi) / 2, hi - 1} {
			compare(t, "sum", n, run(t, algSum, n, n+1), stepped[n-lo:n-lo+1])
			if n < 10_000_000 {
				compare(t, "formula", n, run(t, algFormula, n, n+1), stepped[n-lo:n-lo+1])
			}
			if n <= 80 {
				compare(t, "game", n, run(t, algGame, n, n+1), stepped[n-lo:n-lo+1])
			}
		}
	})
}
