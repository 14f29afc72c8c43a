package bezout

import (
	"context"

	"github.com/nsweep/nsweep/engine"
)

// gameReach is the largest n that the game is played for: 12,000 positions
// with up to 10,000 candidate moves each.
const gameReach = 200

// player decides positions by the rules alone and remembers what it found.
type player struct {
	n     int
	known []int8 // by a·(n+1)+b: 0 unknown, 1 win, -1 loss
}

// wins reports whether the player to move from (a, b) wins. A position with a
// 1 in it is a win. Any other is a win exactly when some move leads to a loss.
func (p *player) wins(a, b int) bool {
	if a == 1 || b == 1 {
		return true
	}
	at := a*(p.n+1) + b
	if p.known[at] == 0 {
		p.known[at] = -1
		for u := 1; u < a; u++ {
			for v := 1; v < b; v++ {
				if d := a*v - b*u; (d == 1 || d == -1) && !p.wins(u, v) {
					p.known[at] = 1
				}
			}
		}
	}
	return p.known[at] == 1
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// game emits W(lo), …, W(hi−1) by playing every position with a + b < hi.
// O(hi⁴) time, O(hi²) memory.
func game(ctx context.Context, lo, hi int64, out *emitter) error {
	p := player{n: int(hi - 1), known: make([]int8, hi*hi)}
	count := int64(0)
	for s := int64(2); s < hi; s++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s-1 >= lo { // W(s−1) is complete: all positions with a + b < s are counted
			if err := out.value(engine.Int128From(count)); err != nil {
				return err
			}
		}
		for a := int64(1); a < s; a++ {
			if gcd(a, s) == 1 && p.wins(int(a), int(s-a)) {
				count++
			}
		}
	}
	if err := out.value(engine.Int128From(count)); err != nil {
		return err
	}
	return out.flush()
}
