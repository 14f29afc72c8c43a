package scheduler

import (
	"slices"
	"sort"
)

// spans is a set of integers kept as sorted disjoint half-open intervals.
type spans [][2]int64

func (s *spans) add(lo, hi int64) {
	if hi <= lo {
		return
	}
	i := sort.Search(len(*s), func(k int) bool { return (*s)[k][1] >= lo })
	j := i
	for ; j < len(*s) && (*s)[j][0] <= hi; j++ {
		lo, hi = min(lo, (*s)[j][0]), max(hi, (*s)[j][1])
	}
	*s = slices.Replace(*s, i, j, [2]int64{lo, hi})
}

func (s *spans) remove(lo, hi int64) {
	if hi <= lo {
		return
	}
	var out spans
	for _, v := range *s {
		if v[0] < min(v[1], lo) {
			out = append(out, [2]int64{v[0], min(v[1], lo)})
		}
		if max(v[0], hi) < v[1] {
			out = append(out, [2]int64{max(v[0], hi), v[1]})
		}
	}
	*s = out
}

// end returns the end of the interval that holds i, or i when none does.
func (s spans) end(i int64) int64 {
	k := sort.Search(len(s), func(k int) bool { return s[k][1] > i })
	if k < len(s) && s[k][0] <= i {
		return s[k][1]
	}
	return i
}

// start returns the begin of the first interval after i, or a huge number.
func (s spans) start(i int64) int64 {
	k := sort.Search(len(s), func(k int) bool { return s[k][0] > i })
	if k < len(s) {
		return s[k][0]
	}
	return 1 << 62
}
