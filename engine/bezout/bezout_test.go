package bezout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// knownW are values of W(n). Those up to 40 were found by hand and by play, the
// others by programs of different authors that share no code with this one.
var knownW = []struct {
	n int64
	w string
}{
	{1, "0"}, {2, "1"}, {3, "3"}, {4, "5"}, {10, "23"}, {20, "89"}, {40, "333"}, {100, "2043"}, {220, "9843"},
	{1_000, "202869"}, {10_000, "20265829"}, {100_000, "2026443853"}, {1_000_000, "202642485639"},
	{10_000_000, "20264238851499"}, {1_000_000_000, "202642367520564145"},
	{10_000_000_000, "20264236729551612455"}, {100_000_000_000, "2026423672864918637169"},
}

// soak skips a test that takes long unless NSWEEP_SOAK is set.
func soak(t *testing.T) {
	t.Helper()
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("NSWEEP_SOAK is not set")
	}
}

// run computes the values of [lo, hi) and checks what Compute promises of its
// pieces.
func run(t testing.TB, algorithm string, lo, hi int64) []engine.Int128 {
	t.Helper()
	e := New()
	w, err := e.Resolve(engine.Work{Algorithm: algorithm, Lo: lo, Hi: hi})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]engine.Int128, 0, hi-lo)
	done := 0.0
	err = e.Compute(context.Background(), w, engine.Sink{
		Emit: func(p engine.Piece) error {
			next := lo + int64(len(all))
			switch {
			case p.Lo != next || p.Len() < 1 || p.Len() > 65536:
				return fmt.Errorf("piece at %d of %d values, want one at %d", p.Lo, p.Len(), next)
			case (p.Narrow == nil) == (p.Wide == nil):
				return errors.New("a piece is not either narrow or wide")
			case p.Narrow != nil != (p.Lo <= narrowMax) || p.Narrow != nil && p.Lo+int64(p.Len())-1 > narrowMax:
				return fmt.Errorf("piece %d…%d has the wrong width", p.Lo, p.Lo+int64(p.Len())-1)
			}
			for i := range p.Len() {
				all = append(all, p.At(i))
			}
			return nil
		},
		Progress: func(f float64) {
			if f < done || f > 1 {
				t.Errorf("progress %v after %v", f, done)
			}
			done = f
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(all)) != hi-lo || done != 1 {
		t.Fatalf("%d values and progress %v, want %d and 1", len(all), done, hi-lo)
	}
	return all
}

func TestKnownValues(t *testing.T) {
	for _, a := range info.Algorithms {
		for _, k := range knownW {
			if k.n > a.Reach || a.Name == algFormula && k.n > 10_000_000 {
				continue
			}
			if got := run(t, a.Name, k.n, k.n+1)[0]; got.String() != k.w {
				t.Errorf("%s: W(%d) = %s, want %s", a.Name, k.n, got, k.w)
			}
		}
	}
}

// TestDigest pins W(1), …, W(10000) as lines "n W(n)".
func TestDigest(t *testing.T) {
	h := sha256.New()
	for i, v := range run(t, algSteps, 1, 10_001) {
		fmt.Fprintf(h, "%d %s\n", i+1, v)
	}
	const want = "57ec9765c342735e5348b199de144872c266c8405dabf1a6188d3e1926572459"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestAlgorithmsAgree(t *testing.T) {
	played := run(t, algGame, 1, 131)
	formulas := run(t, algFormula, 1, 2001)
	sums := run(t, algSum, 1, 2001)
	for i, v := range run(t, algSteps, 1, 2001) {
		if v != sums[i] || v != formulas[i] || i < len(played) && v != played[i] {
			t.Fatalf("W(%d): steps %s, sum %s, formula %s", i+1, v, sums[i], formulas[i])
		}
	}
	for i, v := range run(t, algGame, 57, 90) {
		if v != played[56+i] {
			t.Fatalf("game from 57: W(%d) = %s, from 1 %s", 57+i, v, played[56+i])
		}
	}
}

// TestOverflowBorders covers the n where 64 bits end for n², for W(n) and for
// A(n), and where values become wide.
func TestOverflowBorders(t *testing.T) {
	for _, n := range []int64{3_037_000_499, 6_000_000_000, 6_074_000_999, 6_746_518_852, 12_148_001_998} {
		const d = 1
		stepped := run(t, algSteps, n-d, n+d+1)
		summed := run(t, algSum, n-d, n+d+1)
		for i := range stepped {
			if stepped[i] != summed[i] {
				t.Errorf("W(%d): steps %s, sum %s", n-d+int64(i), stepped[i], summed[i])
			}
		}
		if n == 3_037_000_499 || os.Getenv("NSWEEP_SOAK") != "" {
			if got := bigFormula(t, n); got.Cmp(stepped[d].Big()) != 0 {
				t.Errorf("W(%d) = %s, in big integers %s", n, stepped[d], got)
			}
		}
	}
}

// bigFormula sums the closed form with math/big over blocks of equal quotient.
func bigFormula(t *testing.T, n int64) *big.Int {
	t.Helper()
	m, err := newMertens(context.Background(), n, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	total := new(big.Int)
	before := int64(0)
	for d := int64(1); d <= n; {
		q := big.NewInt(n / d)
		last := n / (n / d)
		now := m.odd(last)
		q.Mul(q, new(big.Int).Add(q, big.NewInt(1)))
		q.Rsh(q, 2)
		total.Add(total, q.Mul(q, big.NewInt(now-before)))
		before = now
		d = last + 1
	}
	return total
}

func TestLostPairs(t *testing.T) {
	for q := int64(0); q <= 200; q++ {
		count := int64(0)
		for x := int64(1); x <= q; x++ {
			for y := x; 2*x+2*y+1 <= q; y++ {
				count++
			}
		}
		if got := lostPairs(q); got != engine.Int128From(count) {
			t.Fatalf("A(%d) = %s, want %d", q, got, count)
		}
	}
	if a6, a20 := lostPairs(6), lostPairs(20); a6.Lo != 1 || a20.Lo != 20 {
		t.Errorf("A(6) = %s, A(20) = %s, want 1 and 20", a6, a20)
	}
	// 127 positions up to 20 of which 38 are lost, one half with a < b.
	half := int64(0)
	for a := int64(2); a < 20; a += 2 {
		for b := a + 1; a+b <= 20; b += 2 {
			if gcd(a, b) == 1 {
				half++
			}
		}
	}
	if half != 19 {
		t.Errorf("%d lost positions with a < b and a + b ≤ 20, want 19", half)
	}
}

func TestResolve(t *testing.T) {
	e := New()
	for _, c := range []struct {
		work engine.Work
		want string // algorithm, or empty for an error
	}{
		{engine.Work{Lo: 7, Hi: 8}, algSum},
		{engine.Work{Lo: 7, Hi: 9}, algSteps},
		{engine.Work{Lo: engine.MaxN, Hi: engine.MaxN + 1}, algSum},
		{engine.Work{Lo: 7, Hi: 9, Algorithm: algGame, Params: engine.Params{"determinant": 1}}, algGame},
		{engine.Work{Lo: engine.MaxN + 1, Hi: engine.MaxN + 2}, ""},
		{engine.Work{Lo: 1, Hi: gameReach + 2, Algorithm: algGame}, ""},
		{engine.Work{Lo: formulaReach + 1, Hi: formulaReach + 2, Algorithm: algFormula}, ""},
		{engine.Work{Lo: 0, Hi: 2}, ""},
		{engine.Work{Lo: 2, Hi: 2}, ""},
		{engine.Work{Lo: 1, Hi: 2, Algorithm: "table"}, ""},
		{engine.Work{Lo: 1, Hi: 2, Params: engine.Params{"determinant": 2}}, ""},
		{engine.Work{Lo: 1, Hi: 2, Params: engine.Params{"base": 2}}, ""},
	} {
		w, err := e.Resolve(c.work)
		if (err == nil) != (c.want != "") {
			t.Errorf("Resolve(%v): %v", c.work, err)
			continue
		}
		if err == nil && (w.Algorithm != c.want || w.Params["determinant"] != 1) {
			t.Errorf("Resolve(%v) = %v, want algorithm %s", c.work, w, c.want)
		}
	}
	var limit *engine.LimitError
	if _, err := e.Resolve(engine.Work{Lo: 1, Hi: 1000, Algorithm: algGame}); !errors.As(err, &limit) {
		t.Errorf("error beyond the reach is %v, want a *engine.LimitError", err)
	}
}

func TestInfo(t *testing.T) {
	if err := info.Grid.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := New().Resolve(info.Probe); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{1, narrowMax, narrowMax + 1, engine.MaxN} {
		want := 8
		if n > narrowMax {
			want = 16
		}
		if got := info.Grid.Width(n); got != want {
			t.Errorf("width at %d is %d, want %d", n, got, want)
		}
	}
}

func TestSelfTest(t *testing.T) {
	if err := New().SelfTest(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestDetail(t *testing.T) {
	d := New().(engine.Detailer)
	v, facts, err := d.Detail(context.Background(), engine.Work{Lo: 20}, nil)
	if err != nil || v.Lo != 89 {
		t.Fatalf("W(20) = %s, %v", v, err)
	}
	want := map[string]string{"algorithm": "sum", "M(n)": "-3", "Φ(n)": "128", "positions": "127", "lost positions": "38"}
	for _, f := range facts {
		if w, ok := want[f.Name]; ok && w != f.Value {
			t.Errorf("%s is %s, want %s", f.Name, f.Value, w)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("facts missing: %v", want)
	}
	if v, _, err := d.Detail(context.Background(), engine.Work{Lo: 100, Algorithm: algGame}, nil); err != nil || v.Lo != 2043 {
		t.Errorf("W(100) by game = %s, %v", v, err)
	}
	if _, _, err := d.Detail(context.Background(), engine.Work{Lo: 0}, nil); err == nil {
		t.Error("Detail accepts n = 0")
	}
}

func TestEmitError(t *testing.T) {
	stop := errors.New("stop")
	for _, w := range []engine.Work{
		{Algorithm: algGame, Lo: 1, Hi: 50}, {Algorithm: algFormula, Lo: 1, Hi: 50}, {Algorithm: algSum, Lo: 5, Hi: 6},
		{Algorithm: algSteps, Lo: 1, Hi: 100}, {Algorithm: algSteps, Lo: 1, Hi: 100_000}, {Algorithm: algSteps, Lo: 100_000, Hi: 200_000},
	} {
		if err := New().Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return stop }}); err != stop {
			t.Errorf("%s from %d: error %v, want that of Emit", w.Algorithm, w.Lo, err)
		}
	}
}
