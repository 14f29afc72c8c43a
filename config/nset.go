package config

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// Limits of the n of a sweep.
const (
	// MaxN is the largest n: 10^18. A range's end To+1, and a sum of a few n,
	// therefore fit int64.
	MaxN = int64(1_000_000_000_000_000_000)
	// MaxPoints is the largest number of single points of a sweep. Each is an
	// entry of the ledger; a range of step 1 has no such limit.
	MaxPoints = 10_000_000
	// MaxPerDecade is the largest number of points in a decade.
	MaxPerDecade = 100
)

// N is the n of a sweep: the union of a range, values and decades, at least one
// of which is given.
type N struct {
	// From, From+Step, … up to To, both ends included. From = To = 0 means
	// that there is no range. Step 0 means 1.
	From, To, Step int64
	Values         []int64
	// Decades are points spread evenly on a logarithmic scale, or nil.
	Decades *Decades
}

// Decades are the points ⌊10^(k/PerDecade)⌋ for From·PerDecade ≤ k ≤
// To·PerDecade, each once: 10^From … 10^To and PerDecade−1 points between one
// power and the next. PerDecade 0 means 1.
type Decades struct {
	From, To, PerDecade int64
}

func (n N) hasRange() bool { return n.From != 0 || n.To != 0 }

func (n N) step() int64 {
	if n.Step == 0 {
		return 1
	}
	return n.Step
}

func (d Decades) perDecade() int64 {
	if d.PerDecade == 0 {
		return 1
	}
	return d.PerDecade
}

// fault is something wrong below one key.
type fault struct {
	key, problem, want string
}

// check returns what is wrong with n; keys are relative, such as "decades.to".
// When there is none, all counts below fit int64.
func (n N) check() []fault {
	var f []fault
	add := func(key, problem, want string) { f = append(f, fault{key, problem, want}) }
	wantN := "want a whole number from 1 to 10^18"
	if !n.hasRange() && len(n.Values) == 0 && n.Decades == nil {
		add("", "names no n", "want {from: 1, to: 1000}, values: [4, 20] or decades: {from: 3, to: 9}")
	}
	if n.hasRange() {
		switch {
		case n.From < 1 || n.From > MaxN:
			add("from", fmt.Sprintf("%d is out of range", n.From), wantN)
		case n.To < 1 || n.To > MaxN:
			add("to", fmt.Sprintf("%d is out of range", n.To), wantN)
		case n.To < n.From:
			add("to", fmt.Sprintf("%d lies before from = %d, so the range is empty", n.To, n.From), fmt.Sprintf("want at least %d", n.From))
		}
	}
	if n.Step < 0 || n.Step > MaxN {
		add("step", fmt.Sprintf("%d is out of range", n.Step), wantN)
	} else if n.Step != 0 && !n.hasRange() {
		add("step", "has no range to step through", "want from and to beside it")
	}
	for i, v := range n.Values {
		if v < 1 || v > MaxN {
			add(fmt.Sprintf("values[%d]", i), fmt.Sprintf("%d is out of range", v), wantN)
		}
	}
	if d := n.Decades; d != nil {
		for _, e := range []struct {
			key string
			v   int64
		}{{"from", d.From}, {"to", d.To}} {
			if e.v < 0 || e.v > 18 {
				add("decades."+e.key, fmt.Sprintf("%d is out of range", e.v), "want an exponent of ten from 0 to 18")
			}
		}
		if d.To < d.From {
			add("decades.to", fmt.Sprintf("%d lies before from = %d, so there are no decades", d.To, d.From), fmt.Sprintf("want at least %d", d.From))
		}
		if d.PerDecade < 0 || d.PerDecade > MaxPerDecade {
			add("decades.per_decade", fmt.Sprintf("%d is out of range", d.PerDecade), fmt.Sprintf("want 1 to %d points a decade", MaxPerDecade))
		}
	}
	if len(f) > 0 {
		return f
	}
	// At most 10^18 from the range, the values that memory holds, and 1801.
	if c := n.pointCount(); c > MaxPoints {
		want := fmt.Sprintf("want at most %d, or a range of step 1", MaxPoints)
		if s := n.step(); s > 1 {
			if least := (n.To-n.From)/MaxPoints + 1; least > s {
				want = fmt.Sprintf("want a step of at least %d, or a range of step 1", least)
			}
		}
		add("", fmt.Sprintf("names %d single points", c), want)
	}
	return f
}

// pointCount bounds the number of single points from above.
func (n N) pointCount() int64 {
	c := int64(len(n.Values))
	if n.hasRange() && n.step() > 1 {
		c += (n.To-n.From)/n.step() + 1
	}
	if d := n.Decades; d != nil {
		c += (d.To-d.From)*d.perDecade() + 1
	}
	return c
}

