package jobs

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"strings"
)

// All is the share of everything, in millionths.
const All = 1_000_000

// Sample is a share of a sweep's cells and points. Which ones are in it depends
// on its fields and on the cell alone, so that everybody picks the same.
type Sample struct {
	// Millionths is the share, 0 … All.
	Millionths int64
	// Seed picks other cells of the same share.
	Seed uint64
}

// Has reports whether the cell with this grid index is in the sample of the
// sweep; for a point the key is −n.
//
// The key, the sweep's name and the seed are mixed to 64 bits by the finalizer
// of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection of which every
// output bit depends on every input bit. Each cell is in the sample with a
// probability that differs from the share by less than 2⁻⁴⁴.
func (s Sample) Has(sweep string, key int64) bool {
	if s.Millionths >= All {
		return true
	}
	h := fnv.New64a()
	h.Write([]byte(sweep))
	x := mix(mix(h.Sum64()^s.Seed) + uint64(key)*0x9E3779B97F4A7C15)
	part, _ := bits.Mul64(x, All) // uniform in 0 … All−1
	return int64(part) < s.Millionths
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// String writes the share in percent, or "all".
func (s Sample) String() string {
	if s.Millionths >= All {
		return "all"
	}
	text := fmt.Sprintf("%d", s.Millionths/10_000)
	if rest := s.Millionths % 10_000; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%04d", rest), "0")
	}
	return text + "%"
}
