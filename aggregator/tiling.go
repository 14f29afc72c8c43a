package aggregator

import (
	"fmt"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// checkTiling verifies what the exactly-once argument stands on: the points
// rise and lie outside of the dense part, and the cells of the dense part, each
// computed from its index, follow one another without gap or overlap from its
// first n to its last. The grid must have passed its own Check.
func checkTiling(s jobs.Sweep) error {
	for i, n := range s.Set.Points {
		if n < 1 || n > engine.MaxN || (i > 0 && n <= s.Set.Points[i-1]) || (n >= s.Set.Lo && n < s.Set.Hi) {
			return fmt.Errorf("sweep %s: point %d is out of place", s.Name, n)
		}
	}
	next := s.Set.Lo
	first, last := s.Cells()
	for i := first; i < last; i++ {
		c, _ := s.Cell(i)
		if c.Lo != next || c.Hi <= c.Lo {
			return fmt.Errorf("sweep %s: cell %d covers n = %d…%d, want from %d", s.Name, i, c.Lo, c.Hi-1, next)
		}
		next = c.Hi
	}
	if next != s.Set.Hi {
		return fmt.Errorf("sweep %s: the cells end at n = %d, want %d", s.Name, next-1, s.Set.Hi-1)
	}
	return nil
}