// Expand returns the set as a dense half-open range [lo, hi), empty with
// lo = hi = 0 unless there is a range of step 1, and the single points outside
// of it in rising order, each once. It takes time and memory proportional to
// the number of points, at most MaxPoints. It fails when n is not sound, which
// cannot happen for an experiment that Load returned.
func (n N) Expand() (lo, hi int64, points []int64, err error) {
	if f := n.check(); len(f) > 0 {
		key := "n"
		if f[0].key != "" {
			key += "." + f[0].key
		}
		return 0, 0, nil, errors.New(key + ": " + f[0].problem + "; " + f[0].want)
	}
	points = make([]int64, 0, n.pointCount())
	if n.hasRange() {
		if s := n.step(); s == 1 {
			lo, hi = n.From, n.To+1
		} else {
			// To ≤ 10^18 and s ≤ 10^18, so x+s ≤ 2·10^18 does not wrap.
			for x := n.From; x <= n.To; x += s {
				points = append(points, x)
			}
		}
	}
	points = append(points, n.Values...)
	if n.Decades != nil {
		points = append(points, n.Decades.points()...)
	}
	points = slices.DeleteFunc(points, func(x int64) bool { return x >= lo && x < hi })
	slices.Sort(points)
	return lo, hi, slices.Compact(points), nil
}

// members returns a function that reports whether x belongs to the set, which
// must be sound, in time logarithmic in the number of values and decade points.
func (n N) members() func(x int64) bool {
	points := slices.Clone(n.Values)
	if n.Decades != nil {
		points = append(points, n.Decades.points()...)
	}
	slices.Sort(points)
	return func(x int64) bool {
		if n.hasRange() && x >= n.From && x <= n.To && (x-n.From)%n.step() == 0 {
			return true
		}
		_, ok := slices.BinarySearch(points, x)
		return ok
	}
}

// String writes the set for people, such as "1…1000 in steps of 5, 3 values,
// decades 3…9".
func (n N) String() string {
	var parts []string
	if n.hasRange() {
		s := fmt.Sprintf("%d…%d", n.From, n.To)
		if n.step() > 1 {
			s += fmt.Sprintf(" in steps of %d", n.step())
		}
		parts = append(parts, s)
	}
	switch k := len(n.Values); {
	case k > 4:
		parts = append(parts, fmt.Sprintf("%d values", k))
	case k > 0:
		parts = append(parts, strings.Trim(strings.ReplaceAll(fmt.Sprint(n.Values), " ", ", "), "[]"))
	}
	if d := n.Decades; d != nil {
		s := fmt.Sprintf("decades %d…%d", d.From, d.To)
		if d.perDecade() > 1 {
			s += fmt.Sprintf(" of %d points", d.perDecade())
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// points returns the points in rising order, with repetitions where low decades
// have fewer integers than points.
//
// For k = q·p + r with p = PerDecade and 0 ≤ r < p, the point is
// ⌊10^q·10^(r/p)⌋. With A_r = ⌊10^18·10^(r/p)⌋ it equals ⌊A_r / 10^(18−q)⌋,
// because ⌊⌊y⌋/m⌋ = ⌊y/m⌋ for every whole m. So one exact root for each r
// serves all decades.
func (d Decades) points() []int64 {
	p := d.perDecade()
	roots := make([]*big.Int, p)
	for r := range p {
		roots[r] = decadeRoot(r, p)
	}
	out := make([]int64, 0, (d.To-d.From)*p+1)
	var x big.Int
	for k := d.From * p; k <= d.To*p; k++ {
		q, r := k/p, k%p
		shift := new(big.Int).Exp(big.NewInt(10), big.NewInt(18-q), nil)
		out = append(out, x.Div(roots[r], shift).Int64()) // at most 10^18
	}
	return out
}

// decadeRoot returns ⌊10^(18+r/p)⌋ for 0 ≤ r < p: the largest x with
// x^p ≤ 10^(18p+r). The floating-point estimate only says where to look; the
// bracket is widened until it provably holds the root and then halved.
func decadeRoot(r, p int64) *big.Int {
	if r == 0 {
		return big.NewInt(MaxN)
	}
	target := new(big.Int).Exp(big.NewInt(10), big.NewInt(18*p+r), nil)
	exp := big.NewInt(p)
	var pow big.Int
	fits := func(x *big.Int) bool { return pow.Exp(x, exp, nil).Cmp(target) <= 0 }

	// The root is below 10^19 < 2^64, hence the big integers.
	guess, _ := big.NewFloat(math.Pow(10, 18+float64(r)/float64(p))).Int(nil)
	width := big.NewInt(4096)
	low, high := new(big.Int).Sub(guess, width), new(big.Int).Add(guess, width)
	for !fits(low) {
		low.Sub(low, width.Lsh(width, 1))
	}
	for fits(high) {
		high.Add(high, width.Lsh(width, 1))
	}
	one := big.NewInt(1)
	for new(big.Int).Sub(high, low).Cmp(one) > 0 {
		mid := new(big.Int).Add(low, high)
		mid.Rsh(mid, 1)
		if fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
