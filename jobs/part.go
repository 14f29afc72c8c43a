package jobs

import "github.com/nsweep/nsweep/engine"

// Part is n in [Lo, Hi): whole cells, or what a sweep has of them.
type Part struct{ Lo, Hi int64 }

// Parts returns what a task computes of its range, in order: all of it, or for a
// check the cells of its share, neighbours together. It is empty for points, and
// takes time in proportion to the number of cells.
func (t Task) Parts(grid engine.Grid) []Part {
	switch {
	case t.Hi <= t.Lo:
		return nil
	case t.Check == 0 || t.Check >= All:
		return []Part{{t.Lo, t.Hi}}
	}
	var out []Part
	has := t.CheckSample().Of(t.Sweep)
	first, last := grid.Range(t.Lo, t.Hi)
	for i := first; i < last; i++ {
		if !has(i) {
			continue
		}
		c := grid.Cell(i).Clip(t.Lo, t.Hi)
		if k := len(out); k > 0 && out[k-1].Hi == c.Lo {
			out[k-1].Hi = c.Hi
		} else {
			out = append(out, Part{c.Lo, c.Hi})
		}
	}
	return out
}
