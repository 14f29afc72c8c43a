package jobs

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"strings"

	"github.com/nsweep/nsweep/engine"
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
func (s Sample) Has(sweep string, key int64) bool { return s.Of(sweep)(key) }

// Of returns Has for one sweep.
func (s Sample) Of(sweep string) func(key int64) bool {
	if s.Millionths >= All {
		return func(int64) bool { return true }
	}
	base := mix(textHash(sweep) ^ s.Seed)
	return func(key int64) bool {
		x := mix(base + uint64(key)*0x9E3779B97F4A7C15)
		part, _ := bits.Mul64(x, All) // uniform in 0 … All−1
		return int64(part) < s.Millionths
	}
}

// CheckSample returns the share of the sweep's cells that are to be confirmed by
// a second computation. The cells depend on the sweep's name and on what it
// computes, not on the run: they stay the same when it is resumed, extended or
// started afresh, and a larger share holds all of a smaller one.
func (s Sweep) CheckSample(millionths int64) Sample {
	return checkSample(millionths, s.Engine, s.Version, s.Params)
}

// CheckCount returns how many of the sweep's cells and points are in that share.
// It takes time in proportion to the number of all.
func (s Sweep) CheckCount(millionths int64) int64 {
	switch {
	case millionths <= 0:
		return 0
	case millionths >= All:
		return s.CellCount()
	}
	has, k := s.CheckSample(millionths).Of(s.Name), int64(0)
	first, last := s.Cells()
	for i := first; i < last; i++ {
		if has(i) {
			k++
		}
	}
	for _, n := range s.Set.Points {
		if has(-n) {
			k++
		}
	}
	return k
}

// CheckSample returns the share of the cells of its range that a check
// computes.
func (t Task) CheckSample() Sample { return checkSample(t.Check, t.Engine, t.Version, t.Params) }

func checkSample(millionths int64, name string, version int, params engine.Params) Sample {
	return Sample{Millionths: millionths, Seed: textHash(fmt.Sprintf("%s@%d %s", name, version, params))}
}

func textHash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
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
