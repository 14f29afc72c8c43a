package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// maxValues is how many values of a cell are listed.
const maxValues = 100

// cellInfo is all that is known of one cell.
type cellInfo struct {
	Run    string
	Sweep  *SweepView
	N      int64 // the n that was asked for
	Lo, Hi int64 // [Lo, Hi)
	Index  int64 // in the grid; −1 for a point
	State  string
	// Stored says that there are values; Sound that they have the CRC that was
	// computed with them.
	Stored, Sound bool
	CRC           uint32
	Bytes, Width  int
	Value         string // at N
	Values        []valueAt
	More          int64
	Trouble       string
	Task          *TaskView
	Failure       *jobs.Failure
	Dispute       *jobs.Dispute
	Facts         []Fact
	Before, After int64 // an n in the cells beside it, or 0
}

type valueAt struct {
	N     int64
	Value string
}

// cellPage tells where one cell came from.
func (s *Server) cellPage(w http.ResponseWriter, r *http.Request) {
	_, v := s.find(w, r)
	if v == nil {
		return
	}
	q := r.URL.Query()
	win := windowOf(v, q)
	n := number(q.Get("n"), 0)
	switch {
	case win.Sweep == nil || win.Sweep.heat == nil:
		s.fail(w, r, http.StatusServiceUnavailable, "The ledger was not read yet.")
		return
	case n == 0 || !win.Sweep.Set.Contains(n):
		s.fail(w, r, http.StatusNotFound, fmt.Sprintf("The sweep %s has no such n: it has %s.", win.Sweep.Name, win.Sweep.Set))
		return
	}
	info := s.cell(r.Context(), v, win.Sweep, n)
	if q.Get("part") != "" {
		s.fragment(w, r, "part-cell", info)
		return
	}
	s.render(w, r, http.StatusOK, "cell", page{Title: fmt.Sprintf("%s, n = %d", win.Sweep.Name, n), R: v, W: win, Extra: info})
}

// cell gathers what is known of the cell that holds n.
func (s *Server) cell(ctx context.Context, v *RunView, w *SweepView, n int64) cellInfo {
	h := w.heat
	place, _ := h.holds(n)
	c := cellInfo{Run: v.ID.Name, Sweep: w, N: n, Index: -1}
	c.Lo, c.Hi = h.ns(place)
	from, to := h.dense()
	if place >= from && place < to {
		c.Index = h.first + place - from
	}
	if place > 0 {
		c.Before, _ = h.ns(place - 1)
	}
	if place+1 < h.count() {
		c.After, _ = h.ns(place + 1)
	}
	c.State = h.state(place)
	for i, k := range v.Tasks {
		if k.Sweep == w.Name && holds(k.Lo, k.Hi, k.Points, c.Lo) {
			c.Task = &v.Tasks[i]
		}
	}
	for i, f := range v.Failures {
		if f.Sweep == w.Name && holds(f.Lo, f.Hi, f.Points, c.Lo) && !h.isDone(h.ledger, place) {
			c.Failure = &v.Failures[i]
		}
	}
	for i, d := range w.Disputes {
		if d.N == c.Lo {
			c.Dispute = &w.Disputes[i]
		}
	}
	if h.isDone(h.ledger, place) {
		s.stored(ctx, v.ID, &c)
	}
	if s.o.Provenance != nil {
		facts, err := s.o.Provenance(ctx, v.ID, w.Sweep, c.Index, c.Lo)
		if err != nil && c.Trouble == "" {
			c.Trouble = err.Error()
		}
		c.Facts = facts
	}
	return c
}

func holds(lo, hi int64, points []int64, n int64) bool {
	for _, p := range points {
		if p == n {
			return true
		}
	}
	return n >= lo && n < hi
}

// state names the state of one place.
func (h *heatSource) state(place int64) string {
	c := h.count5(newBinning(place, place+1, 1))
	for _, x := range []struct {
		name  string
		count int64
	}{{"disputed", c.disputed[0]}, {"verified", c.verified[0]}, {"done", c.done[0]}, {"failed", c.failed[0]}, {"running", c.running[0]}} {
		if x.count > 0 {
			return x.name
		}
	}
	return "open"
}

// stored reads the values of the cell and checks them.
func (s *Server) stored(ctx context.Context, id jobs.RunID, c *cellInfo) {
	fail := func(err error) { c.Trouble = err.Error() }
	c.Stored = true
	if c.Index < 0 {
		points, err := s.o.Store.ReadPoints(ctx, id, c.Sweep.Name, []int64{c.Lo})
		switch {
		case err != nil:
			fail(err)
		case len(points) == 0:
			fail(fmt.Errorf("the ledger has it as finished, but it is not stored"))
		default:
			p := points[0]
			c.CRC, c.Sound, c.Value = p.CRC, jobs.PointCRC(p.N, p.Value) == p.CRC, p.Value.String()
			c.Bytes = len(c.Value)
		}
		return
	}
	cells, err := s.o.Store.ReadCells(ctx, id, c.Sweep.Sweep, c.Index, c.Index+1)
	if err == nil && len(cells) != 1 {
		err = fmt.Errorf("the store gave %d cells for one", len(cells))
	}
	if err != nil {
		fail(err)
		return
	}
	cell := cells[0]
	c.CRC, c.Bytes, c.Width = cell.CRC, len(cell.Data), cell.Width
	c.Sound = len(cell.Data) > 0 && jobs.CRC(cell.Data) == cell.CRC
	if c.Sweep.Keep == jobs.KeepSums {
		record, err := jobs.DecodeRecord(cell.Data)
		if err != nil {
			fail(err)
			return
		}
		c.Values = []valueAt{{c.Lo, record.First.String()}, {record.MinN, record.Min.String()}, {record.MaxN, record.Max.String()}, {c.Hi - 1, record.Last.String()}}
		return
	}
	piece, err := jobs.DecodeValues(engine.Piece{}, cell.Cell.Lo, cell.Width, cell.Data)
	if err != nil {
		fail(err)
		return
	}
	if i := c.N - piece.Lo; i >= 0 && i < int64(piece.Len()) {
		c.Value = piece.At(int(i)).String()
	}
	for i := range min(piece.Len(), maxValues) {
		c.Values = append(c.Values, valueAt{piece.Lo + int64(i), piece.At(i).String()})
	}
	c.More = int64(piece.Len() - len(c.Values))
}
