package engine

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
)

// PowerSum adds up the exact p-th powers of values, p ≥ 1, of any sign and
// size. The zero value is not usable; see [NewPowerSum]. It is not safe for
// concurrent use.
//
// The sum is acc + spill. Partial sums are formed in the narrowest of four
// kernels that is proven not to wrap for the values at hand, so the usual sum
// of cubes costs about a nanosecond a value and a sum that needs a thousand
// bits is still right.
type PowerSum struct {
	power int
	acc   Int128
	spill big.Int
	limbs limbSum
	flat  []int64
	tmp   [2]big.Int
}

// NewPowerSum returns an empty sum of powers with the given exponent. It
// panics when power < 1: exponents are checked where users write them.
func NewPowerSum(power int) *PowerSum {
	if power < 1 {
		panic(fmt.Sprintf("engine: sum of powers with exponent %d", power))
	}
	return &PowerSum{power: power}
}

// Power returns the exponent.
func (s *PowerSum) Power() int { return s.power }

// Reset makes the sum 0 again.
func (s *PowerSum) Reset() {
	s.acc = Int128{}
	s.spill.SetInt64(0)
}

// Value returns the sum as a new number.
func (s *PowerSum) Value() *big.Int {
	v := s.acc.Big()
	return v.Add(v, &s.spill)
}

// AddBig adds v itself, not a power of it: a partial sum made elsewhere.
func (s *PowerSum) AddBig(v *big.Int) {
	if x, ok := Int128FromBig(v); ok {
		s.add128(x)
		return
	}
	s.spill.Add(&s.spill, v)
}

// Add adds the powers of all values of the piece, each of which is less than
// 2^size in absolute value; see [Piece.Extremes] and [Size]. It costs O(len)
// word operations while power·size is below 64, O(len·power·limbs) beyond.
func (s *PowerSum) Add(p Piece, size int) {
	if p.Wide == nil {
		s.addNarrow(p.Narrow, size)
		return
	}
	if size <= 63 {
		s.flat = s.flat[:0]
		for _, v := range p.Wide {
			s.flat = append(s.flat, int64(v.Lo)) // |v| < 2^63 is its low word
		}
		s.addNarrow(s.flat, size)
		return
	}
	if s.power == 1 && size+bits.Len(uint(len(p.Wide))) <= 127 {
		// At most 2^127−1 in absolute value, so no wrap within the piece.
		var sum Int128
		for _, v := range p.Wide {
			sum = sum.Add(v)
		}
		s.add128(sum)
		return
	}
	for _, v := range p.Wide {
		b, t := v.Big(), &s.tmp[0]
		t.Set(b)
		for range s.power - 1 {
			s.tmp[1].Mul(t, b)
			t.Set(&s.tmp[1])
		}
		s.spill.Add(&s.spill, t)
	}
}

// addNarrow picks the kernel. With L = bit length of the count, the sum of the
// powers is less than 2^(power·size+L) in absolute value, and a single power
// less than 2^(power·size).
func (s *PowerSum) addNarrow(v []int64, size int) {
	if len(v) == 0 {
		return
	}
	one := s.power * size
	all := one + bits.Len(uint(len(v)))
	switch {
	case all <= 63:
		s.add128(Int128From(sumSmall(s.power, v)))
	case one <= 63 || s.power == 1:
		// A first power is an int64 whatever its size is. The sum of fewer than
		// 2^63 numbers of at most 2^63 fits 127 bits.
		s.add128(sumMiddle(s.power, v))
	case all <= 127:
		s.add128(sumLarge(s.power, v))
	default:
		s.limbs.sum(&s.tmp[0], s.power, v, (all+63)/64)
		s.spill.Add(&s.spill, &s.tmp[0])
	}
}

// add128 adds x to acc and empties acc into spill when the addition would wrap:
// two numbers of one sign whose sum has the other.
func (s *PowerSum) add128(x Int128) {
	sum := s.acc.Add(x)
	if (s.acc.Hi < 0) == (x.Hi < 0) && (sum.Hi < 0) != (x.Hi < 0) {
		s.spill.Add(&s.spill, s.acc.Big())
		sum = x
	}
	s.acc = sum
}

// sumSmall needs the whole sum below 2^63.
func sumSmall(power int, v []int64) (sum int64) {
	switch power {
	case 1:
		for _, x := range v {
			sum += x
		}
	case 2:
		for _, x := range v {
			sum += x * x
		}
	case 3:
		for _, x := range v {
			sum += x * x * x
		}
	default:
		for _, x := range v {
			sum += power64(power, x)
		}
	}
	return sum
}

