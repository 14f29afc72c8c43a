package bezout

import (
	"encoding/binary"
	"math"
)

// floatMax is the largest x for which the kernels below divide by multiplying
// with a reciprocal. With fl for rounding to double precision, let d ≥ 1 and
//
//	z = fl((x+½)·fl(1/d)).
//
// x + ½ is exact below 2⁵². The two roundings change (x+½)/d by a relative error
// of at most ε = 2·2⁻⁵³ + 2⁻¹⁰⁶. With x = qd + r the exact (x+½)/d lies at least
// 1/(2d) above q and below q+1, and (x+½)/d·ε < 1/(2d) as long as
// x + ½ < 1/(2ε) = 2⁵¹/(1+2⁻⁵⁴), which 2⁵¹ − ½ still satisfies. So q < z < q+1.
//
// Adding 2⁵² − ½, which is representable, gives a sum in (2⁵²+q−½, 2⁵²+q+½),
// where doubles are the integers if q ≥ 1: it rounds to 2⁵² + q exactly. Likewise
// z/2 = fl((x+½)/2·fl(1/d)) lies strictly between q/2 and (q+1)/2, and adding
// 2⁵² rounds it to 2⁵² + ⌊(q+1)/2⌋.
const floatMax = int64(1)<<51 - 1

// Multiplying 2⁵² + t by the double nearest to 1/2310, whose significand is
// the integer countScale (so that the double is countScale·2⁻⁶⁴), yields
//
//	2⁻¹²·(countScale + i(t)),  i(t) = countScale·t/2⁵² rounded to an integer,
//
// because the product lies in [2⁴⁰, 2⁴¹) for t < 2⁴⁹, where doubles are multiples
// of 2⁻¹². countScale/2⁵² is 4096/2310 with a relative error of at most 2⁻⁵³, so
// for t = 2310q + r < 2⁴⁸ the rounded number is 4096q + 4096r/2310 + η with
// |η| < 0.06. The values for different r are 1.77 apart, hence i(t) modulo 4096
// determines r, and
//
//	4096·C(t) = 4096·(480q + C(r)) = 480·i(t) + (4096·C(r) − 480·(i(t) − 4096q)).
//
// countTable holds the second summand, raised by countLift to be positive, by
// the low 12 bits of the product's significand; the first is a sum of
// significands. No conversion to integers is left in the loop.
const (
	reciprocal = 1.0 / roughSpan
	toInteger  = float64(1<<52) - 0.5
	countLift  = 1 << 16
)

var (
	countScale = math.Float64bits(reciprocal)&(1<<52-1) | 1<<52
	// countBase is the bit pattern of the product at t = 0.
	countBase  = math.Float64bits(float64(1<<52) * reciprocal)
	countTable = func() (t [4096]uint32) {
		for r := range roughSpan {
			exact := 4096 * float64(r) / roughSpan
			for _, i := range []float64{math.Round(exact - 0.06), math.Round(exact + 0.06)} {
				t[(countScale+uint64(int64(i)))%4096] = uint32(4096*int64(roughUpto[r]) - 480*int64(i) + countLift)
			}
		}
		return t
	}()
)

