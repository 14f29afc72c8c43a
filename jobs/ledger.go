package jobs

import "math/bits"

// Ledger is a snapshot of one sweep's finished cells.
type Ledger struct {
	// First is the grid index of bit 0, Count the number of cells.
	First, Count int64
	bits         []uint64
	points       map[int64]bool
}

// NewLedger returns an empty ledger of the cells [first, last).
func NewLedger(first, last int64) *Ledger {
	return &Ledger{First: first, Count: last - first, bits: make([]uint64, (last-first+63)/64), points: map[int64]bool{}}
}

// Mark notes the cell with this grid index as finished; an index outside of
// the ledger is ignored.
func (l *Ledger) Mark(index int64) {
	if i := index - l.First; i >= 0 && i < l.Count {
		l.bits[i/64] |= 1 << (i % 64)
	}
}

// MarkPoint notes a point as finished.
func (l *Ledger) MarkPoint(n int64) { l.points[n] = true }

// MarkAllBut notes as finished every cell that is not in other, which has the
// same cells.
func (l *Ledger) MarkAllBut(other *Ledger) {
	for i, w := range other.bits {
		l.bits[i] |= ^w
	}
	if rest := l.Count % 64; rest != 0 {
		l.bits[len(l.bits)-1] &= 1<<rest - 1
	}
}

// Done reports whether the cell with this grid index is finished.
func (l *Ledger) Done(index int64) bool {
	i := index - l.First
	return i >= 0 && i < l.Count && l.bits[i/64]&(1<<(i%64)) != 0
}

// PointDone reports whether the point is finished.
func (l *Ledger) PointDone(n int64) bool { return l.points[n] }

// DoneCells returns the number of finished cells of the dense part.
func (l *Ledger) DoneCells() int64 {
	k := 0
	for _, w := range l.bits {
		k += bits.OnesCount64(w)
	}
	return int64(k)
}

// DonePoints returns the number of finished points.
func (l *Ledger) DonePoints() int64 { return int64(len(l.points)) }

// Covers reports whether everything that is finished in old is finished in l
// too. It is false when the store lost what it had.
func (l *Ledger) Covers(old *Ledger) bool {
	if l.First == old.First && l.Count == old.Count {
		for i, w := range old.bits {
			if w&^l.bits[i] != 0 {
				return false
			}
		}
	} else {
		for i := old.NextDone(old.First); i < old.First+old.Count; i = old.NextDone(i + 1) {
			if !l.Done(i) {
				return false
			}
		}
	}
	for n := range old.points {
		if !l.points[n] {
			return false
		}
	}
	return true
}

// NextOpen returns the first unfinished cell at or after index, or the end of
// the ledger.
func (l *Ledger) NextOpen(index int64) int64 { return l.next(index, 0) }

// NextDone returns the first finished cell at or after index, or the end.
func (l *Ledger) NextDone(index int64) int64 { return l.next(index, ^uint64(0)) }

// next returns the first cell at or after index whose bit differs from those
// of flip.
func (l *Ledger) next(index int64, flip uint64) int64 {
	i := max(index-l.First, 0)
	for i < l.Count {
		w := ^(l.bits[i/64] ^ flip) >> (i % 64)
		if w != 0 {
			return l.First + min(i+int64(bits.TrailingZeros64(w)), l.Count)
		}
		i = (i/64 + 1) * 64
	}
	return l.First + l.Count
}
