package web

import (
	"sort"

	"github.com/nsweep/nsweep/jobs"
)

// layout numbers the cells of a sweep in the order of n: the points below the
// dense part, its cells, the points above. A place is such a number, from 0.
type layout struct {
	s            jobs.Sweep
	below, above []int64
	first, last  int64 // grid indices of the dense part
}

func newLayout(s jobs.Sweep) layout {
	l := layout{s: s}
	l.below, l.above = s.Set.Split()
	l.first, l.last = s.Cells()
	return l
}

// count returns the number of places. It fits: a dense part has at most
// engine.MaxN cells, and points are held in memory.
func (l layout) count() int64 {
	return int64(len(l.below)) + l.last - l.first + int64(len(l.above))
}

// dense returns the places of the dense part.
func (l layout) dense() (from, to int64) {
	from = int64(len(l.below))
	return from, from + l.last - l.first
}

// ns returns the n of a place as [lo, hi).
func (l layout) ns(place int64) (lo, hi int64) {
	from, to := l.dense()
	switch {
	case place < from:
		n := l.below[place]
		return n, n + 1
	case place < to:
		c, _ := l.s.Cell(l.first + place - from)
		return c.Lo, c.Hi
	}
	n := l.above[place-to]
	return n, n + 1
}

// at returns the first place that holds n or lies above it, which is count when
// all lie below.
func (l layout) at(n int64) int64 {
	from, to := l.dense()
	if from < to && n >= l.s.Set.Lo && n < l.s.Set.Hi {
		return from + l.s.Grid.CellAt(n).Index - l.first
	}
	if from == to || n < l.s.Set.Lo {
		return int64(search(l.below, n))
	}
	return to + int64(search(l.above, n))
}

func search(ns []int64, n int64) int {
	return sort.Search(len(ns), func(i int) bool { return ns[i] >= n })
}

// holds reports whether n is in the sweep, and its place.
func (l layout) holds(n int64) (int64, bool) {
	if !l.s.Set.Contains(n) {
		return 0, false
	}
	return l.at(n), true
}

// stretches calls f with the maximal stretches [a, b) of places in [lo, hi)
// that are finished, or of those that are open. It costs one step for each
// stretch of cells and one for each point.
func (l layout) stretches(led *jobs.Ledger, lo, hi int64, finished bool, f func(a, b int64)) {
	from, to := l.dense()
	points := func(ns []int64, base int64) {
		for i := max(lo-base, 0); i < min(hi-base, int64(len(ns))); i++ {
			if led.PointDone(ns[i]) == finished {
				f(base+i, base+i+1)
			}
		}
	}
	points(l.below, 0)
	next, end := led.NextDone, led.NextOpen
	if !finished {
		next, end = end, next
	}
	shift := l.first - from // grid index = place + shift
	stop := min(hi, to) + shift
	for i := next(max(lo, from) + shift); i < stop; {
		j := min(end(i), stop)
		f(i-shift, j-shift)
		i = next(j)
	}
	points(l.above, to)
}

// span is a stretch of places [from, to).
type span struct{ from, to int64 }

// spans returns the places of a stretch of n or of points, those of them that
// the sweep holds.
func (l layout) spans(lo, hi int64, points []int64) []span {
	if len(points) == 0 {
		if a, b := l.at(lo), l.at(hi); a < b {
			return []span{{a, b}}
		} else if p, ok := l.holds(lo); ok && lo < hi {
			return []span{{p, p + 1}} // a part of one cell
		}
		return nil
	}
	var out []span
	for _, n := range points {
		p, ok := l.holds(n)
		if !ok {
			continue
		}
		if k := len(out); k > 0 && out[k-1].to == p {
			out[k-1].to++
		} else {
			out = append(out, span{p, p + 1})
		}
	}
	return out
}
