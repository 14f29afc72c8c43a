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
// group. It takes 260 KB a group, of which the first 2n bytes and a few are in
// use.
type narrow struct {
	groups []narrowGroup
}

func (*narrow) begin(int) {}

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
	this, before := &l.groups[s], &l.groups[s-1]
	// A class c < half leaves row m−1 at slack n − p + P_{c+1} ≥ n − p + j, for
	// P_1 = s ≥ j, so σ_j only slides, to P_{c+1} + slide. That grows with c: it
	// resets in row m−1 of group s−1 while it is below q, which is while
	// P_{c+1} ≤ v = q − 1 − slide, and so while c < class of v.
	slide, top := n-p-(s-m+1), uint16(n-q)
	until := max(min(half, hi), lo)
	split := until
	if v := q - 1 - slide; v < this.known {
		split = max(min(int(this.class[narrowBelow+v]), until), lo)
	}
	ends, class := (*narrowTable)(before.start[1:]), before.shifted(0)
	narrowSlide(list[lo:split], this.start[lo+1:], uint16(slide), top, class, ends)
	narrowAdd(list[split:until], this.start[split+1:], uint16(slide-q))
	// Class half + i resets before step i of row m−1 of group s−1.
	if until < hi {
		narrowAdd(list[until:hi], before.start[until-half:], top)
	}
}

