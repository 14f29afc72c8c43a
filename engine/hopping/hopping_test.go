package hopping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// values computes M(n) for lo ≤ n ≤ hi through the engine's front door.
func values(t testing.TB, algorithm string, lo, hi int64) []int64 {
	t.Helper()
	return valuesOf(t, New(), algorithm, lo, hi)
}

func valuesOf(t testing.TB, e engine.Engine, algorithm string, lo, hi int64) []int64 {
	t.Helper()
	w, err := e.Resolve(engine.Work{Algorithm: algorithm, Lo: lo, Hi: hi + 1})
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	err = e.Compute(context.Background(), w, engine.Sink{Emit: func(p engine.Piece) error {
		if p.Lo != lo+int64(len(out)) || p.Len() == 0 || p.Wide != nil {
			return fmt.Errorf("piece of %d values at %d after %d values from %d", p.Len(), p.Lo, len(out), lo)
		}
		out = append(out, p.Narrow...)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(out)) != hi-lo+1 {
		t.Fatalf("%d values, want %d", len(out), hi-lo+1)
	}
	return out
}

func sumOfCubes(vs []int64) string {
	sum := new(big.Int)
	for _, v := range vs {
		b := big.NewInt(v)
		sum.Add(sum, b.Mul(b, new(big.Int).Mul(b, b)))
	}
	return sum.String()
}

func digest(lo int64, vs []int64) string {
	h := sha256.New()
	for i, v := range vs {
		fmt.Fprintf(h, "%d %d\n", lo+int64(i), v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The digest was made with an independent C++ program of the table recursion.
const digestTo1000 = "ea7c1965ffd89d7e698e85c1438bf5579623e6b3d7ad7121764d8e85d298d470"

func TestFirstValuesByEveryAlgorithm(t *testing.T) {
	for _, a := range New().Info().Algorithms {
		hi := min(int64(len(firstValues)), a.Reach)
		if got := values(t, a.Name, 1, hi); !slices.Equal(got, firstValues[:hi]) {
			t.Errorf("%s: M(1…%d) = %v, want %v", a.Name, hi, got, firstValues[:hi])
		}
	}
	if got := sumOfCubes(firstValues[:]); got != "8150" {
		t.Errorf("Σ M(n)³ for n ≤ 20 is %s, want 8150", got)
	}
}

func TestTableTo1000(t *testing.T) {
	hi := 1000
	if raceEnabled {
		hi = 300
	}
	// Stopping groups and counts of updates from an independent program.
	groups := map[int]int{1: 2, 2: 3, 20: 8, 100: 14, 500: 18, 905: 25, 1000: 21}
	var tb table
	var vs []int64
	largest, first, updates := 0, 0, int64(0)
	for n := 1; n <= hi; n++ {
		r := mustSolve(t, &tb, n)
		vs = append(vs, int64(r.value))
		if want, known := groups[n]; known && r.group != want {
			t.Errorf("t(%d) = %d, want %d", n, r.group, want)
		}
		if want := int64(n+1) * int64(r.group*(r.group+1)/2); r.work != want {
			t.Errorf("%d updates for n = %d, want %d", r.work, n, want)
		}
		if n == 1000 && r.work != 231231 {
			t.Errorf("%d updates for n = 1000, want 231231", r.work)
		}
		if r.group > largest {
			largest, first = r.group, n
		}
		updates += r.work
	}
	checkExtremes(t, vs)
	if got := sumOfCubes(vs[:100]); got != "5642811" {
		t.Errorf("Σ M(n)³ for n ≤ 100 is %s, want 5642811", got)
	}
	if hi < 1000 {
		return
	}
	if got := sumOfCubes(vs); got != "61029882288" {
		t.Errorf("Σ M(n)³ for n ≤ 1000 is %s, want 61029882288", got)
	}
	if got := digest(1, vs); got != digestTo1000 {
		t.Errorf("digest of n = 1…1000 is %s, want %s", got, digestTo1000)
	}
	if largest != 25 || first != 905 {
		t.Errorf("largest stopping group is %d, first at n = %d, want 25 at 905", largest, first)
	}
	if updates != 99769950 {
		t.Errorf("%d updates for n ≤ 1000, want 99769950", updates)
	}
}

// checkExtremes checks which of M(1), M(2), … are 0 and which are n.
func checkExtremes(t *testing.T, vs []int64) {
	t.Helper()
	zeros := []int64{1, 32, 114, 180, 254, 270, 778, 3650, 9248}
	full := []int64{2, 4, 13, 15, 45, 133, 193, 362, 4105}
	for i, v := range vs {
		n := int64(i) + 1
		if n > 10_000 {
			break
		}
		if (v == 0) != slices.Contains(zeros, n) {
			t.Errorf("M(%d) = %d", n, v)
		}
		if (v == n) != slices.Contains(full, n) {
			t.Errorf("M(%d) = %d", n, v)
		}
	}
}

func TestWalkAgreesWithTable(t *testing.T) {
	if got, want := values(t, "walk", 1, 22), values(t, "table", 1, 22); !slices.Equal(got, want) {
		t.Errorf("walk gives %v, table %v", got, want)
	}
}

func TestInfo(t *testing.T) {
	e := New()
	info := e.Info()
	if info.Name != "hopping" || info.Version != 1 || info.Queue() != "hopping@1" {
		t.Errorf("engine is %s", info.Queue())
	}
	if err := info.Grid.Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ n, lo, hi int64 }{
		{1, 1, 51}, {1_000_000, 999_951, 1_000_001}, {1_000_001, 1_000_001, 1_000_011}, {10_000_001, 10_000_001, 10_000_002},
	} {
		if cell := info.Grid.CellAt(c.n); cell.Lo != c.lo || cell.Hi != c.hi {
			t.Errorf("cell of %d is [%d, %d), want [%d, %d)", c.n, cell.Lo, cell.Hi, c.lo, c.hi)
		}
	}
	for _, a := range info.Algorithms {
		// A value is at most n: it must fit the grid's four bytes and int32.
		if a.Reach >= 1<<31 {
			t.Errorf("%s reaches %d", a.Name, a.Reach)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	e := New()
	for name, w := range map[string]engine.Work{
		"empty":         {Lo: 5, Hi: 5},
		"zero":          {Lo: 0, Hi: 5},
		"algorithm":     {Lo: 1, Hi: 5, Algorithm: "magic"},
		"base":          {Lo: 1, Hi: 5, Params: engine.Params{"base": 3}},
		"parameter":     {Lo: 1, Hi: 5, Params: engine.Params{"bass": 2}},
		"labels' reach": {Lo: 1, Hi: 22, Algorithm: "labels"},
		"far beyond":    {Lo: engine.MaxN, Hi: engine.MaxN + 1},
	} {
		if _, err := e.Resolve(w); err == nil {
			t.Errorf("%s: %+v accepted", name, w)
		}
	}
	var limit *engine.LimitError
	if _, err := e.Resolve(engine.Work{Lo: 1, Hi: 30, Algorithm: "walk"}); !errors.As(err, &limit) || limit.Reach != walkReach {
		t.Errorf("walk at n = 29: %v, want a LimitError", err)
	}
}

func TestSelfTest(t *testing.T) {
	if err := New().SelfTest(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestComputeReturnsEmitError(t *testing.T) {
	e := New()
	w, err := e.Resolve(engine.Work{Lo: 1, Hi: 100})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("sink is full")
	if err := e.Compute(context.Background(), w, engine.Sink{Emit: func(engine.Piece) error { return full }}); err != full {
		t.Errorf("Compute returned %v, want the sink's error", err)
	}
}

// countdown is a context that ends after it has been looked at a few times.
type countdown struct {
	context.Context
	looks int
}

func (c *countdown) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestEveryAlgorithmLooksAtItsContext ends the context inside one large n.
func TestEveryAlgorithmLooksAtItsContext(t *testing.T) {
	for _, a := range New().Info().Algorithms {
		e := New()
		n := min(a.Reach, 200_000)
		w, err := e.Resolve(engine.Work{Algorithm: a.Name, Lo: n, Hi: n + 1})
		if err != nil {
			t.Fatal(err)
		}
		ctx := &countdown{context.Background(), 1}
		err = e.Compute(ctx, w, engine.Sink{Emit: func(engine.Piece) error { return errors.New("finished") }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Compute returned %v, want the context's error", a.Name, err)
		}
		// The scratch memory of a cancelled computation serves the next one.
		if got := valuesOf(t, e, a.Name, 20, 20); got[0] != 4 {
			t.Errorf("%s: M(20) = %d after a cancelled computation", a.Name, got[0])
		}
	}
}

func TestDetail(t *testing.T) {
	e := New()
	w, err := e.Resolve(engine.Work{Algorithm: "table", Lo: 905, Hi: 906})
	if err != nil {
		t.Fatal(err)
	}
	v, facts, err := e.(engine.Detailer).Detail(context.Background(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.String() != fmt.Sprint(values(t, "table", 905, 905)[0]) {
		t.Errorf("Detail gives %s", v)
	}
	if want := []engine.Fact{{Name: "stopping group", Value: "25"}, {Name: "updates", Value: "294450"}}; !slices.Equal(facts, want) {
		t.Errorf("facts are %v, want %v", facts, want)
	}
}

// TestDetailCountsWhatIsDone: the work that is shown is that of the algorithm as
// it computes values, also where that leaves the stopping group to be found by
// more, as at one of these n.
func TestDetailCountsWhatIsDone(t *testing.T) {
	const lateUnknown = 65_486
	e := New()
	for _, n := range []int64{905, 66_000, lateUnknown} {
		w, err := e.Resolve(engine.Work{Lo: n, Hi: n + 1})
		if err != nil {
			t.Fatal(err)
		}
		usual, exact := mustSolve(t, newClasses(), int(n)), mustSolve(t, newExactClasses(), int(n))
		if (usual.group == 0) != (n == lateUnknown) {
			t.Errorf("n = %d: group %d from the usual columns", n, usual.group)
		}
		v, facts, err := e.(engine.Detailer).Detail(t.Context(), w, nil)
		want := []engine.Fact{{Name: "stopping group", Value: fmt.Sprint(exact.group)}, {Name: "evaluations", Value: fmt.Sprint(usual.work)}}
		if err != nil || v.String() != fmt.Sprint(exact.value) || !slices.Equal(facts, want) {
			t.Errorf("n = %d: %s, %v (%v), want %d, %v", n, v, facts, err, exact.value, want)
		}
	}
}
