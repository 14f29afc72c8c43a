package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"strconv"
)

// Int128 is a signed 128-bit integer in two's complement, Hi·2^64 + Lo.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Int128From returns v as an Int128.
func Int128From(v int64) Int128 { return Int128{Hi: v >> 63, Lo: uint64(v)} }

// Int128FromBig returns v as an Int128 and whether it fits.
func Int128FromBig(v *big.Int) (Int128, bool) {
	var m big.Int
	m.Abs(v)
	if m.BitLen() > 128 {
		return Int128{}, false
	}
	var buf [16]byte
	m.FillBytes(buf[:])
	x := Int128{Hi: int64(binary.BigEndian.Uint64(buf[:8])), Lo: binary.BigEndian.Uint64(buf[8:])}
	if v.Sign() < 0 {
		x = x.Neg()
		return x, x.Hi < 0
	}
	return x, x.Hi >= 0
}

// ErrNotInteger is wrapped by ParseInt128 when the text is not a decimal
// integer, ErrRange when it does not fit 128 bits.
var (
	ErrNotInteger = errors.New("not a decimal integer")
	ErrRange      = errors.New("beyond 128 bits")
)

// ParseInt128 parses decimal digits with an optional minus sign.
func ParseInt128(s string) (Int128, error) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Int128From(v), nil
	}
	v, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return Int128{}, fmt.Errorf("%q: %w", s, ErrNotInteger)
	}
	x, ok := Int128FromBig(v)
	if !ok {
		return Int128{}, fmt.Errorf("%q: %w", s, ErrRange)
	}
	return x, nil
}

// Add returns x+y modulo 2^128.
func (x Int128) Add(y Int128) Int128 {
	lo, carry := bits.Add64(x.Lo, y.Lo, 0)
	hi, _ := bits.Add64(uint64(x.Hi), uint64(y.Hi), carry)
	return Int128{Hi: int64(hi), Lo: lo}
}

// Neg returns −x modulo 2^128.
func (x Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, x.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(x.Hi), borrow)
	return Int128{Hi: int64(hi), Lo: lo}
}

// Sub returns x−y modulo 2^128.
func (x Int128) Sub(y Int128) Int128 { return x.Add(y.Neg()) }

// Cmp returns −1, 0 or +1 as x is less than, equal to or greater than y.
func (x Int128) Cmp(y Int128) int {
	switch {
	case x.Hi != y.Hi:
		if x.Hi < y.Hi {
			return -1
		}
		return 1
	case x.Lo != y.Lo:
		if x.Lo < y.Lo {
			return -1
		}
		return 1
	}
	return 0
}

// Int64 returns x as an int64 and whether it fits.
func (x Int128) Int64() (int64, bool) {
	v := int64(x.Lo)
	return v, x.Hi == v>>63
}

// Big returns x as a new big.Int.
func (x Int128) Big() *big.Int {
	v := new(big.Int).SetInt64(x.Hi)
	v.Lsh(v, 64)
	return v.Add(v, new(big.Int).SetUint64(x.Lo))
}

// Append appends x in decimal to b.
func (x Int128) Append(b []byte) []byte {
	if v, ok := x.Int64(); ok {
		return strconv.AppendInt(b, v, 10)
	}
	m := x
	if m.Hi < 0 {
		b = append(b, '-')
		m = m.Neg() // −2^127 negates to itself, which read unsigned is 2^127
	}
	// Two divisions by 10^19, the largest power of ten below 2^64.
	const e19 = 10_000_000_000_000_000_000
	hi := uint64(m.Hi)
	q1, r := hi/e19, hi%e19
	q0, r0 := bits.Div64(r, m.Lo, e19)
	switch {
	case q1 == 0 && q0 == 0: // from 2^63 up to 10^19
		return strconv.AppendUint(b, r0, 10)
	case q1 == 0:
		b = strconv.AppendUint(b, q0, 10)
	default:
		// hi < 2^64 < 2·10^19, so q1 is 1 and the quotient q1·2^64 + q0 is
		// below 2^65: one more step suffices.
		q2, r1 := bits.Div64(q1, q0, e19)
		b = strconv.AppendUint(b, q2, 10)
		b = appendPadded(b, r1)
	}
	return appendPadded(b, r0)
}

// appendPadded appends v as 19 digits.
func appendPadded(b []byte, v uint64) []byte {
	var buf [19]byte
	for i := len(buf) - 1; i >= 0; i-- {
		buf[i] = byte('0' + v%10)
		v /= 10
	}
	return append(b, buf[:]...)
}

// String returns x in decimal.
func (x Int128) String() string { return string(x.Append(nil)) }

// PutBytes writes x big-endian into b[:16].
func (x Int128) PutBytes(b []byte) {
	binary.BigEndian.PutUint64(b, uint64(x.Hi))
	binary.BigEndian.PutUint64(b[8:], x.Lo)
}

// Int128FromBytes reads 16 big-endian bytes.
func Int128FromBytes(b []byte) Int128 {
	return Int128{Hi: int64(binary.BigEndian.Uint64(b)), Lo: binary.BigEndian.Uint64(b[8:])}
}
