package hopping

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"pgregory.net/rapid"
)

func mustSolve(t testing.TB, s solver, n int) result {
	t.Helper()
	r, err := s.solve(n, newPoller(context.Background()))
	if err != nil {
		t.Fatalf("n = %d: %v", n, err)
	}
	return r
}

// wideSolver returns the wide half alone, keeping its groups to keepTo.
func wideSolver(keepTo int) *classSolver[uint32] {
	l := newWide(wideBelow)
	l.keepTo = keepTo
	return newWideSolver(l)
}

// variants are all the ways to run the algorithm: narrow and wide, with kept
// groups or with a pair of them, with and without many merges.
func variants() map[string]solver {
	often := newClasses().narrow
	often.mergeFirst, often.mergeEvery = 1, 1
	wideOften := wideSolver(wideKeep)
	wideOften.mergeFirst, wideOften.mergeEvery = 2, 1
	return map[string]solver{
		"narrow":               newClasses().narrow,
		"narrow, merged often": often,
		"wide":                 wideSolver(wideKeep),
		"wide, merged often":   wideOften,
		"wide, paired":         wideSolver(0),
		"wide, exact":          exactly(wideSolver(wideKeep)),
		"narrow, late":         lateNarrow(1),
		"narrow, very late":    lateNarrow(4),
		"wide, very late":      lateWide(4),
	}
}

func exactly(c *classSolver[uint32]) *classSolver[uint32] {
	c.late = 0
	return c
}

func lateNarrow(columns int) *classSolver[uint16] {
	c := newClasses().narrow
	c.late = columns
	return c
}

func lateWide(columns int) *classSolver[uint32] {
	c := wideSolver(wideKeep)
	c.late = columns
	return c
}

// differs reports whether a result contradicts the wanted one. A stopping group
// of 0 is unknown, which is allowed where columns are late.
func differs(got, want result) bool {
	return got.value != want.value || got.group != want.group && got.group != 0
}

func TestClassesAgreeWithTable(t *testing.T) {
	hi := 3000
	if raceEnabled {
		hi = 200
	}
	var tb table
	all := variants()
	unknown := 0
	for n := 1; n <= hi; n++ {
		want := mustSolve(t, &tb, n)
		for name, s := range all {
			if n > 300 && n%23 != 0 && name != "narrow" && name != "wide" && name != "wide, exact" {
				continue
			}
			if got := mustSolve(t, s, n); differs(got, want) {
				t.Fatalf("%s: M(%d) = %d, t = %d, want %d, %d", name, n, got.value, got.group, want.value, want.group)
			} else if got.group == 0 {
				unknown++
			}
		}
	}
	// More would mean that late columns are entered too late to be of use. The
	// smallest n, with hardly more groups than columns, are no measure.
	if hi == 3000 && unknown > len(all)*hi/100 {
		t.Errorf("%d stopping groups unknown", unknown)
	}
}

func TestClassesAgreeWithTableAtRandom(t *testing.T) {
	count, most := 6, 100_000
	if raceEnabled {
		count, most = 2, 10_000
	}
	if os.Getenv("NSWEEP_SOAK") != "" {
		count = 300
	}
	rnd := rand.New(rand.NewPCG(1, 2)) // fixed: a failure repeats
	tb, exact, fast := &table{}, newExactClasses(), newClasses()
	for range count {
		n := 1 + rnd.IntN(most)
		got, want := mustSolve(t, exact, n), mustSolve(t, tb, n)
		if got.value != want.value || got.group != want.group {
			t.Errorf("M(%d) = %d, t = %d, want %d, %d", n, got.value, got.group, want.value, want.group)
		}
		if got := mustSolve(t, fast, n); differs(got, want) {
			t.Errorf("M(%d) = %d, t = %d with late columns, want %d, %d", n, got.value, got.group, want.value, want.group)
		}
	}
}

// TestNarrowMeetsWide crosses the border between 16 and 32 bits.
func TestNarrowMeetsWide(t *testing.T) {
	cl, wide := newExactClasses(), exactly(wideSolver(wideKeep))
	var tb table
	for _, n := range []int{narrowMax - 1000, narrowMax - 1, narrowMax} {
		if got, want := mustSolve(t, cl.narrow, n), mustSolve(t, wide, n); got.value != want.value || got.group != want.group {
			t.Errorf("n = %d: narrow gives %+v, wide %+v", n, got, want)
		}
	}
	for _, n := range []int{narrowMax, narrowMax + 1, narrowWords, narrowWords + 1} {
		if raceEnabled && n != narrowMax+1 {
			continue
		}
		if got, want := mustSolve(t, cl, n), mustSolve(t, &tb, n); got.value != want.value || got.group != want.group {
			t.Errorf("n = %d: classes give %+v, table %+v", n, got, want)
		}
	}
}

