package hopping

import "math/bits"

const (
	// narrowWords is the size of every table that a uint16 is an index of, so
	// that no index needs a check.
	narrowWords = 1 << 16
	// narrowBelow is the number of table entries for slacks below 0. Row m of
	// group s is handled for s − m up to that.
	narrowBelow = 64
	// narrowMax is the largest n for 16 bits. A slack is at most n, and the end
	// P_{i+1} of a class of such a slack is at most n + s ≤ n + 127 < 2^16: s is
	// at most narrowBelow + first, and the first full row is at most
	// leastGroup(narrowMax) = 14.
	narrowMax = narrowWords - 1 - 127
)

type narrowTable = [narrowWords]uint16

// narrowGroup is the classes of one group, known for the slacks below known.
type narrowGroup struct {
	// start[i] is P_i for the classes found so far and the end of the last one.
	start []uint16
	count int
	// class[narrowBelow+d] is the class of slack d. The entries before are the
	// class of n, so that σ_j needs no comparison: looked up at x − j, they give
	// the class of σ_j(x) for all x.
	class []uint16
	known int
}

// narrow is the lookup for n ≤ narrowMax: a table of classes by slack for every
// group. It takes 130 KB a group, of which 2n + 128 bytes are in use.
type narrow struct {
	groups []narrowGroup
}

func (*narrow) fits(s, first int) bool { return s-first <= narrowBelow }

func (l *narrow) group(s int) *narrowGroup {
	for len(l.groups) <= s {
		l.groups = append(l.groups, narrowGroup{})
	}
	return &l.groups[s]
}

func (l *narrow) prepare(s, n int, _ *poller) (int, error) {
	g := l.group(s)
	if need, until := classLimits(s, n, min(n/8+64, narrowMax-n)); g.known < need {
		g.extend(s, until)
	}
	if g.known <= n {
		return 0, nil
	}
	// n changes more often than its class.
	c := g.class[narrowBelow+n]
	if below := g.class[:narrowBelow]; below[0] != c {
		for i := range below {
			below[i] = c
		}
	}
	return int(c) + 1, nil
}

func (g *narrowGroup) extend(s, until int) {
	if g.class == nil {
		g.class = make([]uint16, narrowBelow+narrowWords)
		g.start = make([]uint16, narrowWords+1)
	}
	for ; g.known < until; g.count++ {
		end := g.known + s - bits.OnesCount(uint(g.count))
		for d := g.known; d < end; d++ {
			g.class[narrowBelow+d] = uint16(g.count)
		}
		g.known = end
		g.start[g.count+1] = uint16(end)
	}
}

// shifted returns the table that gives the class of d − j at d.
func (g *narrowGroup) shifted(j int) *narrowTable {
	return (*narrowTable)(g.class[narrowBelow-j:])
}

func (l *narrow) firstRow(list []uint16, lo, hi, s, m, n int) {
	half := 1<<(m-1) - 1
	p, q := rowSum(s, m-1), rowSum(s-1, m-1)
	ends := (*narrowTable)(l.groups[s].start[1:])
	before := &l.groups[s-1]
	next := (*narrowTable)(before.start[1:])
	class := before.shifted(0)
	// A class c < half leaves row m−1 at slack n − p + P_{c+1} ≥ n − p + j, for
	// P_1 = s ≥ j, so σ_j only slides; the slack grows with c.
	slide, top, edge := uint16(n-p-(s-m+1)), uint16(n-q), uint16(q)
	c, until := lo, min(half, hi)
	for ; c < until; c++ {
		x := ends[uint16(c)] + slide
		if x >= edge {
			break
		}
		list[c] = top + next[class[x]]
	}
	for ; c < until; c++ {
		list[c] = ends[uint16(c)] + slide - edge
	}
	// Class half + i resets before step i of row m−1 of group s−1.
	if c < hi {
		tail := list[c:hi]
		for i, x := range before.start[c-half:][:len(tail)] {
			tail[i] = top + x
		}
	}
}

func (l *narrow) rows(g, before *group[uint16], s, m, to, n int, p *poller) error {
	// All these lists are in the cache anyway: they lie side by side in the
	// group's memory, not on the shelf.
	r := g.rows[m]
	xs := g.list(&r)
	at := g.alloc((to - m) * r.n)
	t := &l.groups[s-1]
	for k := m + 1; k <= to; k++ {
		r.at = at
		g.rows[k] = r
		out := g.mem[at:][:r.n]
		if k <= before.first {
			l.closed(out, xs, s-1, k-1, n)
		} else {
			class := t.shifted(s - k + 1)
			b := &before.rows[k-1]
			list := (*narrowTable)(before.mem[b.at:])
			switch {
			case b.ids == none:
				narrowApply(out, xs, class, list)
			case b.ids2 == none:
				narrowApply1(out, xs, class, (*narrowTable)(before.mem[b.ids:]), list)
			default:
				narrowApply2(out, xs, class, (*narrowTable)(before.mem[b.ids:]), (*narrowTable)(before.mem[b.ids2:]), list)
			}
		}
		xs = out
		at += r.n
	}
	return p.spend(2 * len(xs) * (to - m))
}

// closed writes row m of group s, a closed form, at σ_j of the values in xs.
func (l *narrow) closed(out, xs []uint16, s, m, n int) {
	j, q := s+1-m, rowSum(s, m)
	ends := (*narrowTable)(l.groups[s].start[1:])
	class := l.groups[s].shifted(0)
	out = out[:len(xs)]
	for i, x := range xs {
		d := int(x) - j
		if d < 0 {
			d = n
		}
		if d >= q {
			out[i] = uint16(d - q)
		} else {
			out[i] = uint16(n-q) + ends[class[uint16(d)]]
		}
	}
}

// The loops below are where the time goes: half a nanosecond for each value.

func narrowApply(out, xs []uint16, class, list *narrowTable) {
	out = out[:len(xs)]
	for i, x := range xs {
		out[i] = list[class[x]]
	}
}

func narrowApply1(out, xs []uint16, class, ids, list *narrowTable) {
	out = out[:len(xs)]
	for i, x := range xs {
		out[i] = list[ids[class[x]]]
	}
}

func narrowApply2(out, xs []uint16, class, ids, ids2, list *narrowTable) {
	out = out[:len(xs)]
	for i, x := range xs {
		out[i] = list[ids2[ids[class[x]]]]
	}
}

func (*narrow) slack(x uint16, _, _ int) int { return int(x) }

func (*narrow) word(d, _, _ int) uint16 { return uint16(d) }

func (l *narrow) class(s, d int) int {
	if g := l.group(s); g.known <= d { // a group before the first prepared one
		_, until := classLimits(s, d, 64)
		g.extend(s, until)
	}
	return int(l.groups[s].class[narrowBelow+d])
}

func (l *narrow) end(s, i int) int { return int(l.groups[s].start[i+1]) }
