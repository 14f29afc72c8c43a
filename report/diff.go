package report

import (
	"fmt"
	"iter"

	"github.com/nsweep/nsweep/engine"
)

// Difference is an n at which two streams differ. A or B is nil where that
// stream has no value.
type Difference struct {
	N    int64
	A, B *engine.Int128
}

// Diff is the outcome of a comparison, in numbers of n.
type Diff struct {
	Same, Different, OnlyA, OnlyB int64
	// First is the smallest n where both have values that differ, FirstOnly the
	// smallest n that only one of them has; nil if there is none.
	First, FirstOnly *Difference
}

// Equal reports whether both streams have the same n and the same values.
func (d Diff) Equal() bool { return d.Different == 0 && d.OnlyA == 0 && d.OnlyB == 0 }

// side is a stream and the rest of its current piece.
type side struct {
	next func() (engine.Piece, error, bool)
	p    engine.Piece
	end  bool
}

// fill makes sure that p has a value unless the stream has ended.
func (s *side) fill() error {
	for s.p.Len() == 0 && !s.end {
		p, err, ok := s.next()
		if err != nil {
			return err
		}
		s.p, s.end = p, !ok
	}
	return nil
}

// drop takes k values off the piece.
func (s *side) drop(k int) { s.p = s.p.Slice(k, s.p.Len()) }

// Compare walks through two streams side by side in one pass, with memory for
// one piece of each. Errors say which stream they come from.
func Compare(a, b Values) (Diff, error) {
	var d Diff
	nextA, stopA := iter.Pull2(a)
	defer stopA()
	nextB, stopB := iter.Pull2(b)
	defer stopB()
	x, y := side{next: nextA}, side{next: nextB}
	for {
		if err := x.fill(); err != nil {
			return d, fmt.Errorf("first values: %w", err)
		}
		if err := y.fill(); err != nil {
			return d, fmt.Errorf("second values: %w", err)
		}
		switch {
		case x.end && y.end:
			return d, nil
		case y.end || (!x.end && x.p.Lo < y.p.Lo):
			k := x.p.Len()
			if !y.end {
				k = int(min(int64(k), y.p.Lo-x.p.Lo))
			}
			if d.FirstOnly == nil {
				v := x.p.At(0)
				d.FirstOnly = &Difference{N: x.p.Lo, A: &v}
			}
			d.OnlyA += int64(k)
			x.drop(k)
		case x.end || y.p.Lo < x.p.Lo:
			k := y.p.Len()
			if !x.end {
				k = int(min(int64(k), x.p.Lo-y.p.Lo))
			}
			if d.FirstOnly == nil {
				v := y.p.At(0)
				d.FirstOnly = &Difference{N: y.p.Lo, B: &v}
			}
			d.OnlyB += int64(k)
			y.drop(k)
		default:
			k := min(x.p.Len(), y.p.Len())
			d.both(x.p.Slice(0, k), y.p.Slice(0, k))
			x.drop(k)
			y.drop(k)
		}
	}
}

// both compares values at the same n.
func (d *Diff) both(p, q engine.Piece) {
	for i := range p.Len() {
		u, v := p.At(i), q.At(i)
		if u == v {
			d.Same++
			continue
		}
		d.Different++
		if d.First == nil {
			d.First = &Difference{N: p.Lo + int64(i), A: &u, B: &v}
		}
	}
}