// TestLateColumnsMeet crosses the border at which another column is left out.
func TestLateColumnsMeet(t *testing.T) {
	if raceEnabled {
		t.Skip("seconds under the race detector")
	}
	fast, exact := newClasses(), newExactClasses()
	for _, n := range []int{2_999_999, 3_000_000, 3_000_001} {
		if got, want := mustSolve(t, fast, n), mustSolve(t, exact, n); differs(got, want) {
			t.Errorf("n = %d: %+v with late columns, %+v without", n, got, want)
		}
		if late := 2 + n/3_000_000; fast.wide.late != late || exact.wide.late != 0 {
			t.Errorf("n = %d: %d and %d late columns, want %d and 0", n, fast.wide.late, exact.wide.late, late)
		}
	}
}

// TestClassesKnownValues has values and stopping groups found by an independent
// program of the table recursion.
func TestClassesKnownValues(t *testing.T) {
	cl := newExactClasses()
	for _, c := range []struct{ n, value, group int }{
		{1, 0, 2}, {2, 2, 3}, {20, 4, 8}, {1000, 771, 21}, {10_000, 4709, 31}, {100_000, 57993, 40},
		{1_000_000, 222989, 49}, // testdata/bench/table.cpp
	} {
		if got := mustSolve(t, cl, c.n); got.value != c.value || got.group != c.group {
			t.Errorf("M(%d) = %d, t = %d, want %d, %d", c.n, got.value, got.group, c.value, c.group)
		}
	}
}

func TestClassesTo10000(t *testing.T) {
	hi := int64(10_000)
	if raceEnabled {
		hi = 1000
	}
	vs := values(t, "classes", 1, hi)
	checkExtremes(t, vs)
	if got := digest(1, vs[:1000]); got != digestTo1000 {
		t.Errorf("digest of n = 1…1000 is %s, want %s", got, digestTo1000)
	}
	for n, want := range map[int64]string{
		20: "8150", 100: "5642811", 1000: "61029882288", 2000: "1005494239260", 10_000: "625261610174522",
	} {
		if n > hi {
			continue
		}
		if got := sumOfCubes(vs[:n]); got != want {
			t.Errorf("Σ M(n)³ for n ≤ %d is %s, want %s", n, got, want)
		}
	}
	cl := newExactClasses()
	largest, first := 0, 0
	for n := 1; n <= int(hi); n++ {
		if g := mustSolve(t, cl, n).group; g > largest {
			largest, first = g, n
		}
		if n == 1000 && (largest != 25 || first != 905) {
			t.Errorf("largest t for n ≤ 1000 is %d at %d, want 25 at 905", largest, first)
		}
	}
	if hi == 10_000 && (largest != 34 || first != 7986) {
		t.Errorf("largest t for n ≤ 10000 is %d at %d, want 34 at 7986", largest, first)
	}
}

// TestClassesGoDeeper makes the rows beyond the prepared slacks below 0 the
// usual case: the lookup must refuse and the solver take a larger one.
func TestClassesGoDeeper(t *testing.T) {
	cl := newExactClasses()
	cl.wide.look = newWide(2)
	if _, err := cl.wide.solve(1000, newPoller(context.Background())); err != errDeep {
		t.Fatalf("two slacks below 0: %v, want errDeep", err)
	}
	n := narrowMax + 1
	if got, want := mustSolve(t, cl, n), mustSolve(t, newExactClasses(), n); got.value != want.value || got.group != want.group {
		t.Errorf("n = %d: %+v, want %+v", n, got, want)
	}
	if below := cl.wide.look.(*wide).below; below <= 2 {
		t.Errorf("still %d slacks below 0", below)
	}
}

// TestFullRowsAreTheirDefinition walks every class of every full row.
func TestFullRowsAreTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		s := leastGroup(n)
		s += rapid.IntRange(0, 3).Draw(t, "more")
		c := newClasses().narrow
		c.mergeFirst = rapid.IntRange(1, 8).Draw(t, "first merge")
		c.mergeEvery = rapid.IntRange(1, 4).Draw(t, "next merges")
		p := newPoller(context.Background())
		before, g := &c.two[0], &c.two[1]
		before.first = leastGroup(n)
		for k := leastGroup(n); k <= s; k++ {
			if _, err := c.group(k, k, n, g, before, p); err != nil {
				t.Fatal(err)
			}
			before, g = g, before
		}
		for m := before.first; m <= s; m++ {
			r := before.rows[m]
			d := rapid.IntRange(0, n).Draw(t, "slack")
			class, start := 0, 0
			for start+s-bits.OnesCount(uint(class)) <= d {
				start += s - bits.OnesCount(uint(class))
				class++
			}
			place := class
			if r.ids != none {
				place = int(before.mem[r.ids+place])
			}
			if r.ids2 != none {
				place = int(before.mem[r.ids2+place])
			}
			got := int(before.list(&r)[place])
			u := n - d
			for k := 1<<m - 1; k >= 1; k-- {
				u = sigma(u, bits.OnesCount(uint(k))+s-m, n)
			}
			if got != n-u {
				t.Fatalf("n = %d: row %d of group %d sends slack %d to %d, want %d", n, m, s, d, got, n-u)
			}
		}
	})
}

