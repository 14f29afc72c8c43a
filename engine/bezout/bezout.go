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
	algLinear  = "linear"
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
		{Name: algSum, Doc: "one W(n) in O(n^(2/3)) time from a sieve for μ; the choice for a single n", Reach: engine.MaxN},
		{Name: algSteps, Doc: "segmented sieve of φ and g from a direct W(lo−1); the choice for ranges", Reach: engine.MaxN},
		{Name: algLinear, Doc: "linear sieve of φ and g from 1 on; the plain way to a range", Reach: linearReach},
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
	Probe: engine.Work{Algorithm: algSteps, Params: engine.Params{"determinant": 1}, Lo: 100_000_001, Hi: 105_000_001},
}

// bezout implements engine.Engine. It has no state.
type bezout struct{}

var (
	_ engine.Engine   = bezout{}
	_ engine.Detailer = bezout{}
)

// New returns the engine of Bézout's game. It is an [engine.Detailer] too.
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

// Detail returns W(w.Lo). From the algorithm sum it reports what the same sieve
// yields besides: the Mertens function M, Φ(n) = Σ φ(m) for m ≤ n, the numbers
// of all and of lost positions, and how far the sieve went.
func (e bezout) Detail(ctx context.Context, w engine.Work, progress func(float64)) (engine.Int128, []engine.Fact, error) {
	w.Hi = w.Lo + 1
	w, err := e.Resolve(w)
	if err != nil {
		return engine.Int128{}, nil, err
	}
	facts := []engine.Fact{{Name: "algorithm", Value: w.Algorithm}}
	if w.Algorithm != algSum {
		var v engine.Int128
		err := e.Compute(ctx, w, engine.Sink{Emit: func(p engine.Piece) error { v = p.At(0); return nil }, Progress: progress})
		return v, facts, err
	}
	s, err := newSummation(ctx, w.Lo, sumOptions{details: true})
	if err == nil {
		err = s.run(ctx, engine.Sink{Progress: progress})
	}
	if err != nil {
		return engine.Int128{}, nil, fmt.Errorf("bezout: W(%d): %w", w.Lo, err)
	}
	v, all := s.totals[0], s.totals[1].Sub(engine.Int128From(1))
	return v, append(facts,
		engine.Fact{Name: "M(n)", Value: fmt.Sprint(s.mertens())},
		engine.Fact{Name: "Φ(n)", Value: s.totals[1].String()},
		engine.Fact{Name: "positions", Value: all.String()},
		engine.Fact{Name: "lost positions", Value: all.Sub(v).String()},
		engine.Fact{Name: "sieved to", Value: fmt.Sprint(s.limit)},
		engine.Fact{Name: "values by recursion", Value: fmt.Sprint(s.cut)},
	), nil
}

func (bezout) Compute(ctx context.Context, w engine.Work, sink engine.Sink) error {
	out := newEmitter(w, sink)
	switch w.Algorithm {
	case algSteps:
		return steps(ctx, w.Lo, w.Hi, sink, out)
	case algSum:
		return eachN(ctx, w, sink, out, sumOf(w, sink))
	case algLinear:
		return linear(ctx, w.Lo, w.Hi, out)
	case algFormula:
		return eachN(ctx, w, sink, out, formula)
	case algGame:
		return game(ctx, w.Lo, w.Hi, out)
	}
	return fmt.Errorf("bezout: unresolved algorithm %q", w.Algorithm)
}

// oneN evaluates a single n and reports the fraction done now and then.
type oneN func(ctx context.Context, n int64, progress func(float64)) (engine.Int128, error)

// eachN evaluates every n of the work by itself. Values that take long leave at
// once.
func eachN(ctx context.Context, w engine.Work, sink engine.Sink, out *emitter, f oneN) error {
	long := bezout{}.Cost(w).Total() > 1e6*float64(w.Len())
	for n := w.Lo; n < w.Hi; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, err := f(ctx, n, func(fraction float64) {
			if sink.Progress != nil {
				sink.Progress((float64(n-w.Lo) + fraction) / float64(w.Len()))
			}
		})
		if err == nil {
			err = out.value(v)
		}
		if err == nil && long {
			err = out.flush()
		}
		if err != nil {
			return err
		}
	}
	return out.flush()
}

// sumOf is sum with a sink that keeps no state unless the work is a single n:
// a state tells nothing of which n of a range it belongs to.
func sumOf(w engine.Work, sink engine.Sink) oneN {
	return func(ctx context.Context, n int64, progress func(float64)) (engine.Int128, error) {
		inner := engine.Sink{Progress: progress, Warn: sink.Warn}
		if w.Len() == 1 {
			inner.Load, inner.Save = sink.Load, sink.Save
		}
		return sum(ctx, n, inner)
	}
}

// SelfTest plays the game at n = 40 and compares each algorithm with values
// known beforehand: W of the first ranges by all, and one large value by sum.
func (e bezout) SelfTest(ctx context.Context) error {
	for _, c := range []struct {
		algorithm string
		lo, n     int64
		want      string
	}{
		{algGame, 40, 40, "333"},
		{algFormula, 100, 100, "2043"},
		{algFormula, 1_000_000, 1_000_000, "202642485639"},
		{algSum, 220, 220, "9843"},
		{algSum, 1_000_000_000, 1_000_000_000, "202642367520564145"},
		{algSteps, 1, 100_000, "2026443853"},
		{algSteps, 999_000, 1_000_000, "202642485639"},
		{algSteps, 9_900_000, 10_000_000, "20264238851499"},
	} {
		var got engine.Int128
		err := e.Compute(ctx, engine.Work{Algorithm: c.algorithm, Lo: c.lo, Hi: c.n + 1}, engine.Sink{
			Emit: func(p engine.Piece) error { got = p.At(p.Len() - 1); return nil },
		})
		if err != nil {
			return fmt.Errorf("bezout: self-test of %s at n = %d: %w", c.algorithm, c.n, err)
		}
		if got.String() != c.want {
			return fmt.Errorf("bezout: self-test of %s: W(%d) = %s, want %s", c.algorithm, c.n, got, c.want)
		}
	}
	return nil
}
