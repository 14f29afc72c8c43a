package report

import (
	"fmt"
	"math"
	"math/big"

	"github.com/nsweep/nsweep/engine"
)

// PlotKind is what a picture shows of the values f(n).
type PlotKind string

// The kinds of pictures.
const (
	PlotValue     PlotKind = "value"     // f(n)
	PlotRatio     PlotKind = "ratio"     // f(n)/n
	PlotLogLog    PlotKind = "loglog"    // f(n), both axes logarithmic
	PlotHistogram PlotKind = "histogram" // how often f(n)/n falls into each of about a hundred classes
	PlotCubes     PlotKind = "cubes"     // Σ f³ up to N, divided by N⁴/16
	PlotSquare    PlotKind = "square"    // f(n)/n² beside 2/π²
	PlotDeviation PlotKind = "deviation" // (f(n) − 2n²/π²)/n
)

// PlotKinds are all kinds, each with what it shows.
var PlotKinds = []struct {
	Kind PlotKind
	Doc  string
}{
	{PlotValue, "f(n)"},
	{PlotRatio, "f(n)/n"},
	{PlotLogLog, "f(n) with two logarithmic axes"},
	{PlotHistogram, "histogram of f(n)/n"},
	{PlotCubes, "the sum of f(n)³ up to N divided by N⁴/16, where it tends to if f(n)/n is uniform"},
	{PlotSquare, "f(n)/n² beside 2/π², the limit for Bézout's game"},
	{PlotDeviation, "(f(n) − 2n²/π²)/n"},
}

// measure is how a kind turns values into heights, and how it is drawn.
type measure struct {
	// y returns the height at n with value v, and whether it is shown. It is
	// called for every value in order of n.
	y            func(n int64, v engine.Int128) (float64, bool)
	logX, logY   bool
	curve        bool     // neighbours belong together
	mark         *float64 // height of a line to compare with
	markName     string
	title, yName string
	xName        string // "n" when empty
	histogram    bool
}

// twoOverPi2 is 2/π², the limit of W(n)/n².
const twoOverPi2 = 2 / (math.Pi * math.Pi)

// newMeasure returns the measure of a kind for a function written like "M(n)".
// Heights are floating point: they end as pixels, one of some thousand.
func newMeasure(kind PlotKind, symbol string) (measure, error) {
	f := Letter(symbol)
	float := func(v engine.Int128) float64 { return float64(v.Hi)*0x1p64 + float64(v.Lo) }
	switch kind {
	case PlotValue:
		return measure{title: symbol, yName: symbol, y: func(_ int64, v engine.Int128) (float64, bool) { return float(v), true }}, nil
	case PlotRatio, PlotHistogram:
		m := measure{title: symbol + "/n", yName: symbol + "/n", histogram: kind == PlotHistogram,
			y: func(n int64, v engine.Int128) (float64, bool) { return float(v) / float64(n), true }}
		if m.histogram {
			m.title = "How often " + symbol + "/n takes which values"
			m.y = func(n int64, v engine.Int128) (float64, bool) {
				y := float(v) / float64(n)
				if y == 1 { // the end of the scale belongs to the last class
					y = math.Nextafter(1, 0)
				}
				return y, true
			}
		}
		return m, nil
	case PlotLogLog:
		return measure{title: symbol + ", logarithmic", yName: symbol, logX: true, logY: true, y: func(_ int64, v engine.Int128) (float64, bool) {
			x := float(v)
			return math.Log10(x), x > 0
		}}, nil
	case PlotCubes:
		// The sum of a million million positive terms has a relative error of
		// 10^12·2^-53 at most, below the height of a pixel.
		sum, one := 0.0, 1.0
		return measure{title: "Σ " + f + "(n)³ for n ≤ N, divided by N⁴/16", yName: "Σ " + f + "³ / (N⁴/16)", logX: true, curve: true, xName: "N",
			mark: &one, markName: "1",
			y: func(n int64, v engine.Int128) (float64, bool) {
				x, m := float(v), float64(n)
				sum += x * x * x
				return sum / (m * m * m * m / 16), true
			}}, nil
	case PlotSquare:
		limit := twoOverPi2
		return measure{title: symbol + "/n² and 2/π²", yName: symbol + "/n²", logX: true, curve: true, mark: &limit, markName: "2/π²",
			y: func(n int64, v engine.Int128) (float64, bool) { return float(v) / float64(n) / float64(n), true }}, nil
	case PlotDeviation:
		zero := 0.0
		return measure{title: "(" + symbol + " − 2n²/π²)/n", yName: "(" + symbol + " − 2n²/π²)/n", mark: &zero, markName: "0", y: deviation}, nil
	}
	return measure{}, fmt.Errorf("plot %q is not known, want one of %s", kind, kindNames())
}

func kindNames() (out string) {
	for i, k := range PlotKinds {
		if i > 0 {
			out += ", "
		}
		out += string(k.Kind)
	}
	return out
}

// deviation returns (v − 2n²/π²)/n. The two terms agree in most of their
// digits: with n ≤ 10^9 both are below 2^58, their rounding is below 2^6 and
// the quotient, of order 1, is off by less than 10^-6 for n near 10^9 and by
// less below. Beyond, 256 bits are used.
func deviation(n int64, v engine.Int128) (float64, bool) {
	if n <= 1_000_000_000 {
		if x, ok := v.Int64(); ok {
			m := float64(n)
			return (float64(x) - twoOverPi2*m*m) / m, true
		}
	}
	m := new(big.Float).SetPrec(256).SetInt64(n)
	limit := new(big.Float).SetPrec(256).Mul(m, m)
	limit.Mul(limit, bigTwoOverPi2)
	x := new(big.Float).SetPrec(256).SetInt(v.Big())
	y, _ := x.Sub(x, limit).Quo(x, m).Float64()
	return y, true
}

// bigTwoOverPi2 is 2/π² from 100 digits of π, which are well known.
var bigTwoOverPi2 = func() *big.Float {
	const digits = "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067"
	pi, _, err := big.ParseFloat(digits, 10, 256, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	two := new(big.Float).SetPrec(256).SetInt64(2)
	return two.Quo(two, new(big.Float).SetPrec(256).Mul(pi, pi))
}()
