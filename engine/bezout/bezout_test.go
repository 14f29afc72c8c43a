package bezout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// known are values of W(n). Those up to 40 were found by hand and by play; the
// others by two independent programs.
var known = []struct {
	n int64
	w string
}{
	{1, "0"}, {2, "1"}, {4, "5"}, {10, "23"}, {20, "89"}, {40, "333"}, {100, "2043"}, {220, "9843"},
	{1_000, "202869"}, {10_000, "20265829"}, {100_000, "2026443853"}, {1_000_000, "202642485639"},
	{10_000_000, "20264238851499"}, {1_000_000_000, "202642367520564145"},
}

// run computes the values of [lo, hi) and checks the order of the pieces.
func run(t testing.TB, algorithm string, lo, hi int64) []engine.Int128 {
	t.Helper()
	e := New()
	w, err := e.Resolve(engine.Work{Algorithm: algorithm, Lo: lo, Hi: hi})
	if err != nil {
		t.Fatal(err)
	}
	var all []engine.Int128
	err = e.Compute(context.Background(), w, engine.Sink{Emit: func(p engine.Piece) error {
		if p.Lo != lo+int64(len(all)) || p.Len() < 1 || p.Len() > 65536 || (p.Narrow == nil) == (p.Wide == nil) {
			return fmt.Errorf("piece at %d of %d values, want one at %d", p.Lo, p.Len(), lo+int64(len(all)))
		}
		for i := range p.Len() {
			all = append(all, p.At(i))
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(all)) != hi-lo {
		t.Fatalf("%d values, want %d", len(all), hi-lo)
	}
	return all
}

func TestKnownValues(t *testing.T) {
	for _, a := range info.Algorithms {
		for _, k := range known {
			if k.n > a.Reach || (a.Name != algSteps && k.n > 10_000_000) {
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
	stepped := run(t, algSteps, 1, 3001)
	for i, v := range run(t, algFormula, 1, 3001) {
		if v != stepped[i] {
			t.Fatalf("W(%d): formula %s, steps %s", i+1, v, stepped[i])
		}
		if i < len(played) && v != played[i] {
			t.Fatalf("W(%d): formula %s, game %s", i+1, v, played[i])
		}
	}
}

func TestGrid(t *testing.T) {
	if err := info.Grid.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestSelfTest(t *testing.T) {
	if err := New().SelfTest(context.Background()); err != nil {
		t.Fatal(err)
	}
}
