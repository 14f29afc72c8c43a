package report

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/nsweep/nsweep/engine"
)

// errGap ends a b-file at the first n that is missing.
var errGap = errors.New("gap")

// exportBFile writes comments with the provenance and then the lines for
// consecutive n.
func exportBFile(w io.Writer, values Values, o ExportOptions) (Summary, error) {
	if gap := o.Want.Gap(); gap != nil && !o.AllowPartial {
		return Summary{}, gap
	}
	t := newTracker(o.Want)
	if _, err := io.WriteString(w, o.Provenance.lines()); err != nil {
		return t.sum, err
	}
	next := o.Want.Lo // the n that has to come, 0 when any may
	if o.Want.Hi <= o.Want.Lo {
		next = 0
	}
	if len(o.Want.Points) > 0 && (next == 0 || o.Want.Points[0] < next) {
		next = o.Want.Points[0]
	}
	var buf []byte
	err := each(values, t, func(p engine.Piece) error {
		if next != 0 && p.Lo != next {
			// The tracker has counted this piece; it will not be in the file.
			t.sum.Count -= int64(p.Len())
			t.sum.Last = next - 1
			if t.sum.Count == 0 {
				t.sum.First, t.sum.Last = 0, 0
			}
			return errGap
		}
		next = p.Lo + int64(p.Len())
		buf = p.AppendLines(buf, ' ')
		if len(buf) < 1<<16 {
			return nil
		}
		_, err := w.Write(buf)
		buf = buf[:0]
		return err
	})
	if err != nil && !errors.Is(err, errGap) {
		return t.sum, err
	}
	sum := t.sum
	// What is wanted and not in the file, whether it exists or not: a b-file is
	// consecutive, so everything wanted up to Last is in it.
	sum.Missing, sum.Gap = o.Want.after(sum.Last)
	switch {
	case sum.Missing > 0 && sum.Count > 0 && sum.Gap > sum.Last+1:
		buf = fmt.Appendf(buf, "# ends at n = %d, the next n is %d\n", sum.Last, sum.Gap)
	case sum.Missing > 0:
		buf = fmt.Appendf(buf, "# ends before n = %d, which is missing\n", sum.Gap)
	}
	if _, err := w.Write(buf); err != nil {
		return sum, err
	}
	if sum.Missing > 0 && !o.AllowPartial {
		return sum, &PartialError{Missing: sum.Missing, Gap: sum.Gap, Ends: true}
	}
	return sum, nil
}

// after returns how many of the wanted n are above last, and the first.
func (w Wanted) after(last int64) (count, first int64) {
	note := func(n, k int64) {
		if k > 0 && (first == 0 || n < first) {
			first = n
		}
		count += max(k, 0)
	}
	lo := max(w.Lo, last+1)
	note(lo, w.Hi-lo)
	for _, n := range w.Points {
		if n > last {
			note(n, 1)
		}
	}
	return count, first
}

var anumber = regexp.MustCompile(`^A?([0-9]{1,7})$`)

// digitsOf an A-number such as "A000788" or "788", six of them at least.
func anumberDigits(a string) (string, error) {
	m := anumber.FindStringSubmatch(a)
	if m == nil {
		return "", fmt.Errorf("%q is not an A-number, want one like A000788", a)
	}
	return strings.Repeat("0", max(0, 6-len(m[1]))) + m[1], nil
}

// BFileName returns the name that the OEIS gives to the b-file of a sequence:
// "b000788.txt" for "A000788".
func BFileName(a string) (string, error) {
	d, err := anumberDigits(a)
	if err != nil {
		return "", err
	}
	return "b" + d + ".txt", nil
}

// OEISLink returns the link line for a b-file with n from first to last, as it
// is entered in the LINKS section.
func OEISLink(a, author string, first, last int64) (string, error) {
	d, err := anumberDigits(a)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`%s, <a href="/A%s/b%s.txt">Table of n, a(n) for n = %d..%d</a>`, author, d, d, first, last), nil
}

// dataLen is about how many characters of terms the OEIS shows.
const dataLen = 260

// OEISData returns the first terms, separated by a comma and a blank, as they
// are entered in the DATA section: as many whole terms as fit 260 characters,
// and one at least. It reads no more values than it needs and stops at a gap.
func OEISData(values Values) (string, error) {
	var b []byte
	var next int64
	for p, err := range values {
		if err != nil {
			return "", err
		}
		if next != 0 && p.Lo != next {
			break
		}
		next = p.Lo + int64(p.Len())
		for i := range p.Len() {
			term := p.At(i).String()
			if len(b) > 0 {
				if len(b)+2+len(term) > dataLen {
					return string(b), nil
				}
				b = append(b, ", "...)
			}
			b = append(b, term...)
		}
	}
	return string(b), nil
}
