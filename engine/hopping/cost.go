package hopping

import "math"

// Costs are in nanoseconds for one value on one core of the reference machine
// (AMD EPYC, Zen 4, 2.6 GHz, its other core busy). They were fitted to averages
// over stretches of n.

func labelsCost(n float64) float64 { return 100 + math.Exp2(n+1)*5 }
func grundyCost(n float64) float64 { return 100 + math.Exp2(n+1)*8 }
func walkCost(n float64) float64   { return 50 + math.Exp2(n+1)*1.4 }

// tableCost counts (n+1)·t(t+1)/2 updates with the stopping group that is
// usual for n.
func tableCost(n float64) float64 {
	t := usualGroup(n)
	return 200 + (n+1)*t*(t+1)/2*0.9
}

// classesCost follows the evaluations for one n, 8·n to 10·n, each of which
// takes longer as the tables outgrow one cache after the other. Beyond wideKeep
// the classes of every group are found again for each n.
func classesCost(n float64) float64 {
	switch {
	case n <= narrowMax:
		return 300 + n*(5.1+1.5e-5*n)
	case n <= wideKeep:
		return n * (8.2 + 1.35*math.Log10(n/1e5))
	default:
		return n * (18 + 7*math.Log10(n/1e7))
	}
}

// usualGroup is a fit of the stopping group t(n), which scatters around it by
// one or two.
func usualGroup(n float64) float64 {
	l := math.Log2(n + 1)
	return max(2.75*l-6.9, 1.7*l+2)
}

// sumCost returns the sum of cost(n) for lo ≤ n < hi: term by term when there
// are few n, else by the midpoints of 64 stretches, which is exact to a fraction
// of a percent for costs that grow like a power of n.
func sumCost(cost func(n float64) float64, lo, hi int64) float64 {
	const stretches = 64
	count := hi - lo
	sum := 0.0
	if count <= stretches {
		for n := lo; n < hi; n++ {
			sum += cost(float64(n))
		}
		return sum
	}
	from := lo
	for i := int64(1); i <= stretches; i++ {
		// count < 2^28, the largest reach, so i·count fits.
		to := lo + count*i/stretches
		sum += float64(to-from) * cost(float64(from+to-1)/2)
		from = to
	}
	return sum
}
