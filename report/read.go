package report

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/nsweep/nsweep/engine"
)

// lineLimit is the longest line that ReadValues takes.
const lineLimit = 1 << 16

// MalformedError says that a line is not one of a b-file or CSV with values in
// rising order of n.
type MalformedError struct {
	Line int // from 1
	Err  error
}

func (e *MalformedError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *MalformedError) Unwrap() error { return e.Err }

// ReadValues reads a b-file or CSV: lines of n and value, both integers,
// separated by blanks, tabs, or one comma or semicolon. Empty lines and those
// that begin with # do not count; the first line may be a heading. Quotes around
// a field and CRLF are accepted. Every n must be larger than the one before. The
// error about a line that is not so is a *[MalformedError], any other is r's.
//
// The stream reads from r as it goes, so it can be run through once.
func ReadValues(r io.Reader) Values {
	return func(yield func(engine.Piece, error) bool) {
		in := &noting{r: r}
		scanner := bufio.NewScanner(in)
		scanner.Buffer(make([]byte, lineLimit), lineLimit)
		out := gatherer{yield: yield}
		number, heading := 0, true
		for scanner.Scan() {
			if in.err != nil {
				break // the line may be the half of one
			}
			number++
			line := bytes.TrimSpace(scanner.Bytes())
			if number == 1 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(line) == 0 || line[0] == '#' {
				continue
			}
			n, v, err := parseLine(line)
			if err != nil {
				if heading && isHeading(line) {
					heading = false
					continue
				}
				if errors.Is(err, errLine) {
					err = fmt.Errorf("%.40q: %w", line, err)
				}
				out.fail(&MalformedError{number, err})
				return
			}
			heading = false
			if !out.add(n, v) {
				return
			}
			if out.err != nil {
				out.fail(&MalformedError{number, out.err})
				return
			}
		}
		if err := cmp.Or(in.err, scanner.Err()); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = &MalformedError{number + 1, fmt.Errorf("is longer than %d bytes; %w", lineLimit, errLine)}
			}
			out.fail(err)
			return
		}
		out.flush()
	}
}

// noting remembers that reading failed: a scanner hands out what it has of a line
// before it says so.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(b []byte) (int, error) {
	k, err := n.r.Read(b)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return k, err
}

// isHeading reports whether a line begins with a name and not with a number.
func isHeading(line []byte) bool {
	c := bytes.TrimLeft(line, `"`)
	return len(c) > 0 && (c[0]|0x20 >= 'a' && c[0]|0x20 <= 'z')
}

// gatherer joins single values with consecutive n into pieces.
type gatherer struct {
	yield func(engine.Piece, error) bool
	lo    int64
	vals  []engine.Int128
	any   bool // something was added
	last  int64
	err   error
}

// add takes the next value; it returns false when the consumer has had enough.
func (g *gatherer) add(n int64, v engine.Int128) bool {
	if g.any && n <= g.last {
		g.err = fmt.Errorf("n = %d follows n = %d; want every n once, in rising order", n, g.last)
		return true
	}
	if len(g.vals) == pieceMax || (len(g.vals) > 0 && n != g.last+1) {
		if !g.flush() {
			return false
		}
	}
	if len(g.vals) == 0 {
		g.lo = n
	}
	g.vals = append(g.vals, v)
	g.any, g.last = true, n
	return true
}

// flush hands over what is gathered, as narrow values where they fit.
func (g *gatherer) flush() bool {
	if len(g.vals) == 0 {
		return true
	}
	p := engine.Piece{Lo: g.lo, Wide: g.vals}
	narrow := make([]int64, len(g.vals))
	fits := true
	for i, v := range g.vals {
		var ok bool
		narrow[i], ok = v.Int64()
		fits = fits && ok
	}
	if fits {
		p = engine.Piece{Lo: g.lo, Narrow: narrow}
	}
	more := g.yield(p, nil)
	g.vals = g.vals[:0]
	return more
}

// fail hands over what was read before an error, and the error.
func (g *gatherer) fail(err error) {
	if g.flush() {
		g.yield(engine.Piece{}, err)
	}
}

var errLine = errors.New("want an integer n and an integer value")

// parseLine splits a line into n and value.
func parseLine(line []byte) (n int64, v engine.Int128, err error) {
	i := bytes.IndexAny(line, " \t,;")
	if i < 0 {
		return 0, v, errLine
	}
	x, err := parseInt(line[:i])
	if err != nil {
		return 0, v, err
	}
	n, ok := x.Int64()
	if !ok || n == math.MaxInt64 {
		return 0, v, fmt.Errorf("n = %s is too large, want at most %d", x, int64(math.MaxInt64-1))
	}
	rest := bytes.TrimLeft(line[i:], " \t")
	if len(rest) > 0 && (rest[0] == ',' || rest[0] == ';') {
		rest = bytes.TrimLeft(rest[1:], " \t")
	}
	v, err = parseInt(rest)
	return n, v, err
}

// parseInt reads an integer, perhaps in quotes.
func parseInt(b []byte) (engine.Int128, error) {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		b = b[1 : len(b)-1]
	}
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 {
		return engine.Int128{}, errLine
	}
	x := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return engine.Int128{}, errLine
		}
		x = 10*x + int64(c-'0') // below 10^18 for up to 18 digits; unused beyond
	}
	if len(digits) > 18 {
		return engine.ParseInt128(string(b))
	}
	if len(digits) < len(b) {
		x = -x
	}
	return engine.Int128From(x), nil
}
