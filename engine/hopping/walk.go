package hopping

import "math/bits"

// walkReach bounds the 2^(n+1) − 1 steps of the walk to about a second.
const walkReach = 28

// walk follows u_{k−1} = σ_{w(k)}(u_k) down from k = 2^(n+1) − 1 in O(2^n) time
// and no memory.
type walk struct{}

func (walk) solve(n int, p *poller) (result, error) {
	const stretch = 1 << 16
	u, steps := 0, int64(0)
	for k := 1<<(n+1) - 1; k >= 1; {
		end := max(k-stretch, 0)
		steps += int64(k - end)
		if err := p.spend(2 * (k - end)); err != nil {
			return result{}, err
		}
		for ; k > end; k-- {
			u = sigma(u, bits.OnesCount(uint(k)), n)
		}
	}
	return result{value: u, work: steps}, nil
}

// sigma is σ_j on {0, …, n}: one step of the walk over an index of weight j.
func sigma(u, j, n int) int {
	if u+j <= n {
		return u + j
	}
	return 0
}
