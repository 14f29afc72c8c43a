package config

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		n      N
		lo, hi int64
		points []int64
	}{
		{N{From: 1, To: 1000}, 1, 1001, nil},
		{N{From: 5, To: 5, Step: 1}, 5, 6, nil},
		{N{From: 1, To: MaxN}, 1, MaxN + 1, nil},
		{N{From: 1, To: 10, Step: 3}, 0, 0, []int64{1, 4, 7, 10}},
		{N{From: 2, To: 10, Step: 3}, 0, 0, []int64{2, 5, 8}},
		{N{From: MaxN - 1, To: MaxN, Step: MaxN}, 0, 0, []int64{MaxN - 1}},
		{N{Values: []int64{20, 4, 20}}, 0, 0, []int64{4, 20}},
		{N{From: 4, To: 10, Values: []int64{3, 4, 10, 11}}, 4, 11, []int64{3, 11}},
		{N{Decades: &Decades{From: 0, To: 3}}, 0, 0, []int64{1, 10, 100, 1000}},
		{N{Decades: &Decades{From: 17, To: 18}}, 0, 0, []int64{MaxN / 10, MaxN}},
		// ⌊√10⌋ = 3, ⌊10·√10⌋ = 31.
		{N{Decades: &Decades{From: 0, To: 2, PerDecade: 2}}, 0, 0, []int64{1, 3, 10, 31, 100}},
		// The decimals of 10^(1/3) are 2.15443469…, of 10^(2/3) 4.64158883…
		{N{Decades: &Decades{From: 8, To: 9, PerDecade: 3}}, 0, 0, []int64{100000000, 215443469, 464158883, 1000000000}},
		// Low decades have fewer integers than points: ⌊10^(k/10)⌋ for
		// k = 0…10 is 1 1 1 1 2 3 3 5 6 7 10.
		{N{Decades: &Decades{From: 0, To: 1, PerDecade: 10}}, 0, 0, []int64{1, 2, 3, 5, 6, 7, 10}},
	} {
		lo, hi, points, err := c.n.Expand()
		if err != nil {
			t.Errorf("%v: %v", c.n, err)
			continue
		}
		if lo != c.lo || hi != c.hi || !slices.Equal(points, c.points) {
			t.Errorf("%v: %d, %d, %v; want %d, %d, %v", c.n, lo, hi, points, c.lo, c.hi, c.points)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, c := range []struct {
		n    N
		want string
	}{
		{N{}, "n: names no n; want {from: 1, to: 1000}, values: [4, 20] or decades: {from: 3, to: 9}"},
		{N{From: 0, To: 5}, "n.from: 0 is out of range; want a whole number from 1 to 10^18"},
		{N{From: 1, To: MaxN + 1}, "n.to: 1000000000000000001 is out of range; want a whole number from 1 to 10^18"},
		{N{From: 5, To: 4}, "n.to: 4 lies before from = 5, so the range is empty; want at least 5"},
		{N{From: 1, To: 4, Step: -1}, "n.step: -1 is out of range; want a whole number from 1 to 10^18"},
		{N{Values: []int64{1}, Step: 2}, "n.step: has no range to step through; want from and to beside it"},
		{N{Values: []int64{1, 0}}, "n.values[1]: 0 is out of range; want a whole number from 1 to 10^18"},
		{N{Decades: &Decades{From: 3, To: 19}}, "n.decades.to: 19 is out of range; want an exponent of ten from 0 to 18"},
		{N{Decades: &Decades{From: 3, To: 2}}, "n.decades.to: 2 lies before from = 3, so there are no decades; want at least 3"},
		{N{Decades: &Decades{From: 3, To: 4, PerDecade: 101}}, "n.decades.per_decade: 101 is out of range; want 1 to 100 points a decade"},
		{N{From: 1, To: MaxN, Step: 2}, "n: names 500000000000000000 single points; want a step of at least 100000000000, or a range of step 1"},
	} {
		_, _, _, err := c.n.Expand()
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v\nwant %s", c.n, err, c.want)
		}
	}
	// The step that the last error proposes is accepted, one less is not.
	if f := (N{From: 1, To: MaxN, Step: 100_000_000_000}).check(); f != nil {
		t.Error(f)
	}
	if f := (N{From: 1, To: MaxN, Step: 99_999_999_999}).check(); f == nil {
		t.Error("more than MaxPoints points were accepted")
	}
}

