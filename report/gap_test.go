package report

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

// TestGap compares with what the definition says about the list of all n.
func TestGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := map[int64]bool{}
		var w Wanted
		if rapid.Bool().Draw(t, "dense") {
			w.Lo = rapid.Int64Range(1, 30).Draw(t, "lo")
			w.Hi = w.Lo + rapid.Int64Range(1, 10).Draw(t, "count")
		}
		for n := w.Lo; n < w.Hi; n++ {
			in[n] = true
		}
		points := rapid.SliceOfDistinct(rapid.Int64Range(1, 40), rapid.ID).Draw(t, "points")
		slices.Sort(points)
		for _, n := range points {
			if !in[n] {
				in[n] = true
				w.Points = append(w.Points, n)
			}
		}
		var all []int64
		for n := range in {
			all = append(all, n)
		}
		slices.Sort(all)
		var want GapError
		for i := 0; i < len(all); {
			j := i + 1
			for j < len(all) && all[j] == all[j-1]+1 {
				j++
			}
			if j < len(all) && want.Next == 0 {
				want.Last, want.Next = all[j-1], all[j]
			}
			if int64(j-i) > want.Hi-want.Lo {
				want.Lo, want.Hi = all[i], all[j-1]+1
			}
			i = j
		}
		got := w.Gap()
		if (got == nil) != (want.Next == 0) || (got != nil && *got != want) {
			t.Fatalf("%+v: gap %+v, want %+v", w, got, want)
		}
		first, last := w.Span()
		if len(all) > 0 && (first != all[0] || last != all[len(all)-1]) || len(all) == 0 && (first != 0 || last != 0) {
			t.Fatalf("%+v: from %d to %d, want those of %v", w, first, last, all)
		}
	})
}

// TestBFileOfPoints: n that are not consecutive make no b-file, and nothing is
// written of it; consecutive points do.
func TestBFileOfPoints(t *testing.T) {
	var b bytes.Buffer
	values := pieces(engine.Piece{Lo: 4, Narrow: []int64{5, 7}}, engine.Piece{Lo: 20, Narrow: []int64{89}})
	o := ExportOptions{Format: BFile, Want: Wanted{Points: []int64{4, 5, 20}}, Provenance: Provenance{Engine: "x"}}
	sum, err := Export(&b, values, o)
	var gap *GapError
	if !errors.As(err, &gap) || *gap != (GapError{Last: 5, Next: 20, Lo: 4, Hi: 6}) || b.Len() > 0 || sum != (Summary{}) {
		t.Errorf("%v, %+v, %q", err, sum, b.String())
	}
	o = ExportOptions{Format: BFile, Want: Wanted{Lo: 5, Hi: 6, Points: []int64{4}}}
	if sum, err := Export(&b, pieces(engine.Piece{Lo: 4, Narrow: []int64{5, 7}}), o); err != nil || b.String() != "4 5\n5 7\n" || sum.Count != 2 {
		t.Errorf("%v, %+v, %q", err, sum, b.String())
	}
}
