package report

import (
	"fmt"
	"iter"
	"strings"

	"github.com/nsweep/nsweep/engine"
)

// Values is a stream of values in rising order of n; pieces need not adjoin. A
// piece is valid until the next one is asked for. The stream ends after the
// first error.
type Values = iter.Seq2[engine.Piece, error]

// Summary is what went through an export.
type Summary struct {
	// Count is the number of values written, First and Last the n of the first
	// and the last, 0 when there was none.
	Count       int64
	First, Last int64
	// Missing is the number of n asked for that are not in the output, and Gap
	// the first of them; both are 0 when nothing is missing.
	Missing, Gap int64
}

// PartialError says that values asked for are not there.
type PartialError struct {
	// Missing is the number of n that are not there, Gap the first.
	Missing, Gap int64
	// Ends says that the file had to end before Gap, whatever is known beyond.
	Ends bool
}

func (e *PartialError) Error() string {
	if e.Ends {
		return fmt.Sprintf("the value at n = %d is missing, and a b-file holds consecutive n", e.Gap)
	}
	if e.Missing == 1 {
		return fmt.Sprintf("the value at n = %d is missing", e.Gap)
	}
	return fmt.Sprintf("%d values are missing, the first at n = %d", e.Missing, e.Gap)
}

// Wanted is the set of n that an export is expected to hold: all of [Lo, Hi)
// and single points outside of it, rising. It tells a value that is missing
// from one that nobody asked for.
type Wanted struct {
	Lo, Hi int64
	Points []int64
}

// count returns the number of n wanted.
func (w Wanted) count() int64 { return max(0, w.Hi-w.Lo) + int64(len(w.Points)) }

// Span returns the first and the last n wanted, 0 and 0 if there is none.
func (w Wanted) Span() (first, last int64) {
	if w.Hi > w.Lo {
		first, last = w.Lo, w.Hi-1
	}
	if k := len(w.Points); k > 0 {
		if first == 0 || w.Points[0] < first {
			first = w.Points[0]
		}
		last = max(last, w.Points[k-1])
	}
	return first, last
}

// GapError says that the n asked for are not consecutive, as those of a b-file
// are.
type GapError struct {
	// Last and Next are neighbours among the n asked for, the first ones that are
	// further than 1 apart.
	Last, Next int64
	// Lo and Hi are the longest stretch without a gap, Lo ≤ n < Hi.
	Lo, Hi int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("a b-file holds consecutive n, and none are asked for between n = %d and n = %d", e.Last, e.Next)
}

// Gap returns nil if the n wanted are consecutive.
func (w Wanted) Gap() *GapError {
	var e GapError
	var lo, hi int64 // the stretch at hand
	add := func(from, to int64) {
		if to <= from {
			return
		}
		if hi != 0 && from != hi && e.Next == 0 {
			e.Last, e.Next = hi-1, from
		}
		if hi == 0 || from != hi {
			lo = from
		}
		if hi = to; hi-lo > e.Hi-e.Lo {
			e.Lo, e.Hi = lo, hi
		}
	}
	dense := w.Hi > w.Lo
	for _, n := range w.Points {
		if dense && n >= w.Hi {
			add(w.Lo, w.Hi)
			dense = false
		}
		add(n, n+1)
	}
	if dense {
		add(w.Lo, w.Hi)
	}
	if e.Next == 0 {
		return nil
	}
	return &e
}

// tracker follows a stream of n and finds the first that is wanted and missing.
type tracker struct {
	want  Wanted
	sum   Summary
	got   int64 // wanted n seen
	dense int64 // the next n of [Lo, Hi)
	point int   // the next of Points
}

func newTracker(w Wanted) *tracker { return &tracker{want: w, dense: w.Lo} }

