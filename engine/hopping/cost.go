package hopping

import "math"

// Costs are in nanoseconds for one value on one core of the reference machine
// (AMD EPYC, Zen 4, 2.6 GHz, where one update of the table algorithm takes
// about 0.8 ns).

func labelsCost(n float64) float64 { return math.Exp2(n+1) * (3 + 0.8*n) }
func grundyCost(n float64) float64 { return math.Exp2(n+1) * (4 + 1.2*n) }
func walkCost(n float64) float64   { return math.Exp2(n+1) * 1.5 }

// tableCost counts (n+1)·t(t+1)/2 updates with the stopping group that is
// usual for n.
func tableCost(n float64) float64 {
	t := usualGroup(n)
	return 100 + (n+1)*t*(t+1)/2*0.8
}

// classesCost is a fit.
func classesCost(n float64) float64 { return 300 + 6*n }

// usualGroup is a fit of the stopping group t(n), which grows by about three
// for each doubling of n and scatters around that by one or two.
func usualGroup(n float64) float64 { return max(3.05*math.Log2(n+1)-9.2, 1+math.Log2(n+1)) }

// sumCost returns the sum of cost(n) for lo ≤ n < hi: term by term when there
// are few n, else by the midpoints of at most 64 stretches, which is exact to a
// fraction of a percent for costs that grow like a power of n.
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
		to := lo + int64(float64(count)*float64(i)/stretches)
		if i == stretches {
			to = hi
		}
		sum += float64(to-from) * cost(float64(from+to-1)/2)
		from = to
	}
	return sum
}
