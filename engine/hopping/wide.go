package hopping

import (
	"math/bits"
	"sort"
)

const (
	// wideBelow is the usual number of slacks below 0 that the tables know, a
	// power of two.
	wideBelow = 64
	// wideMax is the largest n that the arithmetic allows. What is computed
	// modulo 2^32, slacks with their bias, ends of classes and the sums in the
	// cells, is below 1.02·n + 2^12 in truth as long as s and below are at most
	// 2^10, so for such n it is below 2^32. Where there is memory for that, int
	// has 64 bits.
	wideMax = 1 << 31
	// wideKeep is the largest n for which the cells of all groups are kept for
	// the next n.
	wideKeep = 12_000_000
	// strip is how many classes are prepared between two looks at the context.
	strip = 1 << 12
)

const _ = uint64(wideMax - classesReach) // does not compile if it is negative

// wideGroup is the classes of group s, known for the slacks below known.
//
// The slacks from −below on are cut into cells of 2^shift, at most the smallest
// weight, so that at most one class starts inside a cell. Let c be the class of
// the first slack of a cell and o ≤ 2^shift the distance from there to the start
// of the next class, or 2^shift if that is further. Slack number e of the cell
// is in class
//
//	(c·2^shift + (2^shift − o) + e) >> shift,
//
// for e + 2^shift − o carries into bit shift exactly if e ≥ o. The biased slack
// z = d + below is 2^shift·k + e in cell k, and entry k holds the bracket less
// 2^shift·k + e modulo 2^32. So the class of z is (cell[z>>shift] + z) >> shift.
// The bracket is below (c+2)·2^shift, and c classes of at least 2^shift slacks
// each lie before the one that the cell begins in, so it is below n + 2·2^shift
// plus what is found in advance: 32 bits hold it.
//
// The cells of the slacks below 0 give the class of n.
type wideGroup struct {
	s     int
	shift uint
	cell  []uint32
	known int
}

// wide is the lookup for large n.
//
// Slacks are stored with a bias: row m of group s stores d as
// z = d + below − (s−m). Row m+1 of the group looks it up after σ_j with
// j = s−m, and z is the biased slack of d − j, or lies in the cells that give the
// class of n if d < j. Since row m of group s and row m+1 of group s+1 have the
// same bias, what is found can be stored as it is.
type wide struct {
	below int
	// keep has the groups by s as long as n ≤ keepTo. For larger n, and for the
	// first one, which may be the only one, pair has group s at s mod 2.
	keepTo int
	keep   []wideGroup
	pair   [2]wideGroup
	paired bool
	used   bool
	// weights[i] is w(0) + … + w(i−1) modulo 2^32, so that P_i is
	// s·i − weights[i].
	weights []uint32
}

func newWide(below int) *wide {
	return &wide{below: below, keepTo: wideKeep, weights: []uint32{0}}
}

func (l *wide) begin(n int) {
	if l.paired = n > l.keepTo || !l.used; l.paired {
		l.keep = nil
	} else {
		l.pair = [2]wideGroup{}
	}
	l.used = true
}

func (l *wide) fits(s, first int) bool { return s-first <= l.below }

func (l *wide) group(s int) *wideGroup {
	if l.paired {
		return &l.pair[s&1]
	}
	for len(l.keep) <= s {
		l.keep = append(l.keep, wideGroup{})
	}
	return &l.keep[s]
}

func (l *wide) prepare(s, n int, p *poller) (int, error) {
	g := l.group(s)
	need, until := classLimits(s, n, n/64)
	if g.s != s || g.known < need {
		if err := l.build(g, s, until, p); err != nil {
			return 0, err
		}
	}
	if g.known <= n {
		return 0, nil
	}
	c := g.classOf(n + l.below)
	for k := range l.below >> g.shift {
		g.cell[k] = uint32(c-k) << g.shift
	}
	return c + 1, nil
}

// classOf returns the class of a biased slack.
func (g *wideGroup) classOf(z int) int {
	return int((g.cell[z>>g.shift] + uint32(z)) >> g.shift)
}

// build finds the classes of group s for the slacks below until.
func (l *wide) build(g *wideGroup, s, until int, p *poller) error {
	g.s, g.known = s, 0
	count, err := l.count(s, until, p)
	if err != nil {
		return err
	}
	// The smallest weight of the classes is s − w(2^a − 1) with the largest
	// 2^a ≤ count.
	least := s - (bits.Len(uint(count)) - 1)
	g.shift = uint(bits.Len(uint(min(least, l.below))) - 1)
	h, mask := g.shift, 1<<g.shift-1
	// A class has at most s slacks, so at most span = s>>h + 1 cells begin in
	// it. Writing that many each time, to be overwritten by the classes that
	// follow, avoids a branch that cannot be predicted.
	span := s>>h + 1
	g.cell = grow(g.cell, (l.below+until+s)>>h+span+1)
	z := l.below
	for i := 0; i < count; {
		if err := p.spend(span * strip); err != nil {
			return err
		}
		for end := min(i+strip, count); i < end; i++ {
			k := (z + mask) >> h
			x := uint32(i-k) << h
			cells := g.cell[k : k+span]
			for e := range cells {
				cells[e] = x
				x -= 1 << h
			}
			z += s - bits.OnesCount(uint(i))
			g.cell[z>>h] += uint32(-z & mask)
		}
	}
	g.known = z - l.below
	return nil
}

