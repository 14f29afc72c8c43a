package jobs

import (
	"fmt"
	"slices"
	"sort"

	"github.com/nsweep/nsweep/engine"
)

// Set is the n of a sweep: a dense range [Lo, Hi), empty when Lo = Hi = 0, and
// single points outside of it in rising order. The dense part is counted in
// cells of the engine's grid, each point is a cell of its own.
type Set struct {
	Lo     int64   `json:"lo"`
	Hi     int64   `json:"hi"`
	Points []int64 `json:"points,omitempty"`
}

// NewSet returns the union of the range [lo, hi) and the points, or an error
// when it is empty or leaves 1 … engine.MaxN.
func NewSet(lo, hi int64, points []int64) (Set, error) {
	s := Set{}
	if lo != hi {
		if lo < 1 || hi < lo || hi-1 > engine.MaxN {
			return Set{}, fmt.Errorf("range %d…%d is not within 1…%d", lo, hi-1, engine.MaxN)
		}
		s.Lo, s.Hi = lo, hi
	}
	points = slices.Clone(points)
	slices.Sort(points)
	points = slices.Compact(points)
	for _, n := range points {
		if n < 1 || n > engine.MaxN {
			return Set{}, fmt.Errorf("n = %d is not within 1…%d", n, engine.MaxN)
		}
		if n < s.Lo || n >= s.Hi {
			s.Points = append(s.Points, n)
		}
	}
	if s.Count() == 0 {
		return Set{}, fmt.Errorf("no n at all")
	}
	return s, nil
}

// Dense reports whether the set has a dense part.
func (s Set) Dense() bool { return s.Hi > s.Lo }

// Count returns the number of n in the set.
func (s Set) Count() int64 { return s.Hi - s.Lo + int64(len(s.Points)) }

// Contains reports whether n is in the set.
func (s Set) Contains(n int64) bool {
	if n >= s.Lo && n < s.Hi {
		return true
	}
	_, ok := slices.BinarySearch(s.Points, n)
	return ok
}

// First returns the smallest n of the set, Last the largest.
func (s Set) First() int64 {
	if !s.Dense() || (len(s.Points) > 0 && s.Points[0] < s.Lo) {
		return s.Points[0]
	}
	return s.Lo
}

// Last returns the largest n of the set.
func (s Set) Last() int64 {
	if k := len(s.Points); k > 0 && (!s.Dense() || s.Points[k-1] >= s.Hi) {
		return s.Points[k-1]
	}
	return s.Hi - 1
}

// Split returns the points below and above the dense part. Points, dense part
// and points in this order are the set in order of n.
func (s Set) Split() (below, above []int64) {
	k := sort.Search(len(s.Points), func(i int) bool { return s.Points[i] >= s.Lo })
	if !s.Dense() {
		k = len(s.Points)
	}
	return s.Points[:k], s.Points[k:]
}

// String writes the set for people: "1…1000", "4, 20, 40 and 7 more points".
func (s Set) String() string {
	out := ""
	if s.Dense() {
		out = fmt.Sprintf("%d…%d", s.Lo, s.Hi-1)
		if k := len(s.Points); k == 1 {
			out += " and 1 point"
		} else if k > 1 {
			out += fmt.Sprintf(" and %d points", k)
		}
		return out
	}
	if k := len(s.Points); k > 4 {
		return fmt.Sprintf("%d points %d…%d", k, s.Points[0], s.Points[k-1])
	}
	for i, n := range s.Points {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprint(n)
	}
	return out
}
