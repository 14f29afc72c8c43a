package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"github.com/nsweep/nsweep/engine"
)

// RecordFormat is the first byte of an encoded [Record].
const RecordFormat = 1

// MaxPower is the largest exponent of a sum of powers.
const MaxPower = 1000

// ErrRecord is wrapped by every error of DecodeRecord.
var ErrRecord = errors.New("damaged cell record")

// Record is what KeepSums stores of one cell in place of its values: enough to
// fold the cell into sums, extremes, checkpoints and the tree digest.
type Record struct {
	// Lo is the cell's first n, Count its number of n.
	Lo    int64
	Count int
	// Width is the bytes of one value under Hash.
	Width       int
	First, Last engine.Int128
	// Min and Max are the extremes, MinN and MaxN the first n where they occur.
	Min, Max   engine.Int128
	MinN, MaxN int64
	// Hash is the SHA-256 of the cell's values in the stored encoding, the same
	// bytes that KeepValues stores.
	Hash [sha256.Size]byte
	// Powers rise; Sums[i] is the sum of the Powers[i]-th powers over the cell.
	Powers []int
	Sums   []*big.Int
	// Checks rise by N.
	Checks []RecordCheck
}

// RecordCheck is the state in the middle of a cell, at the n of a checkpoint.
type RecordCheck struct {
	N     int64
	Value engine.Int128
	// Sums[i] is the sum of the Powers[i]-th powers from the cell's first n up
	// to and including N.
	Sums []*big.Int
}

// Layout, all big-endian:
//
//	format 1 | width 1 | lo 8 | count 4 | hash 32 | first, last, min, max 4·16
//	| minN−lo 4 | maxN−lo 4 | powers 2 | checks 4
//	then for each power:  exponent 2 | sum
//	then for each check:  n−lo 4 | value 16 | one sum for each power
//
// where a sum is its length in bytes (2) and that many bytes of two's
// complement, as few as hold it. With one power the record of a cell has
// 124 + 4 + at most 17 bytes while the sum fits 128 bits.
const recordHead = 1 + 1 + 8 + 4 + sha256.Size + 4*16 + 4 + 4 + 2 + 4

// Append appends the encoded record to b.
func (r *Record) Append(b []byte) []byte {
	b = append(b, RecordFormat, byte(r.Width))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Lo))
	b = binary.BigEndian.AppendUint32(b, uint32(r.Count))
	b = append(b, r.Hash[:]...)
	for _, v := range []engine.Int128{r.First, r.Last, r.Min, r.Max} {
		b = append128(b, v)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(r.MinN-r.Lo))
	b = binary.BigEndian.AppendUint32(b, uint32(r.MaxN-r.Lo))
	b = binary.BigEndian.AppendUint16(b, uint16(len(r.Powers)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.Checks)))
	for i, p := range r.Powers {
		b = binary.BigEndian.AppendUint16(b, uint16(p))
		b = appendSum(b, r.Sums[i])
	}
	for _, c := range r.Checks {
		b = binary.BigEndian.AppendUint32(b, uint32(c.N-r.Lo))
		b = append128(b, c.Value)
		for _, sum := range c.Sums {
			b = appendSum(b, sum)
		}
	}
	return b
}

func append128(b []byte, v engine.Int128) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(v.Hi))
	return binary.BigEndian.AppendUint64(b, v.Lo)
}

// appendSum writes v in the fewest bytes of two's complement, none for 0. A
// negative v is written as the complement of −v−1.
func appendSum(b []byte, v *big.Int) []byte {
	m := v
	if v.Sign() < 0 {
		m = new(big.Int).Not(v)
	}
	size := 0
	if v.Sign() != 0 {
		size = m.BitLen()/8 + 1 // one bit more for the sign
	}
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	at := len(b)
	b = append(b, make([]byte, size)...)
	m.FillBytes(b[at:])
	if v.Sign() < 0 {
		for i := range b[at:] {
			b[at+i] ^= 0xff
		}
	}
	return b
}

// DecodeRecord reads one record that fills b. It accepts exactly the bytes that
// Append writes for some record whose numbers do not contradict each other.
func DecodeRecord(b []byte) (Record, error) {
	r, err := decodeRecord(b)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return r, nil
}

