package report

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

func TestCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawStream(t, false)
		ns, values := all(t, pieces(a...))
		// b is a with some values changed, left out, and cut into other pieces.
		var b []engine.Piece
		var want Diff
		var next int64
		for i, n := range ns {
			v := values[i]
			old, other := v, v.Add(engine.Int128From(1))
			switch rapid.IntRange(0, 40).Draw(t, "change") {
			case 0:
				want.OnlyA++
				if want.FirstOnly == nil {
					want.FirstOnly = &Difference{N: n, A: &old}
				}
				continue
			case 1:
				want.Different++
				if want.First == nil {
					want.First = &Difference{N: n, A: &old, B: &other}
				}
				v = other
			default:
				want.Same++
			}
			if len(b) == 0 || n != next || rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
				b = append(b, engine.Piece{Lo: n})
			}
			p := &b[len(b)-1]
			p.Wide = append(p.Wide, v)
			next = n + 1
		}
		check := func(got, want Diff) {
			t.Helper()
			same := func(p, q *Difference) bool {
				return reflect.DeepEqual(p, q)
			}
			if got.Same != want.Same || got.Different != want.Different || got.OnlyA != want.OnlyA || got.OnlyB != want.OnlyB ||
				!same(got.First, want.First) || !same(got.FirstOnly, want.FirstOnly) {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
		got, err := Compare(pieces(a...), pieces(b...))
		if err != nil {
			t.Fatal(err)
		}
		check(got, want)
		swapped := Diff{Same: want.Same, Different: want.Different, OnlyA: want.OnlyB, OnlyB: want.OnlyA}
		if want.First != nil {
			swapped.First = &Difference{N: want.First.N, A: want.First.B, B: want.First.A}
		}
		if want.FirstOnly != nil {
			swapped.FirstOnly = &Difference{N: want.FirstOnly.N, A: want.FirstOnly.B, B: want.FirstOnly.A}
		}
		got, err = Compare(pieces(b...), pieces(a...))
		if err != nil {
			t.Fatal(err)
		}
		check(got, swapped)
		if got.Equal() != (want.Different+want.OnlyA == 0) {
			t.Fatalf("Equal = %v", got.Equal())
		}
	})
}

func TestCompareFails(t *testing.T) {
	boom := errors.New("gone")
	if _, err := Compare(failing(pieces(hop20), boom), pieces(hop20)); !errors.Is(err, boom) || err.Error() != "first values: gone" {
		t.Errorf("Compare = %v", err)
	}
	if _, err := Compare(pieces(hop20), failing(pieces(hop20), boom)); !errors.Is(err, boom) || err.Error() != "second values: gone" {
		t.Errorf("Compare = %v", err)
	}
}
