package bezout

import (
	"context"
	"fmt"

	"github.com/nsweep/nsweep/engine"
)

// Names of the algorithms.
const (
	algSum     = "sum"
	algSteps   = "steps"
	algFormula = "formula"
	algGame    = "game"
)

// narrowMax is the largest n whose W(n) is emitted as int64. W(n) ≤ B(n) =
// ⌊n(n+1)/4⌋, because the positions counted by W are among the pairs counted by
// B, and B(6·10⁹) < 9.0001·10¹⁸ < 2⁶³.
const narrowMax = int64(6_000_000_000)

// maxPiece is the largest number of values in one piece.
const maxPiece = 65536

var info = engine.Info{
	Name:    "bezout",
	Version: 1,
	Doc:     "winning positions (a, b) of Bézout's game with a + b ≤ n",
	Symbol:  "W(n)",
	Params: []engine.Param{{
		Name: "determinant", Default: 1,
		Doc: "value of |av − bu| that makes a move legal",
	}},
	Algorithms: []engine.Algorithm{
		{Name: algSum, Doc: "one W(n) in O(n^(2/3)) time from a sieve for μ; the choice for single n", Reach: engine.MaxN},
		{Name: algSteps, Doc: "segmented sieve of φ and g from a direct W(lo−1); the choice for ranges", Reach: engine.MaxN},
		{Name: algFormula, Doc: "count of all and of lost positions over a table of μ, in plain loops", Reach: formulaReach},
		{Name: algGame, Doc: "plays the game by its rules", Reach: gameReach},
	},
	Grid: engine.Grid{
		Version: 1,
		Bands: []engine.Band{
			{Upto: 1_000_000, Cell: 1000},
			{Upto: 100_000_000, Cell: 20_000},
			{Upto: engine.MaxN, Cell: 40_000},
		},
		Widths: []engine.WidthBand{{Upto: narrowMax, Bytes: 8}, {Upto: engine.MaxN, Bytes: 16}},
	},
	Probe: engine.Work{Algorithm: algSteps, Params: engine.Params{"determinant": 1}, Lo: 1, Hi: 1_000_001},
}

// bezout implements engine.Engine. It has no state.
type bezout struct{}

var _ engine.Engine = bezout{}

// New returns the engine of Bézout's game.
func New() engine.Engine { return bezout{} }

func (bezout) Info() engine.Info { return info }

func (bezout) Resolve(w engine.Work) (engine.Work, error) {
	return engine.ResolveBasics(info, w, func(w engine.Work) string {
		if w.Len() == 1 {
			return algSum
		}
		return algSteps
	}, nil)
}

func (bezout) Compute(ctx context.Context, w engine.Work, sink engine.Sink) error {
	out := newEmitter(w, sink)
	switch w.Algorithm {
	case algSteps:
		return steps(ctx, w.Lo, w.Hi, out)
	case algSum:
		return sums(ctx, w, sink, out)
	case algFormula:
		return eachN(ctx, w, out, formula)
	case algGame:
		return game(ctx, w.Lo, w.Hi, out)
	}
	return fmt.Errorf("bezout: unresolved algorithm %q", w.Algorithm)
}

// sums evaluates every n of the work by itself. Progress within one n, saved
// states and warnings matter for a single large n only.
func sums(ctx context.Context, w engine.Work, sink engine.Sink, out *emitter) error {
	inner := engine.Sink{}
	if w.Len() == 1 {
		inner = sink
	}
	return eachN(ctx, w, out, func(ctx context.Context, n int64) (engine.Int128, error) {
		return sum(ctx, n, inner)
	})
}

// eachN evaluates every n of the work by itself.
func eachN(ctx context.Context, w engine.Work, out *emitter, f func(context.Context, int64) (engine.Int128, error)) error {
	for n := w.Lo; n < w.Hi; n++ {
		v, err := f(ctx, n)
		if err != nil {
			return err
		}
		if err := out.value(v); err != nil {
			return err
		}
	}
	return out.flush()
}

func (bezout) SelfTest(ctx context.Context) error {
	for _, c := range []struct {
		alg  string
		n    int64
		want string
	}{
		{algGame, 40, "333"},
		{algFormula, 100, "2043"},
		{algSum, 220, "9843"},
		{algSum, 1_000_000, "202642485639"},
		{algSteps, 100_000, "2026443853"},
	} {
		var got engine.Int128
		lo := c.n
		if c.alg == algSteps {
			lo = 1
		}
		err := bezout{}.Compute(ctx, engine.Work{Algorithm: c.alg, Lo: lo, Hi: c.n + 1}, engine.Sink{
			Emit: func(p engine.Piece) error { got = p.At(p.Len() - 1); return nil },
		})
		if err != nil {
			return fmt.Errorf("bezout: self-test of %s at n = %d: %w", c.alg, c.n, err)
		}
		if got.String() != c.want {
			return fmt.Errorf("bezout: self-test of %s: W(%d) = %s, want %s", c.alg, c.n, got, c.want)
		}
	}
	return nil
}
