package hopping

import "math/bits"

// plainReach is the largest n for the algorithms that look at all 2^(n+1) − 1
// positions of the board: two million positions at n = 20.
const plainReach = 20

// lastIndex returns K_n = 2^(n+1) − 2, the end of the board. The next weight,
// w(K_n + 1) = n + 1, is larger than any move, so K_n is a loss and no move
// passes it.
func lastIndex(n int) int { return 1<<(n+1) - 2 }

// labels decides every position by the rule of the game alone: a position is a
// win exactly when some move leads to a loss. It costs O(2^n · n) time and 2^n
// bytes.
type labels struct {
	loss []bool
}

func (l *labels) solve(n int, p *poller) (result, error) {
	last := lastIndex(n)
	l.loss = grow(l.loss, last+1)
	for k := last; k >= 0; k-- {
		loss := true
		for j, cost := k+1, 0; j <= last; j++ {
			if cost += bits.OnesCount(uint(j)); cost > n {
				break
			}
			if l.loss[j] {
				loss = false
				break
			}
		}
		l.loss[k] = loss
		if err := p.spend(16); err != nil {
			return result{}, err
		}
	}
	// The highest opening move from 0 to a loss.
	best, cost := 0, 0
	for j := 1; j <= last; j++ {
		if cost += bits.OnesCount(uint(j)); cost > n {
			break
		}
		if l.loss[j] {
			best = cost
		}
	}
	return result{value: best, work: int64(last) + 1}, nil
}