// pass notes the n in [lo, hi). It fails when they do not come after those
// before.
func (t *tracker) pass(lo, hi int64) error {
	if lo < 1 || (t.sum.Count > 0 && lo <= t.sum.Last) {
		return fmt.Errorf("values at n = %d come after those at n = %d", lo, t.sum.Last)
	}
	if t.sum.Count == 0 {
		t.sum.First = lo
	}
	t.skip(lo)
	t.sum.Count += hi - lo
	t.sum.Last = hi - 1
	if t.dense < t.want.Hi && lo <= t.dense && hi > t.dense {
		end := min(hi, t.want.Hi)
		t.got += end - t.dense
		t.dense = end
	}
	for t.point < len(t.want.Points) && t.want.Points[t.point] < hi {
		t.got++
		t.point++
	}
	return nil
}

// skip notes that no wanted n below lo will come any more.
func (t *tracker) skip(lo int64) {
	miss := func(n int64) {
		if t.sum.Gap == 0 || n < t.sum.Gap {
			t.sum.Gap = n
		}
	}
	for t.point < len(t.want.Points) && t.want.Points[t.point] < lo {
		miss(t.want.Points[t.point])
		t.point++
	}
	if t.dense < t.want.Hi && t.dense < lo {
		miss(t.dense)
		t.dense = min(lo, t.want.Hi)
	}
}

// end returns the summary, and a *PartialError when values are missing unless
// partial is allowed.
func (t *tracker) end(partial bool) (Summary, error) {
	t.skip(engine.MaxN + 2)
	t.sum.Missing = t.want.count() - t.got
	if t.sum.Missing > 0 && !partial {
		return t.sum, &PartialError{Missing: t.sum.Missing, Gap: t.sum.Gap}
	}
	return t.sum, nil
}

// Each calls use for the values in order, which must hold all that is wanted: a
// *[PartialError] says at the end what was not there.
func Each(values Values, want Wanted, use func(engine.Piece) error) error {
	t := newTracker(want)
	if err := each(values, t, use); err != nil {
		return err
	}
	_, err := t.end(false)
	return err
}

// Provenance says where values come from. All of it is the same on every
// machine, so files with it can be compared byte by byte.
type Provenance struct {
	// Symbol is how the function is written, such as "M(n)".
	Symbol  string        `json:"function,omitempty"`
	Engine  string        `json:"engine"`
	Version int           `json:"version"`
	Params  engine.Params `json:"params,omitempty"`
	// N describes the n, such as "1..1000".
	N string `json:"n"`
	// Text is the SHA-256 of the lines "n value", where the export holds all of
	// them, Tree the digest over the cells of the sweep; either may be empty.
	Text string `json:"text_sha256,omitempty"`
	Tree string `json:"tree_sha256,omitempty"`
	// Program is the name and version of the program that wrote the file.
	Program string `json:"program"`
}

// toASCII replaces the characters beyond ASCII that describe a function and its n:
// b-files hold none.
var toASCII = strings.NewReplacer("…", "..", "Σ", "sum", "≤", "<=",
	"¹", "^1", "²", "^2", "³", "^3", "⁴", "^4", "⁵", "^5", "⁶", "^6", "⁷", "^7", "⁸", "^8", "⁹", "^9")

// fields returns the name and text of what is known, in a fixed order.
func (p Provenance) fields() [][2]string {
	var out [][2]string
	add := func(name, text string) {
		if text != "" {
			out = append(out, [2]string{name, toASCII.Replace(text)})
		}
	}
	add("function", p.Symbol)
	if p.Engine != "" {
		add("engine", fmt.Sprintf("%s version %d", p.Engine, p.Version))
	}
	add("params", p.Params.String())
	add("n", p.N)
	add("text_sha256", p.Text)
	add("tree_sha256", p.Tree)
	add("program", p.Program)
	return out
}

// lines returns the provenance as comment lines of ASCII characters.
func (p Provenance) lines() string {
	var b strings.Builder
	for _, f := range p.fields() {
		text := strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return '?'
			}
			return r
		}, f[1])
		fmt.Fprintf(&b, "# %s: %s\n", f[0], text)
	}
	return b.String()
}
