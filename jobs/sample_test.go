package jobs

import (
	"math"
	"slices"
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

// TestSampleIsFixed: other machines and later releases must pick the same. The
// values are those of the first release.
func TestSampleIsFixed(t *testing.T) {
	for _, c := range []struct {
		sweep string
		seed  uint64
		want  []int64
	}{
		{"hopping", 1, []int64{39, 108, 112, 114}}, {"hopping", 2, []int64{8, 30, 56, 149}},
		{"bezout", 1, []int64{12, 162, 193, 226}}, {"bezout", 2, []int64{27, 69, 135, 262}},
	} {
		var got []int64
		for i := int64(0); len(got) < len(c.want); i++ {
			if (Sample{20_000, c.seed}).Has(c.sweep, i) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, seed %d: %v, want %v", c.sweep, c.seed, got, c.want)
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
