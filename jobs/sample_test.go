package jobs

import (
	"math"
	"testing"
)

// TestSampleShare counts how many of 200,000 cells are picked: within six
// standard deviations of the share.
func TestSampleShare(t *testing.T) {
	const cells = 200_000
	for _, share := range []int64{0, 1000, 20_000, 500_000, 999_999, All} {
		for seed := range uint64(3) {
			s := Sample{share, seed}
			k := 0
			for i := range int64(cells) {
				if s.Has("hopping", i) {
					k++
				}
			}
			p := float64(share) / All
			if d := math.Abs(float64(k) - p*cells); d > 6*math.Sqrt(p*(1-p)*cells) {
				t.Errorf("share %s, seed %d: %d of %d cells", s, seed, k, cells)
			}
		}
	}
}

// TestSampleIsFixed: other machines and later releases must pick the same, and
// another seed or sweep something else.
func TestSampleIsFixed(t *testing.T) {
	list := func(s Sample, sweep string) (out []int64) {
		for i := int64(0); len(out) < 3; i++ {
			if s.Has(sweep, i) {
				out = append(out, i)
			}
		}
		return out
	}
	a := list(Sample{20_000, 1}, "hopping")
	if b := list(Sample{20_000, 1}, "hopping"); a[0] != b[0] || a[1] != b[1] || a[2] != b[2] {
		t.Errorf("once %v, then %v", a, b)
	}
	for _, other := range [][]int64{list(Sample{20_000, 2}, "hopping"), list(Sample{20_000, 1}, "bezout")} {
		if a[0] == other[0] && a[1] == other[1] && a[2] == other[2] {
			t.Errorf("the same cells %v", a)
		}
	}
	// A larger share holds the smaller one.
	for i := range int64(10_000) {
		if (Sample{20_000, 7}).Has("s", -i) && !(Sample{20_001, 7}).Has("s", -i) {
			t.Errorf("cell %d leaves when the share grows", i)
		}
	}
}

func TestSampleText(t *testing.T) {
	for millionths, want := range map[int64]string{0: "0%", 20_000: "2%", 25_000: "2.5%", 1: "0.0001%", 10_100: "1.01%", All: "all"} {
		if got := (Sample{Millionths: millionths}).String(); got != want {
			t.Errorf("%d is written %s, want %s", millionths, got, want)
		}
	}
}
