package bezout

import (
	"encoding/binary"
	"math/bits"
)

// sumSegment returns Σ μ over the bytes of a piece of the sieve.
func sumSegment(buf []byte, bias uint64) int64 {
	var all, negatives int
	for ; len(buf) >= 8; buf = buf[8:] {
		nz, neg := signs(binary.LittleEndian.Uint64(buf), bias)
		all += bits.OnesCount64(nz)
		negatives += bits.OnesCount64(neg)
	}
	return int64(all - 2*negatives)
}

// sumCounts returns Σ C(⌊x/e⌋) over the e with the given reciprocals, where
// half = x + ½ and x ≤ floatMax.
func sumCounts(half float64, inverse []float64) int64 {
	var whole, part uint64
	for _, v := range inverse {
		hi, lo := bits.Mul64(uint64(int64(half*v)), roughMagic)
		whole += hi
		part += uint64(roughFrac[lo>>52])
	}
	return int64(roughCount*whole + part)
}

// sumTable returns Σ table[(⌊x/d⌋ − base)/2] over the d with the given
// reciprocals, where half = x + ½ and x ≤ floatMax.
func sumTable(half float64, inverse []float64, table []int32, base int64) int64 {
	sum := int64(0)
	for _, v := range inverse {
		sum += int64(table[(int64(half*v)-base)>>1])
	}
	return sum
}
