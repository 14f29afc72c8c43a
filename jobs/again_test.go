package jobs

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

// ways is an engine with three ways: plain reaches 1000, fair everything, dear
// everything at a thousand times the cost.
type ways struct{ noFair bool }

func (e ways) Info() engine.Info {
	i := engine.Info{Name: "ways", Version: 1, Grid: engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: 50}}},
		Params:     []engine.Param{{Name: "k", Default: 1}},
		Algorithms: []engine.Algorithm{{Name: "main", Reach: engine.MaxN}, {Name: "plain", Reach: 1000}, {Name: "dear", Reach: engine.MaxN}}}
	if !e.noFair {
		i.Algorithms = append(i.Algorithms, engine.Algorithm{Name: "fair", Reach: engine.MaxN})
	}
	return i
}

func (e ways) Resolve(w engine.Work) (engine.Work, error) {
	return engine.ResolveBasics(e.Info(), w, func(engine.Work) string { return "main" }, func(string, int64) error { return nil })
}

func (e ways) Cost(w engine.Work) engine.Cost {
	return engine.Cost{Run: float64(w.Len()) * map[string]float64{"main": 1e6, "plain": 2e6, "fair": 50e6, "dear": 1e9}[w.Algorithm]}
}

func (ways) Compute(context.Context, engine.Work, engine.Sink) error { return nil }
func (ways) SelfTest(context.Context) error                          { return nil }

// TestAgain: the cheapest other way that reaches, none that costs more than a
// hundred times as much, unless that is next to nothing.
func TestAgain(t *testing.T) {
	s := Sweep{Name: "s", Engine: "ways", Version: 1}
	for _, c := range []struct {
		eng    ways
		run    string
		lo, hi int64
		want   string
		other  bool
	}{
		{ways{}, "", 1, 1001, "plain", true},
		{ways{}, "", 1, 1002, "fair", true},
		{ways{noFair: true}, "", 1, 1002, "main", false},
		{ways{noFair: true}, "", 2000, 2001, "main", false},
		{ways{}, "fair", 2000, 3000, "main", true},
		{ways{}, "plain", 1, 11, "main", true},
	} {
		s.Algorithm = c.run
		w, other, err := Again(c.eng, s, c.lo, c.hi)
		if err != nil || w.Algorithm != c.want || other != c.other || w.Lo != c.lo || w.Hi != c.hi || w.Params["k"] != 1 {
			t.Errorf("%+v: %+v, %v, %v", c, w, other, err)
		}
	}
	s.Params = engine.Params{"no": 1}
	if _, _, err := Again(ways{}, s, 1, 2); err == nil {
		t.Error("an unknown parameter is no error")
	}
}

// TestCheckSampleIsFixed: which cells are confirmed must be the same everywhere
// and ever. It depends on what is computed.
func TestCheckSampleIsFixed(t *testing.T) {
	pick := func(s Sweep) (got []int64) {
		has := s.CheckSample(20_000).Of(s.Name)
		for i := int64(0); len(got) < 4; i++ {
			if has(i) {
				got = append(got, i)
			}
		}
		return got
	}
	hop := Sweep{Name: "hopping", Engine: "hopping", Version: 1, Params: engine.Params{"base": 2}}
	if got := pick(hop); !slices.Equal(got, []int64{38, 103, 181, 184}) {
		t.Errorf("hopping: %v", got)
	}
	for _, other := range []Sweep{
		{Name: "h", Engine: "hopping", Version: 1, Params: engine.Params{"base": 2}},
		{Name: "hopping", Engine: "hoppin", Version: 1, Params: engine.Params{"base": 2}},
		{Name: "hopping", Engine: "hopping", Version: 2, Params: engine.Params{"base": 2}},
		{Name: "hopping", Engine: "hopping", Version: 1, Params: engine.Params{"base": 3}},
	} {
		if got := pick(other); slices.Equal(got, pick(hop)) {
			t.Errorf("%+v has the same cells", other)
		}
	}
	// A task picks as its sweep does, whatever computes it.
	task := Task{Sweep: hop.Name, Engine: hop.Engine, Version: 1, Params: hop.Params, Check: 20_000, Algorithm: "table"}
	if task.CheckSample() != hop.CheckSample(20_000) {
		t.Error("the task of a sweep has other cells")
	}
}

// TestParts: the parts of a check are the cells of its share, in order, and no
// two of them touch; their number is what CheckCount counts.
func TestParts(t *testing.T) {
	grid := engine.Grid{Version: 1, Bands: []engine.Band{{Upto: 4000, Cell: 50}, {Upto: engine.MaxN, Cell: 1000}}}
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(1, 8000).Draw(t, "lo")
		hi := lo + rapid.Int64Range(1, 60_000).Draw(t, "len")
		share := rapid.SampledFrom([]int64{0, 1, 20_000, 500_000, 999_000, All}).Draw(t, "share")
		s := Sweep{Name: "s", Engine: "e", Version: 1, Grid: grid, Set: Set{Lo: lo, Hi: hi}}
		parts := Task{Sweep: "s", Engine: "e", Version: 1, Check: share, Lo: lo, Hi: hi}.Parts(grid)
		if share == 0 {
			if !slices.Equal(parts, []Part{{lo, hi}}) {
				t.Fatalf("parts %v of all", parts)
			}
			return
		}
		has := s.CheckSample(share).Of("s")
		in, cells := map[int64]bool{}, int64(0)
		for k, p := range parts {
			if p.Hi <= p.Lo || (k > 0 && p.Lo <= parts[k-1].Hi) {
				t.Fatalf("parts %v", parts)
			}
			for n := p.Lo; n < p.Hi; {
				c := grid.CellAt(n).Clip(lo, hi)
				if n != c.Lo || c.Hi > p.Hi {
					t.Fatalf("part %v cuts the cell %v", p, c)
				}
				in[c.Index] = true
				cells++
				n = c.Hi
			}
		}
		first, last := s.Cells()
		for i := first; i < last; i++ {
			if in[i] != has(i) {
				t.Fatalf("cell %d is in a part: %v", i, in[i])
			}
		}
		if cells != s.CheckCount(share) {
			t.Fatalf("%d cells, counted %d", cells, s.CheckCount(share))
		}
	})
}

// TestShareCatches draws which cells a worker spoils and compares how often a
// share finds one of them with 1−(1−p)^k, which docs/EXPERIMENTS.md states:
// within five standard deviations of 4000 drawings, where p is the part of these
// cells that is in the share, itself within five of what was asked for.
func TestShareCatches(t *testing.T) {
	const drawings, cells = 4000, 20_000
	for _, c := range []struct {
		share int64
		k     int
	}{{20_000, 49}, {20_000, 100}, {500_000, 3}, {1000, 700}} {
		has := Sweep{Name: "toy", Engine: "toy", Version: 1}.CheckSample(c.share).Of("toy")
		in := 0
		for i := range int64(cells) {
			if has(i) {
				in++
			}
		}
		p, asked := float64(in)/cells, float64(c.share)/All
		if math.Abs(p-asked) > 5*math.Sqrt(asked*(1-asked)/cells) {
			t.Errorf("a share of %g holds %d of %d cells", asked, in, cells)
		}
		at, caught := uint64(1), 0
		for range drawings {
			found := false
			for range c.k {
				at = at*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
				found = has(int64(at>>33)%cells) || found
			}
			if found {
				caught++
			}
		}
		got, want := float64(caught)/drawings, 1-math.Pow(1-p, float64(c.k))
		if math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/drawings) {
			t.Errorf("share %g of %d wrong cells: caught with %.3f, want %.3f", p, c.k, got, want)
		}
	}
}
