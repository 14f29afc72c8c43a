package web

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// drawSweep draws a small sweep with a ledger: dense, points, or both.
func drawSweep(t *rapid.T) (jobs.Sweep, *jobs.Ledger) {
	lo, hi := int64(0), int64(0)
	if rapid.Bool().Draw(t, "dense") {
		lo = rapid.Int64Range(1, 60).Draw(t, "lo")
		hi = lo + rapid.Int64Range(1, 300).Draw(t, "length")
	}
	points := rapid.SliceOfN(rapid.Int64Range(1, 500), 0, 12).Draw(t, "points")
	set, err := jobs.NewSet(lo, hi, points)
	if err != nil {
		t.Skip("empty")
	}
	s := jobs.Sweep{Name: "s", Engine: "toy", Version: 1, Keep: jobs.KeepValues, Set: set, Grid: toyGrid(rapid.SampledFrom([]int64{1, 5, 10}).Draw(t, "cell"))}
	first, last := s.Cells()
	l := jobs.NewLedger(first, last)
	for i := first; i < last; i++ {
		if rapid.Bool().Draw(t, "done") {
			l.Mark(i)
		}
	}
	for _, n := range set.Points {
		if rapid.Bool().Draw(t, "point done") {
			l.MarkPoint(n)
		}
	}
	return s, l
}

// TestLayoutIsInOrder checks that places tile the set in the order of n, and
// that at is the inverse of ns.
func TestLayoutIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, l := drawSweep(t)
		lay := newLayout(s)
		if lay.count() != s.CellCount() {
			t.Fatalf("%d places for %d cells", lay.count(), s.CellCount())
		}
		next, total := int64(0), int64(0)
		for p := range lay.count() {
			lo, hi := lay.ns(p)
			if lo < next || hi <= lo {
				t.Fatalf("place %d is n = %d…%d after %d", p, lo, hi-1, next-1)
			}
			total += hi - lo
			next = hi
			for n := lo; n < hi; n++ {
				if got, ok := lay.holds(n); !ok || got != p {
					t.Fatalf("n = %d is at place %d, %v, want %d", n, got, ok, p)
				}
			}
		}
		if total != s.Set.Count() {
			t.Fatalf("places hold %d n, the set %d", total, s.Set.Count())
		}
		for n := int64(1); n < 520; n++ {
			p := lay.at(n)
			if p < lay.count() {
				if _, hi := lay.ns(p); hi <= n {
					t.Fatalf("at(%d) = %d ends at %d", n, p, hi-1)
				}
			}
			if p > 0 {
				if _, hi := lay.ns(p - 1); hi > n {
					t.Fatalf("at(%d) = %d, but the place before reaches %d", n, p, hi-1)
				}
			}
		}
		prefix := int64(0)
		for p := range lay.count() {
			if !lay.isDone(l, p) {
				break
			}
			lo, hi := lay.ns(p)
			prefix += hi - lo
		}
		if got := lay.prefix(l); got != prefix {
			t.Fatalf("prefix %d, want %d", got, prefix)
		}
	})
}

func TestStretches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, l := drawSweep(t)
		lay := newLayout(s)
		lo := rapid.Int64Range(0, lay.count()).Draw(t, "from")
		hi := rapid.Int64Range(lo, lay.count()).Draw(t, "to")
		for _, finished := range []bool{true, false} {
			got := make([]bool, lay.count())
			last := int64(-1)
			lay.stretches(l, lo, hi, finished, func(a, b int64) {
				if a < last || b <= a || a < lo || b > hi {
					t.Fatalf("stretch %d…%d after %d within %d…%d", a, b, last, lo, hi)
				}
				last = b
				for p := a; p < b; p++ {
					got[p] = true
				}
			})
			for p := range lay.count() {
				if want := p >= lo && p < hi && lay.isDone(l, p) == finished; got[p] != want {
					t.Fatalf("place %d: %v, want %v (finished %v)", p, got[p], want, finished)
				}
			}
		}
	})
}

func TestBinning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(0, engine.MaxN).Draw(t, "from")
		to := from + rapid.Int64Range(1, engine.MaxN).Draw(t, "length")
		b := newBinning(from, to, rapid.IntRange(1, 50).Draw(t, "most"))
		if b.start(0) != from || b.start(b.bins) != to {
			t.Fatalf("bins span %d…%d, want %d…%d", b.start(0), b.start(b.bins), from, to)
		}
		for i := range b.bins {
			lo, hi := b.start(i), b.start(i+1)
			if w := hi - lo; w != b.width && w != b.width+1 || w < 1 {
				t.Fatalf("bin %d holds %d places, width %d", i, w, b.width)
			}
			if b.bin(lo) != i || b.bin(hi-1) != i {
				t.Fatalf("bin %d is %d…%d, which are in bins %d and %d", i, lo, hi-1, b.bin(lo), b.bin(hi-1))
			}
		}
	})
}