// TestDecadePoints checks every point of every density against its definition:
// x = ⌊10^(k/p)⌋ means x^p ≤ 10^k < (x+1)^p.
func TestDecadePoints(t *testing.T) {
	one := big.NewInt(1)
	for _, p := range []int64{1, 2, 3, 7, 10, 64, MaxPerDecade} {
		d := Decades{From: 0, To: 18, PerDecade: p}
		points := d.points()
		if int64(len(points)) != 18*p+1 {
			t.Fatalf("%d a decade: %d points", p, len(points))
		}
		exp, ten := big.NewInt(p), big.NewInt(10)
		for k, x := range points {
			target := new(big.Int).Exp(ten, big.NewInt(int64(k)), nil)
			v := big.NewInt(x)
			if new(big.Int).Exp(v, exp, nil).Cmp(target) > 0 || new(big.Int).Exp(v.Add(v, one), exp, nil).Cmp(target) <= 0 {
				t.Fatalf("%d a decade: %d is not the floor of 10^(%d/%d)", p, x, k, p)
			}
		}
	}
}

func genN() *rapid.Generator[N] {
	return rapid.Custom(func(t *rapid.T) N {
		var n N
		what := rapid.IntRange(1, 7).Draw(t, "parts")
		if what&1 != 0 {
			n.From = rapid.Int64Range(1, 2000).Draw(t, "from")
			n.To = n.From + rapid.Int64Range(0, 3000).Draw(t, "length")
			n.Step = rapid.SampledFrom([]int64{0, 1, 2, 7, 5000}).Draw(t, "step")
		}
		if what&2 != 0 {
			n.Values = rapid.SliceOfN(rapid.Int64Range(1, 6000), 1, 8).Draw(t, "values")
		}
		if what&4 != 0 {
			n.Decades = &Decades{From: rapid.Int64Range(0, 3).Draw(t, "low"), PerDecade: rapid.Int64Range(0, 12).Draw(t, "density")}
			n.Decades.To = n.Decades.From + rapid.Int64Range(0, 2).Draw(t, "decades")
		}
		return n
	})
}

// TestExpandIsTheUnion compares Expand and members with the set built n by n.
func TestExpandIsTheUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genN().Draw(t, "n")
		want := map[int64]bool{}
		if n.hasRange() {
			for x := n.From; x <= n.To; x += n.step() {
				want[x] = true
			}
		}
		for _, x := range n.Values {
			want[x] = true
		}
		if n.Decades != nil {
			for _, x := range n.Decades.points() {
				want[x] = true
			}
		}
		lo, hi, points, err := n.Expand()
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]bool{}
		for x := lo; x < hi; x++ {
			got[x] = true
		}
		for i, x := range points {
			if got[x] || i > 0 && points[i-1] >= x {
				t.Fatalf("%d is given twice or out of order", x)
			}
			got[x] = true
		}
		contains := n.members()
		for x := int64(0); x < 7000; x++ {
			if want[x] != got[x] || want[x] != contains(x) {
				t.Fatalf("n = %d: want %v, Expand %v, members %v", x, want[x], got[x], contains(x))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d n, want %d", len(got), len(want))
		}
	})
}

func TestNString(t *testing.T) {
	n := N{From: 1, To: 1000, Step: 5, Values: []int64{4, 20}, Decades: &Decades{From: 3, To: 9, PerDecade: 2}}
	if got, want := n.String(), "1…1000 in steps of 5, 4, 20, decades 3…9 of 2 points"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (N{Values: make([]int64, 9)}).String(); !strings.Contains(got, "9 values") {
		t.Error(got)
	}
}
