package report

import (
	"math"
	"strconv"
	"strings"
)

// tick is a place on an axis, in its own units; a label is drawn if there is
// one.
type tick struct {
	at    float64
	label string
}

// narrow is the number of decades below which a logarithmic axis has even ticks.
const narrow = 0.7

// axisTicks returns the ticks of an axis from lo to hi. A logarithmic one is in
// powers of ten. Labels leave out the axis' base.
func axisTicks(lo, hi float64, log bool) (out []tick) {
	base := axisBase(lo, hi, log)
	if !log {
		out = linearTicks(lo-base, hi-base)
		for i := range out {
			out[i].at += base
		}
		return out
	}
	if hi-lo < narrow {
		for _, t := range linearTicks(math.Pow(10, lo)-base, math.Pow(10, hi)-base) {
			t.at = math.Log10(t.at + base)
			out = append(out, t)
		}
		return out
	}
	// Every decade has a tick, so many a label that they do not touch; fine
	// ticks at 2 … 9 as long as decades are few.
	first, last := math.Floor(lo), math.Ceil(hi)
	every := math.Ceil((last - first) / 12)
	for d := first; d <= last; d++ {
		if d >= lo-1e-9 && d <= hi+1e-9 {
			k := tick{at: d}
			if math.Mod(d, every) == 0 {
				k.label = power(int(d))
			}
			out = append(out, k)
		}
		for m := 2.0; m <= 9 && last-first <= 12; m++ {
			at := d + math.Log10(m)
			if at < lo || at > hi {
				continue
			}
			k := tick{at: at}
			// As many names as there is room for.
			if hi-lo <= 1 || hi-lo < 3 && (m == 2 || m == 5) || hi-lo < 2 && m == 3 {
				k.label = number(m * math.Pow(10, d))
			}
			out = append(out, k)
		}
	}
	return out
}

// axisBase returns what the labels of an axis leave out, 0 in general: where it
// spans a ten thousandth of its numbers or less, their common leading digits, so
// that labels stay short and differ.
func axisBase(lo, hi float64, log bool) float64 {
	if log {
		if hi-lo >= narrow {
			return 0
		}
		lo, hi = math.Pow(10, lo), math.Pow(10, hi)
	}
	if math.Max(math.Abs(lo), math.Abs(hi)) < 1e4*(hi-lo) {
		return 0
	}
	unit := math.Pow(10, math.Ceil(math.Log10(hi-lo)))
	// Fifteen digits, for the rounding of a unit below 1 would show.
	base, _ := strconv.ParseFloat(strconv.FormatFloat(math.Floor(lo/unit)*unit, 'e', 14, 64), 64) // its own text
	return base
}

// linearTicks returns labelled ticks at multiples of 1, 2 or 5 times a power of
// ten, nine at most, and finer ones between them.
func linearTicks(lo, hi float64) (out []tick) {
	step := math.Pow(10, math.Floor(math.Log10(hi-lo))-1)
	fine := 5.0 // parts of a step
	for i := 0; (hi-lo)/step > 8; i++ {
		if i%3 == 1 { // 2 to 5
			step, fine = step*2.5, 5
		} else {
			step, fine = step*2, 4
		}
		if i%3 == 2 {
			fine = 5
		}
	}
	small := step / fine
	slack := (hi - lo) * 1e-9 // an end that is a multiple but for rounding
	for k := math.Ceil((lo - slack) / small); k*small <= hi+slack; k++ {
		t := tick{at: k * small}
		if math.Mod(k, fine) == 0 {
			// A multiple of the step, free of the rounding of k·small.
			t.at = math.Round(k/fine) * step
			t.label = number(t.at)
		}
		out = append(out, t)
	}
	return out
}

// number writes a tick's number: plain while it is short, with a power of ten
// else.
func number(v float64) string {
	a := math.Abs(v)
	if a == 0 {
		return "0"
	}
	if a < 1e6 && a >= 1e-4 {
		return minus(strconv.FormatFloat(v, 'g', 8, 64))
	}
	s := strconv.FormatFloat(v, 'e', 6, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	e, _ := strconv.Atoi(exponent) // digits of FormatFloat
	switch mantissa {
	case "1":
		return power(e)
	case "-1":
		return "−" + power(e)
	}
	return minus(mantissa) + "·" + power(e)
}

// power writes 10^k.
func power(k int) string {
	switch {
	case k == 0:
		return "1"
	case k == 1:
		return "10"
	case k < 0:
		return "10⁻" + superscript(-k)
	}
	return "10" + superscript(k)
}

// lowered splits raised digits off the end of a label and writes them as plain
// ones.
func lowered(label string) (plain, exponent string) {
	const raised = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
	plain = strings.TrimRight(label, raised)
	exponent = strings.Map(func(r rune) rune {
		k := 0
		for _, c := range raised {
			if c == r {
				break
			}
			k++
		}
		return []rune("−0123456789")[k]
	}, label[len(plain):])
	return plain, exponent
}

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }
