package jobs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/nsweep/nsweep/engine"
)

// castagnoli is the polynomial of CRC-32C, which processors compute in
// hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC returns the CRC-32C of a cell's bytes.
func CRC(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// AppendValues appends the piece's values in the stored encoding: big-endian,
// unsigned in 4 bytes, two's complement in 8 or 16. The error names the first
// value that does not fit the width.
func AppendValues(dst []byte, width int, p engine.Piece) ([]byte, error) {
	switch {
	case width == 4 && p.Wide == nil:
		for i, v := range p.Narrow {
			if v < 0 || v > math.MaxUint32 {
				return dst, widthError(p, i, width)
			}
			dst = binary.BigEndian.AppendUint32(dst, uint32(v))
		}
	case width == 8 && p.Wide == nil:
		for _, v := range p.Narrow {
			dst = binary.BigEndian.AppendUint64(dst, uint64(v))
		}
	default:
		for i := range p.Len() {
			v := p.At(i)
			n, ok := v.Int64()
			switch {
			case width == 16:
				dst = binary.BigEndian.AppendUint64(dst, uint64(v.Hi))
				dst = binary.BigEndian.AppendUint64(dst, v.Lo)
			case ok && width == 8:
				dst = binary.BigEndian.AppendUint64(dst, uint64(n))
			case ok && width == 4 && n >= 0 && n <= math.MaxUint32:
				dst = binary.BigEndian.AppendUint32(dst, uint32(n))
			default:
				return dst, widthError(p, i, width)
			}
		}
	}
	return dst, nil
}

func widthError(p engine.Piece, i, width int) error {
	return fmt.Errorf("value %s at n = %d does not fit %d bytes", p.At(i), p.Lo+int64(i), width)
}

// DecodeValues reads values stored with AppendValues at n = lo, lo+1, …. The
// piece reuses the memory of buf where it is large enough.
func DecodeValues(buf engine.Piece, lo int64, width int, b []byte) (engine.Piece, error) {
	if len(b)%width != 0 {
		return engine.Piece{}, fmt.Errorf("%d bytes are no whole number of values of %d bytes", len(b), width)
	}
	count := len(b) / width
	p := engine.Piece{Lo: lo}
	if width == 16 {
		p.Wide = buf.Wide[:0]
		for i := range count {
			p.Wide = append(p.Wide, engine.Int128FromBytes(b[16*i:]))
		}
		return p, nil
	}
	p.Narrow = buf.Narrow[:0]
	switch width {
	case 4:
		for i := range count {
			p.Narrow = append(p.Narrow, int64(binary.BigEndian.Uint32(b[4*i:])))
		}
	case 8:
		for i := range count {
			p.Narrow = append(p.Narrow, int64(binary.BigEndian.Uint64(b[8*i:])))
		}
	default:
		return engine.Piece{}, fmt.Errorf("values of %d bytes are not known", width)
	}
	return p, nil
}

// CellValues is one cell of the dense part as it is committed and read.
type CellValues struct {
	Cell engine.Cell // clipped to the set
	// Whole says that the cell is not clipped. A clipped cell's bytes become
	// useless when the range changes, so the ledger remembers its extent.
	Whole bool
	// Width is the bytes of one value.
	Width int
	// Data is the values in the stored encoding, or under KeepSums the cell's
	// record.
	Data []byte
	// CRC is the CRC-32C of Data as it was when it was computed.
	CRC uint32
}

// PointValue is the value at a single n.
type PointValue struct {
	N     int64
	Value engine.Int128
	// CRC is the CRC-32C of the decimal text "n value".
	CRC uint32
}

// NewPoint returns the point with its CRC.
func NewPoint(n int64, v engine.Int128) PointValue {
	return PointValue{N: n, Value: v, CRC: PointCRC(n, v)}
}

// PointCRC returns the CRC-32C of the text "n value".
func PointCRC(n int64, v engine.Int128) uint32 {
	return CRC(v.Append(fmt.Appendf(nil, "%d ", n)))
}

// Commit is a batch of finished cells of one sweep, or of finished points.
type Commit struct {
	Run   RunID
	Sweep string
	Keep  Keep
	// Rev is the revision of the run's plan under which the work was given
	// out; clipped cells of an older revision are not stored.
	Rev    int64
	Cells  []CellValues // consecutive
	Points []PointValue
	Worker string
	// Task is the ID of the task that computed the cells. Together with Worker
	// it tells repetitions apart from independent computations when stored
	// values are disputed.
	Task string
	// Check says that this is a second computation, made to confirm what is
	// stored. It is noted as such only with an Origin.
	Check bool
	// Origin, if set, is noted beside what is stored.
	Origin *Origin
}

// Values returns the number of n whose values are in the commit.
func (c Commit) Values() int64 {
	n := int64(len(c.Points))
	for _, v := range c.Cells {
		n += v.Cell.Hi - v.Cell.Lo
	}
	return n
}

// Committed says what a commit did.
type Committed struct {
	// Stored counts cells and points that were new, Same those that were
	// stored already with the same values.
	Stored, Same int
	// Stale counts clipped cells of an older plan, and cells that were to be
	// confirmed and are not finished; both were dropped.
	Stale int
	// Disputed lists the first n of cells whose stored values differ.
	Disputed []int64
}

// Add sums up two results.
func (c *Committed) Add(d Committed) {
	c.Stored += d.Stored
	c.Same += d.Same
	c.Stale += d.Stale
	c.Disputed = append(c.Disputed, d.Disputed...)
}