// sumCounts returns Σ C(⌊x/e⌋) over different rough e, 13 ≤ e ≤ √x, with the
// given reciprocals; half = x + ½ and x ≤ floatMax. All arithmetic is modulo 2⁶⁴,
// and 4096·Σ C < 2⁶⁴ at the end: C(t) ≤ t/4 for t ≥ 13, and Σ 1/e < 5.4 over the
// numbers from 13 to √x coprime to 6, so Σ C < 1.35·2⁵¹.
func sumCounts(half float64, inverse []float64) int64 {
	var scaled, rest uint64
	table := &countTable
	i := 0
	for ; i < len(inverse)-3; i += 4 {
		b := math.Float64bits((half*inverse[i] + toInteger) * reciprocal)
		scaled += b
		rest += uint64(table[b&4095])
		b = math.Float64bits((half*inverse[i+1] + toInteger) * reciprocal)
		scaled += b
		rest += uint64(table[b&4095])
		b = math.Float64bits((half*inverse[i+2] + toInteger) * reciprocal)
		scaled += b
		rest += uint64(table[b&4095])
		b = math.Float64bits((half*inverse[i+3] + toInteger) * reciprocal)
		scaled += b
		rest += uint64(table[b&4095])
	}
	for ; i < len(inverse); i++ {
		b := math.Float64bits((half*inverse[i] + toInteger) * reciprocal)
		scaled += b
		rest += uint64(table[b&4095])
	}
	n := uint64(len(inverse))
	return int64((roughCount*(scaled-n*countBase) + rest - n*countLift) / 4096)
}

// prefixTable holds F(t) for the t of one segment, raised by prefixLift, at
// index ⌊(t+1)/2⌋ modulo its size: F(2j) = F(2j−1), and a segment spans less
// than twice the size.
type prefixTable [1 << 18]uint16

const prefixLift = 1 << 15

// at returns F(t).
func (p *prefixTable) at(t int64) int64 {
	return int64(p[(t+1)>>1&int64(len(p)-1)]) - prefixLift
}

// sumPrefix returns Σ F(⌊x/d⌋) over the d with the given reciprocals, where
// quarter = (x + ½)/2, x ≤ floatMax and every ⌊x/d⌋ is in the table.
func sumPrefix(quarter float64, inverse []float64, table *prefixTable) int64 {
	const mask = uint64(len(prefixTable{}) - 1)
	sum := uint64(0)
	i := 0
	for ; i < len(inverse)-3; i += 4 {
		sum += uint64(table[math.Float64bits(quarter*inverse[i]+(1<<52))&mask])
		sum += uint64(table[math.Float64bits(quarter*inverse[i+1]+(1<<52))&mask])
		sum += uint64(table[math.Float64bits(quarter*inverse[i+2]+(1<<52))&mask])
		sum += uint64(table[math.Float64bits(quarter*inverse[i+3]+(1<<52))&mask])
	}
	for ; i < len(inverse); i++ {
		sum += uint64(table[math.Float64bits(quarter*inverse[i]+(1<<52))&mask])
	}
	return int64(sum) - prefixLift*int64(len(inverse))
}

// sumBytes returns Σ μ over the bytes of a piece of the sieve. Adding the
// words with −1, 0 or 1 in each byte up is exact as long as every byte of the
// sum stays within ±127, which 127 words guarantee; one more 128 in each byte
// makes them positive.
func sumBytes(buf []byte, bias uint64) int64 {
	total := int64(0)
	for len(buf) >= 8 {
		part := buf[:min(len(buf), 8*127)&^7]
		buf = buf[len(part):]
		acc := uint64(128 * eachByte)
		for i := 0; i < len(part)-7; i += 8 {
			nz, neg := signs(binary.LittleEndian.Uint64(part[i:]), bias)
			acc += nz>>7 - neg>>6
		}
		total += byteSum(acc) - 8*128
	}
	return total
}

// byteSum returns the sum of the eight bytes of x.
func byteSum(x uint64) int64 {
	const even = 0x00ff00ff00ff00ff
	x = x&even + x>>8&even
	return int64(x * 0x0001000100010001 >> 48)
}

// sumStrided returns Σ values[k·d − base] over the rough d with index in
// [from, to).
func sumStrided[T int32 | int64](values []T, k, base, from, to int64) int64 {
	sum := int64(0)
	for from < to {
		q, i := from/roughCount, from%roughCount
		n := min(to-from, roughCount-i)
		row := values[k*(roughSpan*q)-base+k*int64(rough[i]):]
		first := int64(rough[i])
		for _, r := range rough[i : i+n] {
			sum += int64(row[k*(int64(r)-first)])
		}
		from += n
	}
	return sum
}
