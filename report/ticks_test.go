package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	labels := func(ticks []tick) (out []string) {
		for _, k := range ticks {
			if k.label != "" {
				out = append(out, k.label)
			}
		}
		return out
	}
	for _, c := range []struct {
		lo, hi float64
		log    bool
		want   string
	}{
		{0, 20_600, false, "0 5000 10000 15000 20000"},
		{-0.22, 0.52, false, "−0.2 −0.1 0 0.1 0.2 0.3 0.4 0.5"},
		{1, 1e7, false, "2·10⁶ 4·10⁶ 6·10⁶ 8·10⁶ 10⁷"},
		{0, 1, false, "0 0.2 0.4 0.6 0.8 1"},
		{-3e-7, 3e-7, false, "−3·10⁻⁷ −2·10⁻⁷ −10⁻⁷ 0 10⁻⁷ 2·10⁻⁷ 3·10⁻⁷"},
		{0, 4, true, "1 10 10² 10³ 10⁴"},
		{-2, 18, true, "10⁻² 1 10² 10⁴ 10⁶ 10⁸ 10¹⁰ 10¹² 10¹⁴ 10¹⁶ 10¹⁸"},
		{2.2, 3.1, true, "200 300 400 500 600 700 800 900 10³"},
		{1.1, 2.7, true, "20 30 50 10² 200 300 500"},
		{3.05, 3.25, true, "1200 1300 1400 1500 1600 1700"},
		{1e9, 1e9 + 1000, false, "0 200 400 600 800 1000"},
		{9, 9.000000434294, true, "0 200 400 600 800"},
		{2.026e17 + 1, 2.026e17 + 6e11, false, "0 10¹¹ 2·10¹¹ 3·10¹¹ 4·10¹¹ 5·10¹¹ 6·10¹¹"},
		{-1e6 - 20, -1e6, false, "80 85 90 95 100"},
	} {
		if got := strings.Join(labels(axisTicks(c.lo, c.hi, c.log)), " "); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e12, 1e12).Draw(t, "lo")
		hi := lo + rapid.Float64Range(1, 1e12).Draw(t, "len")
		ticks := axisTicks(lo, hi, false)
		if k := len(labels(ticks)); k < 3 || k > 9 || len(ticks) > 60 {
			t.Fatalf("%d labels, %d ticks", k, len(ticks))
		}
	})
	// Labels differ and are few on every axis, and with the base make the number
	// where they stand.
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Bool().Draw(t, "log")
		lo := math.Floor(math.Pow(10, rapid.Float64Range(0, 12).Draw(t, "log10 of from")))
		hi := lo + math.Ceil(lo*math.Pow(10, rapid.Float64Range(-9, 3).Draw(t, "log10 of the part"))) + 1
		if log {
			lo, hi = math.Log10(lo), math.Log10(hi)
		}
		base := axisBase(lo, hi, log)
		seen := map[string]bool{}
		for _, k := range axisTicks(lo, hi, log) {
			if k.label == "" {
				continue
			}
			if seen[k.label] {
				t.Fatalf("two ticks are %s", k.label)
			}
			seen[k.label] = true
			at := k.at
			if log {
				at = math.Pow(10, at)
			}
			if got := tickNumber(t, k.label) + base; math.Abs(got-at) > 1e-5*(math.Abs(at-base))+1e-9*math.Abs(at) {
				t.Fatalf("%s and %v stand at %v", k.label, base, at)
			}
		}
		if len(seen) < 2 || len(seen) > 13 {
			t.Fatalf("%d labels from %v to %v", len(seen), lo, hi)
		}
	})
}

// tickNumber reads a label as a reader would.
func tickNumber(t interface{ Fatal(...any) }, label string) float64 {
	label, exponent := lowered(strings.Replace(label, "−", "-", 1))
	if exponent != "" {
		label = strings.TrimSuffix(label, "10") + "e" + strings.Replace(exponent, "−", "-", 1)
		label = strings.Replace(strings.Replace(label, "·e", "e", 1), "-e", "-1e", 1)
		if strings.HasPrefix(label, "e") {
			label = "1" + label
		}
	}
	v, err := strconv.ParseFloat(label, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPicturesFontHasEveryRune reads the font's table of characters: one that it
// lacks would be a hole in a label, such as 10⁹ without its exponent.
func TestPicturesFontHasEveryRune(t *testing.T) {
	var face font.Face
	for _, f := range liberation.Collection() {
		if f.Font.Typeface == "Liberation" && f.Font.Variant == "Sans" && f.Font.Weight == 0 && f.Font.Style == 0 {
			face = f
		}
	}
	if face.Face == nil {
		t.Fatal("no Liberation Sans")
	}
	has := func(r rune) bool {
		i, err := face.Face.GlyphIndex(nil, r)
		return err == nil && i != 0
	}
	if has('\u2070') {
		t.Error("the font has ⁰ now: labels need no raised digits of their own")
	}
	for k := -40; k <= 40; k++ {
		plain, exponent := lowered(power(k))
		for _, r := range plain + exponent {
			if !has(r) {
				t.Errorf("10^%d is written with %q, which the font lacks", k, r)
			}
		}
	}
	for _, k := range PlotKinds {
		for _, symbol := range []string{"M(n)", "W(n)", "f(n)", "t(n)"} {
			m, err := newMeasure(k.Kind, symbol)
			if err != nil {
				t.Fatal(err)
			}
			d := newDrawing(m, PlotOptions{Kind: k.Kind, Lo: 1, Hi: 2000, Footer: []string{"run a, sweep b, 11 points 4…1000"}})
			d.high, d.hidden = true, 1
			for _, s := range append(d.footer(), m.title, m.xName, m.yName, "n − 1000 + 5") {
				for _, r := range s {
					if !has(r) {
						t.Errorf("%s of %s: %q is written with %q, which the font lacks", k.Kind, symbol, s, r)
					}
				}
			}
		}
	}
}
