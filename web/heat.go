package web

import (
	"hash/fnv"
	"math"
	"sort"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// MaxBins bounds the squares of one map of cells.
const MaxBins = 2000

// heatSource is all that maps of one sweep are drawn from. It is immutable.
type heatSource struct {
	layout
	ledger   *jobs.Ledger
	verified *jobs.Ledger // nil when unknown
	running  []span       // of tasks with a worker
	failed   []span
	disputed []int64 // places, rising
	times    []timed // what tasks took, the latest last
	version  uint64
}

// timed is a stretch of places that one task computed in so many seconds.
type timed struct {
	span
	seconds float64
}

// sign sets the version: the same whenever the same map would be drawn. reads
// counts the ledgers that were read.
func (h *heatSource) sign(reads uint64) {
	f := fnv.New64a()
	put := func(v int64) {
		var b [8]byte
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		f.Write(b[:])
	}
	put(int64(reads))
	for _, list := range [][]span{h.running, h.failed} {
		put(int64(len(list)))
		for _, s := range list {
			put(s.from)
			put(s.to)
		}
	}
	for _, p := range h.disputed {
		put(p)
	}
	put(int64(len(h.times)))
	if k := len(h.times); k > 0 {
		put(h.times[k-1].from)
	}
	h.version = f.Sum64()
}

// Heat is a map of the cells of one sweep in a window of n, summed up in bins
// of neighbouring cells. The first Extra bins hold Width+1 cells, the others
// Width. In each bin a cell counts once: as disputed, verified or else done
// when it is finished, as failed or else running or else open when it is not.
type Heat struct {
	Sweep string `json:"sweep"`
	// Lo and Hi are the first and the last n of the whole sweep.
	Lo aggregator.Int `json:"lo"`
	Hi aggregator.Int `json:"hi"`
	// Cells is the number of cells in the window, All that of the sweep.
	Cells aggregator.Int `json:"cells"`
	All   aggregator.Int `json:"all"`
	Width aggregator.Int `json:"width"`
	Extra int            `json:"extra"`
	// Los and His are the first and the last n of each bin.
	Los []aggregator.Int `json:"los"`
	His []aggregator.Int `json:"his"`
	// Done counts the done cells of each bin. The others list bin and count.
	Done     []int64    `json:"done"`
	Verified [][2]int64 `json:"verified"`
	Running  [][2]int64 `json:"running"`
	Failed   [][2]int64 `json:"failed"`
	Disputed [][2]int64 `json:"disputed"`
	// Nanos are the nanoseconds per n that tasks took, as far as they were
	// seen, 0 where none was. Slowest is their maximum.
	Nanos   []float64 `json:"nanos,omitempty"`
	Slowest float64   `json:"slowest,omitempty"`
	Version string    `json:"version"`
}

// binning spreads places [from, to) over bins as evenly as can be.
type binning struct {
	from, to     int64
	width, extra int64
	bins         int
}

func newBinning(from, to int64, most int) binning {
	b := binning{from: from, to: to, bins: int(min(to-from, int64(most)))}
	if b.bins > 0 {
		b.width, b.extra = (to-from)/int64(b.bins), (to-from)%int64(b.bins)
	}
	return b
}

// start returns the first place of a bin, or the end for the number of bins.
func (b binning) start(i int) int64 { return b.from + int64(i)*b.width + min(int64(i), b.extra) }

// bin returns the bin of a place.
func (b binning) bin(place int64) int {
	p := place - b.from
	if wide := b.extra * (b.width + 1); p >= wide {
		return int(b.extra + (p-wide)/b.width)
	}
	return int(p / (b.width + 1))
}

// spread calls f for each bin that meets [lo, hi), with the stretch in it.
func (b binning) spread(lo, hi int64, f func(bin int, lo, hi int64)) {
	lo, hi = max(lo, b.from), min(hi, b.to)
	if lo >= hi {
		return
	}
	for i := b.bin(lo); lo < hi; i++ {
		end := min(hi, b.start(i+1))
		f(i, lo, end)
		lo = end
	}
}

func (b binning) add(counts []int64) func(lo, hi int64) {
	return func(lo, hi int64) {
		b.spread(lo, hi, func(i int, lo, hi int64) { counts[i] += hi - lo })
	}
}

// heat draws the map of the n in [lo, hi] in at most bins squares. The time is
// one step for each bin and each stretch of finished cells.
func (h *heatSource) heat(lo, hi int64, bins int, withTimes bool) Heat {
	from, to := h.window(lo, hi)
	b := newBinning(from, to, bins)
	out := Heat{
		Sweep: h.s.Name, Lo: aggregator.Int(h.s.Set.First()), Hi: aggregator.Int(h.s.Set.Last()),
		Cells: aggregator.Int(to - from), All: aggregator.Int(h.count()), Width: aggregator.Int(b.width), Extra: int(b.extra),
		Los: make([]aggregator.Int, b.bins), His: make([]aggregator.Int, b.bins), Version: versionText(h.version),
	}
	for i := range b.bins {
		first, _ := h.ns(b.start(i))
		_, last := h.ns(b.start(i+1) - 1)
		out.Los[i], out.His[i] = aggregator.Int(first), aggregator.Int(last-1)
	}
	c := h.count5(b)
	out.Done = c.done
	out.Verified, out.Running, out.Failed, out.Disputed = sparse(c.verified), sparse(c.running), sparse(c.failed), sparse(c.disputed)
	if withTimes {
		out.Nanos, out.Slowest = h.nanos(b)
	}
	return out
}

// window returns the places of the n in [lo, hi], at least one.
func (h *heatSource) window(lo, hi int64) (from, to int64) {
	all := h.count()
	from, to = h.at(lo), all
	if hi < engine.MaxN {
		to = h.at(hi)
		if to < all {
			if first, _ := h.ns(to); first <= hi {
				to++
			}
		}
	}
	from = min(from, all-1)
	return from, max(to, from+1)
}

// counts are the cells of each bin by state.
type counts struct{ done, verified, running, failed, disputed []int64 }

func (h *heatSource) count5(b binning) counts {
	var c counts
	for _, list := range []*[]int64{&c.done, &c.verified, &c.running, &c.failed, &c.disputed} {
		*list = make([]int64, b.bins)
	}
	h.stretches(h.ledger, b.from, b.to, true, b.add(c.done))
	// Failed cells are open in the ledger; a running task may have stored the
	// first of its cells already, and may be another try of failed ones.
	open := func(list []span, counts []int64) {
		for _, s := range list {
			h.stretches(h.ledger, max(s.from, b.from), min(s.to, b.to), false, b.add(counts))
		}
	}
	open(h.failed, c.failed)
	open(without(h.running, h.failed), c.running)
	if h.verified != nil {
		h.stretches(h.ledger, b.from, b.to, true, func(lo, hi int64) {
			h.stretches(h.verified, lo, hi, true, func(lo, hi int64) {
				b.add(c.verified)(lo, hi)
				b.spread(lo, hi, func(i int, lo, hi int64) { c.done[i] -= hi - lo })
			})
		})
	}
	for _, p := range h.disputed {
		if p < b.from || p >= b.to {
			continue
		}
		i := b.bin(p)
		c.disputed[i]++
		switch {
		case h.verified != nil && h.isDone(h.verified, p) && h.isDone(h.ledger, p):
			c.verified[i]--
		case h.isDone(h.ledger, p):
			c.done[i]--
		}
	}
	return c
}

func (l layout) isDone(led *jobs.Ledger, place int64) bool {
	from, to := l.dense()
	if place >= from && place < to {
		return led.Done(l.first + place - from)
	}
	n, _ := l.ns(place)
	return led.PointDone(n)
}

// without returns the parts of the spans that lie outside of the others.
func without(spans, others []span) []span {
	if len(others) == 0 {
		return spans
	}
	others = append([]span(nil), others...)
	sort.Slice(others, func(i, j int) bool { return others[i].from < others[j].from })
	var out []span
	for _, s := range spans {
		for _, o := range others {
			if o.to <= s.from || o.from >= s.to {
				continue
			}
			if o.from > s.from {
				out = append(out, span{s.from, o.from})
			}
			s.from = max(s.from, o.to)
		}
		if s.from < s.to {
			out = append(out, s)
		}
	}
	return out
}

func sparse(counts []int64) [][2]int64 {
	out := [][2]int64{}
	for i, c := range counts {
		if c != 0 {
			out = append(out, [2]int64{int64(i), c})
		}
	}
	return out
}

// nanos returns for each bin the time per n of the tasks that were seen in it.
func (h *heatSource) nanos(b binning) (per []float64, slowest float64) {
	seconds, ns := make([]float64, b.bins), make([]float64, b.bins)
	for _, t := range h.times {
		lo, _ := h.ns(t.from)
		_, hi := h.ns(t.to - 1)
		length := float64(hi - lo)
		if lo, _ := h.dense(); t.from < lo || t.from >= lo+h.last-h.first {
			length = float64(t.to - t.from) // points
		}
		b.spread(t.from, t.to, func(i int, lo, hi int64) {
			share := float64(hi-lo) / float64(t.to-t.from)
			seconds[i] += t.seconds * share
			ns[i] += length * share
		})
	}
	per = make([]float64, b.bins)
	for i := range per {
		if ns[i] > 0 {
			per[i] = math.Round(1e9 * seconds[i] / ns[i])
			slowest = max(slowest, per[i])
		}
	}
	return per, slowest
}

// totals counts the cells of the whole sweep by state.
func (h *heatSource) totals() CellCounts {
	all := h.count()
	c := h.count5(newBinning(0, all, 1))
	t := CellCounts{All: all}
	if all > 0 {
		t.Done, t.Verified, t.Running, t.Failed, t.Disputed = c.done[0], c.verified[0], c.running[0], c.failed[0], c.disputed[0]
	}
	t.Open = all - t.Done - t.Verified - t.Running - t.Failed - t.Disputed
	return t
}

// CellCounts counts cells by state. The states exclude each other.
type CellCounts struct {
	All, Open, Running, Done, Verified, Disputed, Failed int64
}

// Add sums up two counts.
func (c *CellCounts) Add(d CellCounts) {
	c.All += d.All
	c.Open += d.Open
	c.Running += d.Running
	c.Done += d.Done
	c.Verified += d.Verified
	c.Disputed += d.Disputed
	c.Failed += d.Failed
}

// Stored counts the cells that are in the ledger.
func (c CellCounts) Stored() int64 { return c.Done + c.Verified + c.Disputed }