func (l *narrow) rows(g, before *group[uint16], s, m, to, n int, p *poller) error {
	// All these lists are in the cache anyway: they lie side by side in the
	// group's memory, not on the shelf, in room for an even number of values. A
	// value goes through up to three rows at once, where those of the group before
	// have a value for each class: that saves loads and, of short lists, ends.
	last := &g.rows[m]
	count, ids, ids2 := last.n, last.ids, last.ids2
	even := (count + 1) &^ 1
	xs := g.list(last)[:even]
	at := g.alloc((to - m) * even)
	t := &l.groups[s-1]
	for k := m + 1; k <= to; {
		out := g.mem[at:]
		g.rows[k].set(at, count, ids, ids2)
		at += even
		if k <= before.first {
			l.closed(out, xs[:count], s-1, k-1, n)
			xs = out[:even]
			k++
			continue
		}
		b, j := &before.rows[k-1], s-k+1
		list := (*narrowTable)(before.mem[b.at:])
		switch {
		case k+2 <= to && before.rows[k+1].ids == none:
			g.rows[k+1].set(at, count, ids, ids2)
			g.rows[k+2].set(at+even, count, ids, ids2)
			at += 2 * even
			narrowApplyThrice(out[:3*even], xs, (*[narrowWords + 2]uint16)(t.class[narrowBelow-j:]),
				list, (*narrowTable)(before.mem[before.rows[k].at:]), (*narrowTable)(before.mem[before.rows[k+1].at:]))
			xs = out[2*even:][:even]
			k += 3
		case k+1 <= to && before.rows[k].ids == none:
			g.rows[k+1].set(at, count, ids, ids2)
			at += even
			narrowApplyTwice(out[:2*even], xs, (*[narrowWords + 1]uint16)(t.class[narrowBelow-j:]),
				list, (*narrowTable)(before.mem[before.rows[k].at:]))
			xs = out[even:][:even]
			k += 2
		default:
			out = out[:even]
			class := t.shifted(j)
			switch {
			case b.ids == none:
				narrowApply(out, xs, class, list)
			case b.ids2 == none:
				narrowApply1(out, xs, class, (*narrowTable)(before.mem[b.ids:]), list)
			default:
				narrowApply2(out, xs, class, (*narrowTable)(before.mem[b.ids:]), (*narrowTable)(before.mem[b.ids2:]), list)
			}
			xs = out
			k++
		}
	}
	return p.spend(2 * count * (to - m))
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

// The loops below are where the time goes: 0.4 ns for each value. They are not
// inlined, so that all of each fits into registers, and take several values a
// turn, so that where the linker puts them matters less. Naming the tables first
// moves nil checks out of the loops.
//
// Nor do they have code for a last turn that is not full, because a branch to it
// is hard to predict. Lists are written in the order of their places in memory,
// and what a last turn writes behind its list, at most 3 values within the pad, is
// written over later or belongs to none. What it reads behind a list may be
// anything: all uint16 are indices of the tables.

// narrowAdd sets out to the values of xs plus d.
//
//go:noinline
func narrowAdd(out, xs []uint16, d uint16) {
	out = out[:(len(out)+3)&^3]
	xs = xs[:len(out)]
	for i := 3; i < len(out); i += 4 {
		a, b, c, e := xs[i-3], xs[i-2], xs[i-1], xs[i]
		out[i-3] = a + d
		out[i-2] = b + d
		out[i-1] = c + d
		out[i] = e + d
	}
}

// narrowSlide sets out to top plus the ends of the classes of slide plus xs.
//
//go:noinline
func narrowSlide(out, xs []uint16, slide, top uint16, class, ends *narrowTable) {
	_, _ = *class, *ends
	out = out[:(len(out)+1)&^1]
	xs = xs[:len(out)]
	for i := 1; i < len(out); i += 2 {
		a, b := xs[i-1]+slide, xs[i]+slide
		out[i-1] = top + ends[class[a]]
		out[i] = top + ends[class[b]]
	}
}

//go:noinline
func narrowApply(out, xs []uint16, class, list *narrowTable) {
	_, _ = *class, *list
	xs = xs[:(len(xs)+3)&^3]
	out = out[:len(xs)]
	for i := 3; i < len(xs); i += 4 {
		a, b, c, d := xs[i-3], xs[i-2], xs[i-1], xs[i]
		out[i-3] = list[class[a]]
		out[i-2] = list[class[b]]
		out[i-1] = list[class[c]]
		out[i] = list[class[d]]
	}
}

// narrowApplyTwice makes two rows of len(xs) values, an even number, one behind the
// other. For the second, σ_j shifts by one less, so that its class is the next entry.
//
//go:noinline
func narrowApplyTwice(out, xs []uint16, class *[narrowWords + 1]uint16, list, list2 *narrowTable) {
	_, _, _ = *class, *list, *list2
	out2 := out[len(xs):][:len(xs)]
	out = out[:len(xs)]
	for i := 1; i < len(xs); i += 2 {
		a, b := list[class[xs[i-1]]], list[class[xs[i]]]
		out[i-1] = a
		out[i] = b
		out2[i-1] = list2[class[int(a)+1]]
		out2[i] = list2[class[int(b)+1]]
	}
}

// narrowApplyThrice is narrowApplyTwice for three rows.
//
//go:noinline
func narrowApplyThrice(out, xs []uint16, class *[narrowWords + 2]uint16, list, list2, list3 *narrowTable) {
	_, _, _, _ = *class, *list, *list2, *list3
	out2, out3 := out[len(xs):][:len(xs)], out[2*len(xs):][:len(xs)]
	out = out[:len(xs)]
	for i := 1; i < len(xs); i += 2 {
		a, b := list[class[xs[i-1]]], list[class[xs[i]]]
		out[i-1] = a
		out[i] = b
		a, b = list2[class[int(a)+1]], list2[class[int(b)+1]]
		out2[i-1] = a
		out2[i] = b
		out3[i-1] = list3[class[int(a)+2]]
		out3[i] = list3[class[int(b)+2]]
	}
}

//go:noinline
func narrowApply1(out, xs []uint16, class, ids, list *narrowTable) {
	_, _, _ = *class, *ids, *list
	out = out[:len(xs)]
	for i := 1; i < len(xs); i += 2 {
		a, b := xs[i-1], xs[i]
		out[i-1] = list[ids[class[a]]]
		out[i] = list[ids[class[b]]]
	}
}

//go:noinline
func narrowApply2(out, xs []uint16, class, ids, ids2, list *narrowTable) {
	_, _, _, _ = *class, *ids, *ids2, *list
	out = out[:len(xs)]
	for i := 1; i < len(xs); i += 2 {
		a, b := xs[i-1], xs[i]
		out[i-1] = list[ids2[ids[class[a]]]]
		out[i] = list[ids2[ids[class[b]]]]
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