// TestNarrowPasses compares the passes through several rows with the definition
// of each row, for lists of every length modulo that of a turn, and looks for
// words written further behind a list than the pass may go.
func TestNarrowPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 13).Draw(t, "count")
		even := (count + 1) &^ 1
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random := func(n int) []uint16 {
			s := make([]uint16, n)
			for i := range s {
				s[i] = uint16(rnd.Uint32())
			}
			return s
		}
		class, xs := random(narrowWords+2), random(even+3)
		var lists [3]*narrowTable
		for k := range lists {
			lists[k] = (*narrowTable)(random(narrowWords))
		}
		const rows = 3
		check := func(name string, made int, apply func(out []uint16)) {
			out := random(rows*even + 8)
			was := slices.Clone(out)
			apply(out)
			for i, x := range xs[:count] {
				for k := range made {
					x = lists[k][class[int(x)+k]]
					if got := out[k*even+i]; got != x {
						t.Fatalf("%s, %d values: value %d of row %d is %d, want %d", name, count, i, k, got, x)
					}
				}
			}
			if end := made*even + 3; !slices.Equal(out[end:], was[end:]) {
				t.Fatalf("%s, %d values: wrote more than 3 words behind the lists", name, count)
			}
		}
		check("one row", 1, func(out []uint16) {
			narrowApply(out[:even], xs[:even], (*narrowTable)(class), lists[0])
		})
		check("two rows", 2, func(out []uint16) {
			narrowApplyTwice(out[:2*even], xs[:even], (*[narrowWords + 1]uint16)(class), lists[0], lists[1])
		})
		check("three rows", 3, func(out []uint16) {
			narrowApplyThrice(out[:3*even], xs[:even], (*[narrowWords + 2]uint16)(class), lists[0], lists[1], lists[2])
		})
	})
}

// TestWideClasses compares the cells with the sums of weights that define the
// classes.
func TestWideClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20_000).Draw(t, "n")
		s := leastGroup(n) + rapid.IntRange(0, 40).Draw(t, "more")
		l := newWide(1 << rapid.IntRange(0, 7).Draw(t, "below"))
		count, err := l.prepare(s, n, newPoller(context.Background()))
		if err != nil {
			t.Fatal(err)
		}
		g := l.group(s)
		i, start := 0, 0
		for d := 0; d <= n; d++ {
			if d == start+s-bits.OnesCount(uint(i)) {
				start, i = d, i+1
			}
			if got := g.classOf(d + l.below); got != i {
				t.Fatalf("s = %d, cells of %d: slack %d is in class %d, want %d", s, 1<<g.shift, d, got, i)
			}
		}
		if count != i+1 {
			t.Fatalf("s = %d, n = %d: %d classes, want %d", s, n, count, i+1)
		}
		for z := range l.below {
			if got := g.classOf(z); got != i {
				t.Fatalf("s = %d: slack %d below 0 is in class %d, want that of n, %d", s, z-l.below, got, i)
			}
		}
	})
}

// TestClassesAllocateNothing counts allocations for each n once the scratch
// memory has its size.
func TestClassesAllocateNothing(t *testing.T) {
	// A collection in between would allocate a little of its own.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	p := newPoller(context.Background())
	for name, s := range variants() {
		mustSolve(t, s, 3000)
		if a := testing.AllocsPerRun(4, func() {
			for n := 2997; n <= 3000; n++ {
				if _, err := s.solve(n, p); err != nil {
					t.Error(err)
				}
			}
		}); a != 0 {
			t.Errorf("%s: %v allocations", name, a)
		}
	}
}

// FuzzAlgorithmsAgree compares two algorithms at one n that both reach.
func FuzzAlgorithmsAgree(f *testing.F) {
	algorithms := New().Info().Algorithms
	for i := range algorithms {
		f.Add(uint32(20), uint8(i), uint8(i+1))
	}
	f.Add(uint32(905), uint8(3), uint8(4))
	f.Add(uint32(4105), uint8(3), uint8(4))
	f.Fuzz(func(t *testing.T, n uint32, a, b uint8) {
		x, y := algorithms[int(a)%len(algorithms)], algorithms[int(b)%len(algorithms)]
		most := min(x.Reach, y.Reach, 5000)
		if most < 100 {
			most = min(most, 16) // a fuzzing engine gives up on slow inputs
		}
		v := 1 + int64(n)%most
		if p, q := values(t, x.Name, v, v), values(t, y.Name, v, v); p[0] != q[0] {
			t.Errorf("M(%d) is %d by %s and %d by %s", v, p[0], x.Name, q[0], y.Name)
		}
	})
}

var _ solver = (*classes)(nil)

var _ engine.Engine = (*game)(nil)