// TestHeatCountsEachCellOnce compares a map with counting cell by cell.
func TestHeatCountsEachCellOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, l := drawSweep(t)
		h := &heatSource{layout: newLayout(s), ledger: l}
		all := h.count()
		spans := func(name string) []span {
			var out []span
			for range rapid.IntRange(0, 3).Draw(t, name) {
				a := rapid.Int64Range(0, all-1).Draw(t, "a")
				out = append(out, span{a, a + rapid.Int64Range(1, all-a).Draw(t, "b")})
			}
			return merged(out)
		}
		h.running, h.failed = spans("running"), spans("failed")
		if rapid.Bool().Draw(t, "verified") {
			h.verified = jobs.NewLedger(s.Cells())
			for i := h.first; i < h.last; i += 2 {
				h.verified.Mark(i)
			}
		}
		for p := range all {
			if l := h.isDone(l, p); l && rapid.IntRange(0, 9).Draw(t, "disputed") == 0 {
				h.disputed = append(h.disputed, p)
			}
		}
		lo := rapid.Int64Range(1, 520).Draw(t, "lo")
		hi := rapid.Int64Range(lo, 520).Draw(t, "hi")
		m := h.heat(lo, hi, rapid.IntRange(1, 40).Draw(t, "bins"), false)

		in := func(list []span, p int64) bool {
			for _, s := range list {
				if p >= s.from && p < s.to {
					return true
				}
			}
			return false
		}
		dense := func(pairs [][2]int64) []int64 {
			out := make([]int64, len(m.Los))
			for _, p := range pairs {
				out[p[0]] = p[1]
			}
			return out
		}
		got := map[string][]int64{"done": m.Done, "verified": dense(m.Verified), "running": dense(m.Running), "failed": dense(m.Failed), "disputed": dense(m.Disputed)}
		want := map[string][]int64{}
		for k := range got {
			want[k] = make([]int64, len(m.Los))
		}
		place := h.at(int64(m.Los[0]))
		for i := range m.Los {
			size := int64(m.Width)
			if i < m.Extra {
				size++
			}
			if first, _ := h.ns(place); first != int64(m.Los[i]) {
				t.Fatalf("bin %d starts at n = %d, want %d", i, m.Los[i], first)
			}
			for range size {
				state := "open"
				switch done := h.isDone(l, place); {
				case done:
					state = "done"
					if h.verified != nil && h.isDone(h.verified, place) {
						state = "verified"
					}
					for _, d := range h.disputed {
						if d == place {
							state = "disputed"
						}
					}
				case in(h.failed, place):
					state = "failed"
				case in(h.running, place):
					state = "running"
				}
				if state != "open" {
					want[state][i]++
				}
				if one := h.state(place); one != state {
					t.Fatalf("state of place %d is %s, want %s", place, one, state)
				}
				place++
			}
			if _, last := h.ns(place - 1); last-1 != int64(m.His[i]) {
				t.Fatalf("bin %d ends at n = %d, want %d", i, m.His[i], last-1)
			}
		}
		for k := range got {
			for i := range got[k] {
				if got[k][i] != want[k][i] {
					t.Fatalf("bin %d has %d %s cells, want %d", i, got[k][i], k, want[k][i])
				}
			}
		}
		// The window holds every cell that meets [lo, hi].
		for p := range all {
			a, b := h.ns(p)
			meets := b > lo && a <= hi
			inside := a >= int64(m.Los[0]) && b-1 <= int64(m.His[len(m.His)-1])
			if meets && !inside {
				t.Fatalf("cell n = %d…%d meets %d…%d but is not on the map", a, b-1, lo, hi)
			}
		}
		c := h.totals()
		if c.Open+c.Running+c.Done+c.Verified+c.Failed+c.Disputed != all || c.Open < 0 {
			t.Fatalf("totals %+v do not add up to %d", c, all)
		}
	})
}

// TestHeatTimes spreads the seconds of tasks over the bins that they met.
func TestHeatTimes(t *testing.T) {
	set, err := jobs.NewSet(1, 101, []int64{1000})
	if err != nil {
		t.Fatal(err)
	}
	s := jobs.Sweep{Name: "s", Set: set, Grid: toyGrid(10)}
	h := &heatSource{layout: newLayout(s), ledger: jobs.NewLedger(s.Cells())}
	h.times = []timed{{span{0, 4}, 4e-3}, {span{2, 4}, 6e-3}, {span{10, 11}, 7}}
	m := h.heat(1, 1000, 100, true)
	// Cells 0 and 1: 4 ms over 40 n. Cells 2 and 3: also 6 ms over 20 n, so
	// 2 + 6 ms over 20 + 20 n. The point: 7 s.
	want := []float64{100_000, 100_000, 200_000, 200_000, 0, 0, 0, 0, 0, 0, 7e9}
	if len(m.Nanos) != len(want) {
		t.Fatalf("%d bins, want %d", len(m.Nanos), len(want))
	}
	for i, w := range want {
		if m.Nanos[i] != w {
			t.Errorf("bin %d took %v ns per n, want %v", i, m.Nanos[i], w)
		}
	}
	if m.Slowest != 7e9 {
		t.Errorf("slowest %v", m.Slowest)
	}
}

func TestWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []span {
			var out []span
			for range rapid.IntRange(0, 4).Draw(t, name) {
				a := rapid.Int64Range(0, 30).Draw(t, "a")
				out = append(out, span{a, a + rapid.Int64Range(1, 9).Draw(t, "n")})
			}
			return out
		}
		a, b := merged(draw("a")), draw("b")
		var got, inA, inB [64]bool
		for _, s := range without(a, b) {
			for p := s.from; p < s.to; p++ {
				if got[p] {
					t.Fatalf("place %d is there twice", p)
				}
				got[p] = true
			}
		}
		for _, s := range a {
			for p := s.from; p < s.to; p++ {
				inA[p] = true
			}
		}
		for _, s := range b {
			for p := s.from; p < s.to; p++ {
				inB[p] = true
			}
		}
		for p := range got {
			if got[p] != (inA[p] && !inB[p]) {
				t.Fatalf("place %d: %v, in a %v, in b %v", p, got[p], inA[p], inB[p])
			}
		}
	})
}
