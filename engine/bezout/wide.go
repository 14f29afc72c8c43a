package bezout

import (
	"math/bits"

	"github.com/nsweep/nsweep/engine"
)

// mul returns a·b. |a·b| ≤ 2¹²⁶ always fits.
func mul(a, b int64) engine.Int128 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The unsigned product of two's complement words exceeds the signed one by
	// 2⁶⁴·b when a < 0 and by 2⁶⁴·a when b < 0.
	return engine.Int128{Hi: int64(hi) - (a>>63)&b - (b>>63)&a, Lo: lo}
}

// mulWide returns x·b modulo 2¹²⁸.
func mulWide(x engine.Int128, b int64) engine.Int128 {
	hi, lo := bits.Mul64(x.Lo, uint64(b))
	return engine.Int128{Hi: int64(hi) - (b>>63)&int64(x.Lo) + x.Hi*b, Lo: lo}
}

// half returns x/2 for even x.
func half(x engine.Int128) engine.Int128 {
	return engine.Int128{Hi: x.Hi >> 1, Lo: x.Lo>>1 | uint64(x.Hi)<<63}
}
