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
	// at most narrowBelow + first, where first ≤ 17 is the first full row.
	narrowMax = narrowWords - 1 - 127
)

type narrowTable = [narrowWords]uint16

// narrowGroup is the classes of one group, known for the slacks below known.
type narrowGroup struct {
	// start[i] is P_i, one more of them than there are classes.
	start []uint16
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

func (l *narrow) prepare(s, n int) int {
	for len(l.groups) <= s {
		l.groups = append(l.groups, narrowGroup{})
	}
	g := &l.groups[s]
	if need, until := classLimits(s, n, min(n/8+64, narrowMax-n)); g.known < need {
		g.extend(s, until)
	}
	if g.known <= n {
		return 0
	}
	// n changes more often than its class.
	c := g.class[narrowBelow+n]
	if below := g.class[:narrowBelow]; below[0] != c {
		for i := range below {
			below[i] = c
		}
	}
	return int(c) + 1
}

func (g *narrowGroup) extend(s, until int) {
	if g.class == nil {
		g.class = make([]uint16, narrowBelow+narrowWords)
		g.start = append(g.start, 0)
	}
	for g.known < until {
		i := len(g.start) - 1
		end := g.known + s - bits.OnesCount(uint(i))
		for d := g.known; d < end; d++ {
			g.class[narrowBelow+d] = uint16(i)
		}
		g.known = end
		g.start = append(g.start, uint16(end))
	}
}

// shifted returns the table that gives the class of d − j at d.
func (g *narrowGroup) shifted(j int) *narrowTable {
	return (*narrowTable)(g.class[narrowBelow-j:])
}

func (l *narrow) firstRow(out []uint16, s, m, n int) {
	half := 1<<(m-1) - 1
	p, q := rowSum(s, m-1), rowSum(s-1, m-1)
	j := s - m + 1
	start, next := l.groups[s].start, l.groups[s-1].start
	class := l.groups[s-1].shifted(0)
	// A class c < half leaves row m−1 at slack n − p + P_{c+1} ≥ n − p + j, for
	// P_1 = s, so σ_j only slides; the slack grows with c.
	slide, top := n-p-j, uint16(n-q)
	c, end := 0, min(half, len(out))
	for ; c < end; c++ {
		x := int(start[c+1]) + slide
		if x >= q {
			break
		}
		out[c] = top + next[int(class[x])+1]
	}
	for ; c < end; c++ {
		out[c] = uint16(int(start[c+1]) + slide - q)
	}
	// Class half + i resets before step i of row m−1 of group s−1.
	if half < len(out) {
		tail := out[half:]
		for i, x := range next[:len(tail)] {
			tail[i] = top + x
		}
	}
}

func (l *narrow) block(g, before *group[uint16], s, m, to, lo, hi, n int) {
	xs := g.mem[g.rows[m].at:][lo:hi]
	at := g.rows[m+1].at
	for k := m + 1; k <= to; k++ {
		out := g.mem[at:][lo:hi]
		j := s - k + 1
		if k <= before.first {
			l.closed(out, xs, s-1, k-1, j, n)
		} else {
			class := l.groups[s-1].shifted(j)
			r := &before.rows[k-1]
			list := (*narrowTable)(before.mem[r.at:])
			switch {
			case r.ids == none:
				narrowApply(out, xs, class, list)
			case r.ids2 == none:
				narrowApply1(out, xs, class, (*narrowTable)(before.mem[r.ids:]), list)
			default:
				narrowApply2(out, xs, class, (*narrowTable)(before.mem[r.ids:]), (*narrowTable)(before.mem[r.ids2:]), list)
			}
		}
		xs = out
		at += g.rows[k].n
	}
}

// closed writes row m of group s, a closed form, at σ_j of the values in xs.
func (l *narrow) closed(out, xs []uint16, s, m, j, n int) {
	q := rowSum(s, m)
	start := l.groups[s].start
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
			out[i] = uint16(n - q + int(start[int(class[d])+1]))
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
