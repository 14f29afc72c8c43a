package store

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/nsweep/nsweep/jobs"
)

// planOf writes what the commit scripts must know of a sweep's plan: chunk and
// bit of the last cell, then the addresses of the cells it clips, at most two.
// Without a dense part it is "-".
func planOf(w jobs.Sweep) string {
	first, last := w.Cells()
	if first == last {
		return "-"
	}
	words := []string{strings.ReplaceAll(address(last-1), "/", " ")}
	for _, c := range clippedOf(w) {
		words = append(words, address(c.index))
	}
	return strings.Join(words, " ")
}

// clipped is a cell of which a plan wants a part only.
type clipped struct {
	index  int64
	lo, hi int64
}

func (c clipped) extent() string {
	return strconv.FormatInt(c.lo, 10) + " " + strconv.FormatInt(c.hi, 10)
}

// clippedOf returns the cells that a sweep clips: its first, its last, both or
// none. No other can be: they lie between.
func clippedOf(w jobs.Sweep) []clipped {
	first, last := w.Cells()
	var out []clipped
	for _, i := range []int64{first, last - 1} {
		if first == last || (len(out) > 0 && out[0].index == i) {
			continue
		}
		if c, whole := w.Cell(i); !whole {
			out = append(out, clipped{i, c.Lo, c.Hi})
		}
	}
	return out
}

// identityOf writes what stored values of a sweep depend on. It must be the
// same for as long as an epoch lives.
func identityOf(w jobs.Sweep) string {
	return fmt.Sprintf("engine %s version %d, params {%s}, keep %s, grid %d", w.Engine, w.Version, w.Params, w.Keep, w.Grid.Version)
}

// chunksOf merges the chunks of the sweep's cells into a list of ranges such as
// "0-3 17-20": all that was ever planned, so that it can be found again.
func chunksOf(w jobs.Sweep, before string) string {
	type span struct{ from, to int64 }
	var spans []span
	for _, r := range strings.Fields(before) {
		var p span
		if n, err := fmt.Sscanf(r, "%d-%d", &p.from, &p.to); err == nil && n == 2 {
			spans = append(spans, p)
		}
	}
	if first, last := w.Cells(); last > first {
		spans = append(spans, span{first / ChunkCells, (last - 1) / ChunkCells})
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var out []string
	for i := 0; i < len(spans); {
		p := spans[i]
		for i++; i < len(spans) && spans[i].from <= p.to+1; i++ {
			p.to = max(p.to, spans[i].to)
		}
		out = append(out, fmt.Sprintf("%d-%d", p.from, p.to))
	}
	return strings.Join(out, " ")
}
