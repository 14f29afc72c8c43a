package jobs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/big"
	"slices"

	"github.com/nsweep/nsweep/engine"
)

// recordChunk is how many values a Recorder takes at once: few enough that they
// and their encoding stay in the first-level cache over the passes for
// extremes, sums, encoding and hash.
const recordChunk = 1024

// Recorder makes the [Record] of a cell out of the pieces that an engine emits,
// and after Reset that of another cell. It is not safe for concurrent use.
type Recorder struct {
	sums   []*engine.PowerSum
	powers []int
	checks []int64 // of all cells, rising

	cell  engine.Cell
	next  int64 // the n that Add expects
	check int   // checks[check] is the first at or after next
	hash  hash.Hash
	buf   []byte
	rec   Record
}

// NewRecorder returns a recorder for the cell, clipped to the set, whose values
// have the given width in bytes. It sums the given powers, and notes value and
// partial sums at those of the check n that lie in the cell. Neither list needs
// an order.
func NewRecorder(cell engine.Cell, width int, powers []int, checks []int64) (*Recorder, error) {
	r := &Recorder{powers: slices.Clone(powers), checks: slices.Clone(checks), hash: sha256.New()}
	slices.Sort(r.powers)
	r.powers = slices.Compact(r.powers)
	slices.Sort(r.checks)
	r.checks = slices.Compact(r.checks)
	for _, p := range r.powers {
		if p < 1 || p > MaxPower {
			return nil, fmt.Errorf("sum of powers with exponent %d, want 1 to %d", p, MaxPower)
		}
		r.sums = append(r.sums, engine.NewPowerSum(p))
	}
	r.Reset(cell, width)
	return r, nil
}

// Reset starts the record of another cell with the same powers and checks. A
// record that was not finished is dropped.
func (r *Recorder) Reset(cell engine.Cell, width int) {
	r.cell, r.next = cell, cell.Lo
	r.check, _ = slices.BinarySearch(r.checks, cell.Lo)
	r.hash.Reset()
	for _, s := range r.sums {
		s.Reset()
	}
	r.rec = Record{Lo: cell.Lo, Count: int(cell.Len()), Width: width, Powers: r.powers}
}

// Add takes the next values of the cell, all of which lie within it.
func (r *Recorder) Add(p engine.Piece) error {
	if p.Lo != r.next || p.Lo+int64(p.Len()) > r.cell.Hi {
		return fmt.Errorf("record of n = %d…%d: values at %d…%d do not follow n = %d",
			r.cell.Lo, r.cell.Hi-1, p.Lo, p.Lo+int64(p.Len())-1, r.next-1)
	}
	for p.Len() > 0 {
		k := min(p.Len(), recordChunk)
		if r.check < len(r.checks) { // a chunk ends at the n of a check
			k = int(min(int64(k), r.checks[r.check]-p.Lo+1))
		}
		if err := r.add(p.Slice(0, k)); err != nil {
			return err
		}
		p = p.Slice(k, p.Len())
	}
	return nil
}

func (r *Recorder) add(p engine.Piece) error {
	var err error
	if r.buf, err = AppendValues(r.buf[:0], r.rec.Width, p); err != nil {
		return err
	}
	r.hash.Write(r.buf)
	least, greatest := p.Extremes()
	if p.Lo == r.cell.Lo {
		r.rec.First = p.At(0)
	}
	if p.Lo == r.cell.Lo || least.Cmp(r.rec.Min) < 0 {
		r.rec.Min, r.rec.MinN = least, p.Lo+int64(p.Index(least))
	}
	if p.Lo == r.cell.Lo || greatest.Cmp(r.rec.Max) > 0 {
		r.rec.Max, r.rec.MaxN = greatest, p.Lo+int64(p.Index(greatest))
	}
	r.rec.Last = p.At(p.Len() - 1)
	size := engine.Size(least, greatest)
	for _, s := range r.sums {
		s.Add(p, size)
	}
	r.next += int64(p.Len())
	if r.check < len(r.checks) && r.checks[r.check] == r.next-1 {
		r.check++
		r.rec.Checks = append(r.rec.Checks, RecordCheck{N: r.next - 1, Value: r.rec.Last, Sums: r.values()})
	}
	return nil
}

func (r *Recorder) values() []*big.Int {
	v := make([]*big.Int, len(r.sums))
	for i, s := range r.sums {
		v[i] = s.Value()
	}
	return v
}

// Finish returns the record once all values of the cell were added.
func (r *Recorder) Finish() (Record, error) {
	if r.next != r.cell.Hi || r.cell.Len() == 0 {
		return Record{}, fmt.Errorf("record of n = %d…%d: %w at n = %d", r.cell.Lo, r.cell.Hi-1, errUnfinished, r.next)
	}
	rec := r.rec
	r.hash.Sum(rec.Hash[:0])
	rec.Sums = r.values()
	return rec, nil
}

var errUnfinished = errors.New("values are missing")

// Encode returns the finished record in its encoding, in memory of its own.
func (r *Recorder) Encode() ([]byte, error) {
	rec, err := r.Finish()
	if err != nil {
		return nil, err
	}
	return rec.Append(make([]byte, 0, recordHead+20*len(rec.Powers)*(len(rec.Checks)+1)+20*len(rec.Checks))), nil
}
