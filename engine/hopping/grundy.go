package hopping

import "math/bits"

// grundy computes the Sprague–Grundy value of every position: the least number
// that no reachable position has. A position is a loss exactly when its value
// is 0. It costs O(2^n · n) time and 2^n bytes.
//
// A position has at most n moves, because each costs at least 1, so values are
// at most n ≤ 20 and fit a byte and the bits of one word.
type grundy struct {
	value []uint8
}

func (g *grundy) solve(n int, p *poller) (result, error) {
	last := lastIndex(n)
	g.value = grow(g.value, last+1)
	for k := last; k >= 0; k-- {
		seen := uint32(0)
		for j, cost := k+1, 0; j <= last; j++ {
			if cost += bits.OnesCount(uint(j)); cost > n {
				break
			}
			seen |= 1 << g.value[j]
		}
		g.value[k] = uint8(bits.TrailingZeros32(^seen))
		if err := p.spend(16); err != nil {
			return result{}, err
		}
	}
	best, cost := 0, 0
	for j := 1; j <= last; j++ {
		if cost += bits.OnesCount(uint(j)); cost > n {
			break
		}
		if g.value[j] == 0 {
			best = cost
		}
	}
	return result{value: best, work: int64(last) + 1}, nil
}