// count returns how many classes of group s have a slack below until, and finds
// the weights for them.
func (l *wide) count(s, until int, p *poller) (int, error) {
	for !l.enough(s, until) {
		if err := p.spend(2 * strip); err != nil {
			return 0, err
		}
		l.weigh(strip)
	}
	return l.search(s, until), nil
}

// weigh finds k more weights.
func (l *wide) weigh(k int) {
	for range k {
		i := len(l.weights) - 1
		l.weights = append(l.weights, l.weights[i]+uint32(bits.OnesCount(uint(i))))
	}
}

// most returns the largest i for which weights gives a P_i of group s. P_i rises
// strictly up to i = 2^s − 1 only, where it is s·2^(s−1).
func (l *wide) most(s int) int {
	if s < 31 {
		return min(len(l.weights)-1, 1<<s-1)
	}
	return len(l.weights) - 1
}

// enough reports whether the weights reach to a P_i ≥ until ≤ s·2^(s−1).
func (l *wide) enough(s, until int) bool { return l.start(s, l.most(s)) >= until }

// search returns the first i with P_i ≥ until, where the weights are enough.
func (l *wide) search(s, until int) int {
	return sort.Search(l.most(s), func(i int) bool { return l.start(s, i) >= until })
}

// start returns P_i of group s, for i < len(weights).
func (l *wide) start(s, i int) int { return s*i - int(l.weights[i]) }

// endOf returns P_{i+1} of group s.
func (l *wide) endOf(s, i uint32) uint32 { return s*(i+1) - l.weights[i+1] }

func (l *wide) bias(s, m int) uint32 { return uint32(l.below - (s - m)) }

func (l *wide) firstRow(list []uint32, lo, hi, s, m, n int) {
	half := 1<<(m-1) - 1
	p, q := rowSum(s, m-1), rowSum(s-1, m-1)
	// See narrow.firstRow. With the bias, class c has x = P_{c+1} + slide after
	// σ_j, and resets while that is below q + below.
	slide := n - p - (s - m + 1) + l.below
	top := uint32(n-q) + l.bias(s, m)
	until := max(min(half, hi), lo)
	split := until
	if v := q + l.below - slide; v <= l.start(s, until) {
		split = max(l.search(s, v)-1, lo)
	}
	g := l.group(s - 1)
	wideFirst(list[lo:split], l.weights[lo+1:], uint32(s), uint32(s*(lo+1)+slide), g.cell, g.shift,
		l.weights[1:], uint32(s-1), top+uint32(s-1))
	wideLine(list[split:until], l.weights[split+1:], uint32(s), uint32(s*(split+1)+slide-q-l.below)+l.bias(s, m))
	if until < hi {
		i := until - half
		wideLine(list[until:hi], l.weights[i:], uint32(s-1), top+uint32((s-1)*i))
	}
}

func (l *wide) rows(g, before *group[uint32], s, m, to, n int, p *poller) error {
	xs := g.list(&g.rows[m])
	for k := m + 1; k <= to; k++ {
		out := g.extend(k)
		for lo := 0; lo < len(xs); lo += tile {
			hi := min(lo+tile, len(xs))
			if k <= before.first {
				l.closed(out[lo:hi], xs[lo:hi], s-1, k-1, n)
			} else {
				l.apply(out[lo:hi], xs[lo:hi], s-1, k-1, before)
			}
			if err := p.spend(2 * (hi - lo)); err != nil {
				return err
			}
		}
		if k > before.first {
			before.drop(k - 1)
		}
		xs = out
	}
	return nil
}

// apply writes row m of group s, a full row of g, at the biased slacks in xs.
func (l *wide) apply(out, xs []uint32, s, m int, g *group[uint32]) {
	t, r := l.group(s), &g.rows[m]
	list := g.list(r)
	switch {
	case r.ids == none:
		wideApply(out, xs, t.cell, t.shift, list)
	case r.ids2 == none:
		wideApply1(out, xs, t.cell, t.shift, g.mem[r.ids:g.used], list)
	default:
		wideApply2(out, xs, t.cell, t.shift, g.mem[r.ids:g.used], g.mem[r.ids2:g.used], list)
	}
}

// closed writes row m of group s, a closed form, at the biased slacks in xs.
func (l *wide) closed(out, xs []uint32, s, m, n int) {
	g := l.group(s)
	us, q := uint32(s), rowSum(s, m)
	below, edge := uint32(l.below), uint32(q+l.below)
	top, bias := uint32(n-q)+l.bias(s, m), l.bias(s, m)
	out = out[:len(xs)]
	for i, x := range xs {
		if x < below { // σ_j resets
			x = uint32(n) + below
		}
		if x >= edge {
			out[i] = x - edge + bias
		} else {
			out[i] = top + l.endOf(us, (g.cell[x>>g.shift]+x)>>g.shift)
		}
	}
}

func (l *wide) slack(x uint32, s, m int) int { return int(x) - l.below + s - m }

func (l *wide) word(d, s, m int) uint32 { return uint32(d + l.below - s + m) }

func (l *wide) class(s, d int) int {
	if !l.paired && s < len(l.keep) && l.keep[s].known > d {
		return l.keep[s].classOf(d + l.below)
	}
	for !l.enough(s, d+1) { // a group before the first prepared one
		l.weigh(strip)
	}
	return l.search(s, d+1) - 1
}

func (l *wide) end(s, i int) int { return l.start(s, i+1) }