func decodeRecord(b []byte) (r Record, err error) {
	if len(b) < recordHead {
		return r, fmt.Errorf("%d bytes, want at least %d", len(b), recordHead)
	}
	if b[0] != RecordFormat {
		return r, fmt.Errorf("format %d, this program reads %d", b[0], RecordFormat)
	}
	r.Width = int(b[1])
	lo := binary.BigEndian.Uint64(b[2:])
	count := int64(binary.BigEndian.Uint32(b[10:]))
	if (r.Width != 4 && r.Width != 8 && r.Width != 16) || lo < 1 || lo > uint64(engine.MaxN) || count < 1 {
		return r, fmt.Errorf("width %d, %d values from n = %d", r.Width, count, lo)
	}
	r.Lo, r.Count = int64(lo), int(count)
	d := &recordReader{b: b[14:]}
	copy(r.Hash[:], d.take(sha256.Size))
	for _, v := range []*engine.Int128{&r.First, &r.Last, &r.Min, &r.Max} {
		*v = d.int128()
	}
	minAt, maxAt := int64(d.uint32()), int64(d.uint32())
	powers, checks := int(d.uint16()), int(d.uint32())
	if minAt >= count || maxAt >= count || int64(checks) > count {
		return r, fmt.Errorf("extremes or checks outside of %d values", count)
	}
	if r.Min.Cmp(r.First) > 0 || r.Min.Cmp(r.Last) > 0 || r.Max.Cmp(r.First) < 0 || r.Max.Cmp(r.Last) < 0 {
		return r, errors.New("extremes do not enclose the first and the last value")
	}
	r.MinN, r.MaxN = r.Lo+minAt, r.Lo+maxAt
	for range powers {
		p := int(d.uint16())
		if k := len(r.Powers); p < 1 || p > MaxPower || (k > 0 && p <= r.Powers[k-1]) {
			return r, fmt.Errorf("power %d is out of place", p)
		}
		r.Powers, r.Sums = append(r.Powers, p), append(r.Sums, d.sum())
		if d.err != nil {
			return r, d.err
		}
	}
	for i := range checks {
		at := int64(d.uint32())
		c := RecordCheck{N: r.Lo + at, Value: d.int128()}
		if at >= count || (i > 0 && c.N <= r.Checks[i-1].N) {
			return r, fmt.Errorf("check at n = %d is out of place", c.N)
		}
		for range powers {
			c.Sums = append(c.Sums, d.sum())
		}
		if d.err != nil {
			return r, d.err
		}
		r.Checks = append(r.Checks, c)
	}
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.b))
	}
	return r, d.err
}

// recordReader takes numbers off the front of b; after the first failure it
// returns zeros.
type recordReader struct {
	b   []byte
	err error
}

var zeros [16]byte

// take returns the next n bytes, or zeros (n ≤ 16) or nil when b is too short.
func (d *recordReader) take(n int) []byte {
	if n > len(d.b) {
		if d.err == nil {
			d.err = errors.New("it ends too soon")
		}
		d.b = nil
		if n <= len(zeros) {
			return zeros[:n]
		}
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *recordReader) uint16() uint16        { return binary.BigEndian.Uint16(d.take(2)) }
func (d *recordReader) uint32() uint32        { return binary.BigEndian.Uint32(d.take(4)) }
func (d *recordReader) int128() engine.Int128 { return engine.Int128FromBytes(d.take(16)) }

func (d *recordReader) sum() *big.Int {
	b := d.take(int(d.uint16()))
	v := new(big.Int)
	if len(b) == 0 || d.err != nil {
		return v
	}
	negative := b[0]&0x80 != 0
	if negative {
		inverted := make([]byte, len(b))
		for i, x := range b {
			inverted[i] = ^x
		}
		b = inverted
	}
	v.SetBytes(b)
	// As few bytes as possible: the length follows from the bit length, and 0
	// has no bytes at all.
	if v.BitLen()/8+1 != len(b) || (v.Sign() == 0 && !negative) {
		d.err = errors.New("a sum has more bytes than it needs")
	}
	if negative {
		v.Not(v)
	}
	return v
}
