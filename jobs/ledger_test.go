package jobs

import (
	"testing"

	"pgregory.net/rapid"
)

// TestLedgerCovers compares Covers with its definition, cell by cell.
func TestLedgerCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ledger := func(name string) *Ledger {
			first := rapid.Int64Range(0, 70).Draw(t, name+" first")
			l := NewLedger(first, first+rapid.Int64Range(0, 140).Draw(t, name+" count"))
			for _, i := range rapid.SliceOfN(rapid.Int64Range(0, 220), 0, 8).Draw(t, name+" cells") {
				l.Mark(i)
			}
			for _, n := range rapid.SliceOfN(rapid.Int64Range(1, 5), 0, 3).Draw(t, name+" points") {
				l.MarkPoint(n)
			}
			return l
		}
		a := ledger("a")
		b := ledger("b")
		if rapid.Bool().Draw(t, "same extent") {
			b = NewLedger(a.First, a.First+a.Count)
			for i := a.First; i < a.First+a.Count; i++ {
				if a.Done(i) || rapid.IntRange(0, 9).Draw(t, "more") == 0 {
					b.Mark(i)
				}
			}
			if rapid.Bool().Draw(t, "points") {
				for n := range int64(6) {
					b.MarkPoint(n)
				}
			}
		}
		want := true
		for i := range int64(250) {
			want = want && (!a.Done(i) || b.Done(i))
		}
		for n := range int64(6) {
			want = want && (!a.PointDone(n) || b.PointDone(n))
		}
		if got := b.Covers(a); got != want {
			t.Fatalf("Covers is %t, want %t", got, want)
		}
		if !a.Covers(a) {
			t.Fatal("a ledger does not cover itself")
		}
	})
}