// sumMiddle needs each power to be an int64.
func sumMiddle(power int, v []int64) Int128 {
	var lo, hi, carry uint64
	switch power {
	case 1:
		for _, x := range v {
			lo, carry = bits.Add64(lo, uint64(x), 0)
			hi += uint64(x>>63) + carry
		}
	case 3:
		for _, x := range v {
			y := x * x * x
			lo, carry = bits.Add64(lo, uint64(y), 0)
			hi += uint64(y>>63) + carry
		}
	default:
		for _, x := range v {
			y := power64(power, x)
			lo, carry = bits.Add64(lo, uint64(y), 0)
			hi += uint64(y>>63) + carry
		}
	}
	return Int128{Hi: int64(hi), Lo: lo}
}

func power64(power int, x int64) int64 {
	y := x
	for range power - 1 {
		y *= x
	}
	return y
}

// sumLarge needs the sum of the absolute powers below 2^127; then each product
// on the way to a power is too, and its high word takes no carry out.
func sumLarge(power int, v []int64) (sum Int128) {
	for _, x := range v {
		u := magnitude(x)
		hi, lo := uint64(0), u
		for range power - 1 {
			h, l := bits.Mul64(lo, u)
			hi, lo = hi*u+h, l
		}
		y := Int128{Hi: int64(hi), Lo: lo}
		if x < 0 && power%2 == 1 {
			y = y.Neg()
		}
		sum = sum.Add(y)
	}
	return sum
}

// magnitude returns |x|, also for −2^63.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// limbSum adds powers of any size on little-endian 64-bit limbs: positive and
// negative ones apart.
type limbSum struct {
	pos, neg, pow []uint64
	bytes         []byte
}

// sum sets dst to the sum of the powers, whose absolute values add up to less
// than 2^(64·limbs).
func (l *limbSum) sum(dst *big.Int, power int, v []int64, limbs int) {
	l.pos, l.neg, l.pow = zeroed(l.pos, limbs), zeroed(l.neg, limbs), zeroed(l.pow, limbs)
	for _, x := range v {
		u := magnitude(x)
		l.pow[0] = u
		n := 1
		for range power - 1 {
			var carry uint64
			for i, w := range l.pow[:n] {
				h, lo := bits.Mul64(w, u)
				var c uint64
				lo, c = bits.Add64(lo, carry, 0)
				l.pow[i], carry = lo, h+c // h ≤ 2^64−2: no wrap
			}
			if carry != 0 { // never at n = limbs: the power is below 2^(64·limbs)
				l.pow[n] = carry
				n++
			}
		}
		to := l.pos
		if x < 0 && power%2 == 1 {
			to = l.neg
		}
		var c uint64
		for i, w := range l.pow[:n] {
			to[i], c = bits.Add64(to[i], w, c)
		}
		for i := n; c != 0; i++ {
			to[i], c = bits.Add64(to[i], 0, c)
		}
	}
	var neg big.Int
	l.big(dst, l.pos)
	dst.Sub(dst, l.big(&neg, l.neg))
}

func (l *limbSum) big(dst *big.Int, limbs []uint64) *big.Int {
	l.bytes = l.bytes[:0]
	for i := len(limbs) - 1; i >= 0; i-- {
		l.bytes = binary.BigEndian.AppendUint64(l.bytes, limbs[i])
	}
	return dst.SetBytes(l.bytes)
}

func zeroed(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Extremes returns the least and the greatest value of a piece that is not
// empty, in O(len).
func (p Piece) Extremes() (least, greatest Int128) {
	if p.Wide != nil {
		least, greatest = p.Wide[0], p.Wide[0]
		for _, v := range p.Wide[1:] {
			if v.Cmp(least) < 0 {
				least = v
			}
			if v.Cmp(greatest) > 0 {
				greatest = v
			}
		}
		return least, greatest
	}
	lo, hi := p.Narrow[0], p.Narrow[0]
	for _, v := range p.Narrow[1:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	return Int128From(lo), Int128From(hi)
}

// Index returns the position of the first value that equals v, or −1.
func (p Piece) Index(v Int128) int {
	if p.Wide != nil {
		return slices.Index(p.Wide, v)
	}
	if x, ok := v.Int64(); ok {
		return slices.Index(p.Narrow, x)
	}
	return -1
}

// Size returns the smallest s with |v| < 2^s for all v between least and
// greatest: the bit length of the larger absolute value.
func Size(least, greatest Int128) int { return max(least.size(), greatest.size()) }

func (x Int128) size() int {
	if x.Hi < 0 {
		x = x.Neg() // −2^127 stays, read unsigned: 128 bits
	}
	if x.Hi != 0 {
		return 64 + bits.Len64(uint64(x.Hi))
	}
	return bits.Len64(x.Lo)
}
