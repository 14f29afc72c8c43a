package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Neighbouring cells are computed in one go while they cost less than goCost
// nanoseconds of the reference machine and are at most goCells: a start cost is
// paid once for them.
const (
	goCost  = 1e9
	goCells = 1024
)

// again is cells [first, last) or one point that are to be computed again.
type again struct {
	first, last int64
	point       int64
	work        engine.Work
	other       bool // by another algorithm than the run's
}

// recompute computes the sample of what is finished and not damaged, on all
// cores, and notes in sv what it did and which cells come out different.
func (v *verifier) recompute(ctx context.Context, s jobs.Sweep, l *jobs.Ledger, bad damaged, sv *verifySweep) error {
	eng, err := v.reg.Get(s.Engine)
	if err != nil {
		return err
	}
	todo, err := v.sampled(eng, s, l, bad)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan again)
	var crew sync.WaitGroup
	var mu sync.Mutex
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		crew.Go(func() {
			for g := range next {
				found, cells, values, err := v.compare(ctx, eng, s, g)
				if err != nil {
					cancel(err)
					continue // the others stop at the ended context
				}
				mu.Lock()
				sv.Different = append(sv.Different, found...)
				sv.note(g.work.Algorithm, g.other, cells, values)
				mu.Unlock()
			}
		})
	}
	for _, g := range todo {
		if ctx.Err() != nil {
			break
		}
		next <- g
	}
	close(next)
	crew.Wait()
	slices.SortFunc(sv.Different, func(a, b finding) int { return int(a.Lo) - int(b.Lo) })
	slices.SortFunc(sv.Checked, func(a, b checked) int { return bytes.Compare([]byte(a.Algorithm), []byte(b.Algorithm)) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// sampled returns what is to be computed again and how: the sample of what is
// finished, or its first cell when the sample is empty but the share is not.
func (v *verifier) sampled(eng engine.Engine, s jobs.Sweep, l *jobs.Ledger, bad damaged) ([]again, error) {
	if v.sample.Millionths == 0 {
		return nil, nil
	}
	var out []again
	_, last := s.Cells()
	eligible := func(i int64) bool { return l.Done(i) && !bad.cells[i] }
	spare := int64(-1)
	for i := l.NextDone(l.First); i < last; {
		if !eligible(i) || !v.sample.Has(s.Name, i) {
			if spare < 0 && eligible(i) {
				spare = i
			}
			i = l.NextDone(i + 1)
			continue
		}
		g, err := v.stretch(eng, s, i, func(i int64) bool { return eligible(i) && v.sample.Has(s.Name, i) })
		if err != nil {
			return nil, err
		}
		out = append(out, g)
		i = l.NextDone(g.last)
	}
	if len(out) == 0 && spare >= 0 {
		g, err := v.stretch(eng, s, spare, func(i int64) bool { return i == spare })
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	points, spare := 0, 0
	for _, n := range s.Set.Points {
		if !l.PointDone(n) || bad.points[n] {
			continue
		}
		if !v.sample.Has(s.Name, -n) {
			if spare == 0 {
				spare = n
			}
			continue
		}
		g, err := v.plan(eng, s, again{point: n}, n, n+1)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
		points++
	}
	if points == 0 && spare > 0 {
		g, err := v.plan(eng, s, again{point: spare}, spare, spare+1)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// stretch returns the cells from first on that are wanted, as many as are to be
// computed in one go.
func (v *verifier) stretch(eng engine.Engine, s jobs.Sweep, first int64, wanted func(int64) bool) (again, error) {
	c, _ := s.Cell(first)
	g, err := v.plan(eng, s, again{first: first, last: first + 1}, c.Lo, c.Hi)
	for err == nil && g.last-g.first < goCells && wanted(g.last) && eng.Cost(g.work).Total() < goCost {
		to := min(g.last+max(1, (g.last-g.first)/2), g.first+goCells)
		for i := g.last; i < to; i++ {
			if !wanted(i) {
				to = i
			}
		}
		end, _ := s.Cell(to - 1)
		g, err = v.plan(eng, s, again{first: first, last: to}, c.Lo, end.Hi)
	}
	return g, err
}

// plan decides by which algorithm n in [lo, hi) is computed again.
func (v *verifier) plan(eng engine.Engine, s jobs.Sweep, g again, lo, hi int64) (again, error) {
	var err error
	if g.work, g.other, err = jobs.Again(eng, s, lo, hi); err != nil {
		return g, err
	}
	if _, ok := eng.Info().Algorithm(v.algorithm); !ok || v.algorithm == "" {
		return g, nil
	}
	used, err := eng.Resolve(engine.Work{Algorithm: s.Algorithm, Params: s.Params, Lo: lo, Hi: hi})
	if err != nil {
		return g, fmt.Errorf("sweep %s: %w", s.Name, err)
	}
	g.work, err = eng.Resolve(engine.Work{Algorithm: v.algorithm, Params: s.Params, Lo: lo, Hi: hi})
	g.other = v.algorithm != used.Algorithm
	if err != nil {
		err = usagef("--algorithm: sweep %s: %v", s.Name, err)
	}
	return g, err
}

// compare computes a stretch and returns the cells of it whose stored bytes are
// not what comes out.
func (v *verifier) compare(ctx context.Context, eng engine.Engine, s jobs.Sweep, g again) (found []finding, cells, values int64, err error) {
	if g.point != 0 {
		return v.comparePoint(ctx, eng, s, g)
	}
	stored, err := v.st.ReadCells(ctx, v.run.ID, s, g.first, g.last)
	if err != nil {
		return nil, 0, 0, err
	}
	if int64(len(stored)) != g.last-g.first {
		return nil, 0, 0, fmt.Errorf("sweep %s: %d cells of %d are stored from n = %d on", s.Name, len(stored), g.last-g.first, g.work.Lo)
	}
	at, began := 0, time.Now()
	mine := newCellCheck(s, stored[0])
	err = eng.Compute(ctx, g.work, engine.Sink{Warn: v.warn, Emit: func(p engine.Piece) error {
		for p.Len() > 0 {
			if at == len(stored) {
				return fmt.Errorf("engine %s goes on after n = %d", s.Engine, g.work.Hi-1)
			}
			k := int(min(int64(p.Len()), stored[at].Cell.Hi-p.Lo))
			mine.add(p.Slice(0, k))
			p = p.Slice(k, p.Len())
			if !mine.full() {
				continue
			}
			if f := mine.finding(g.work.Algorithm); f != nil {
				found = append(found, *f)
			}
			if at++; at < len(stored) {
				mine = newCellCheck(s, stored[at])
			}
		}
		return nil
	}})
	if err == nil && at != len(stored) {
		err = fmt.Errorf("engine %s ended before n = %d", s.Engine, g.work.Hi-1)
	}
	if err == nil && len(found) == 0 {
		err = v.confirm(ctx, s, g, began, jobs.Commit{Cells: stored})
	}
	return found, g.last - g.first, g.work.Len(), err
}

func (v *verifier) comparePoint(ctx context.Context, eng engine.Engine, s jobs.Sweep, g again) ([]finding, int64, int64, error) {
	stored, err := v.st.ReadPoints(ctx, v.run.ID, s.Name, []int64{g.point})
	if err != nil {
		return nil, 0, 0, err
	}
	var got []engine.Int128
	began := time.Now()
	err = eng.Compute(ctx, g.work, engine.Sink{Warn: v.warn, Emit: func(p engine.Piece) error {
		for i := range p.Len() {
			got = append(got, p.At(i))
		}
		return nil
	}})
	if err != nil {
		return nil, 0, 0, err
	}
	if len(stored) != 1 || len(got) != 1 {
		return nil, 0, 0, fmt.Errorf("sweep %s, n = %d: %d values are stored, %d computed", s.Name, g.point, len(stored), len(got))
	}
	if stored[0].Value == got[0] {
		return nil, 1, 1, v.confirm(ctx, s, g, began, jobs.Commit{Points: stored})
	}
	f := newFinding(engine.Cell{}, g.point, "")
	f.differs(g.point, stored[0].Value, got[0], g.work.Algorithm)
	return []finding{f}, 1, 1, nil
}

// confirm notes in the store that this process came to the same values, unless the
// run takes nothing.
func (v *verifier) confirm(ctx context.Context, s jobs.Sweep, g again, began time.Time, c jobs.Commit) error {
	o := jobs.Origin{Worker: v.me, Seq: v.tasks.Add(1) - 1, Lo: g.work.Lo, Hi: g.work.Hi, Points: int64(len(c.Points)),
		Algorithm: g.work.Algorithm, Second: true, Began: began, Took: time.Since(began).Truncate(time.Millisecond)}
	c.Run, c.Sweep, c.Keep, c.Rev, c.Worker, c.Check, c.Origin = v.run.ID, s.Name, s.Keep, v.run.Rev, v.me.ID, true, &o
	_, err := v.st.Commit(ctx, c)
	var state *jobs.StateError
	if errors.As(err, &state) {
		return nil
	}
	return err
}

// cellCheck compares the values of one cell, as they are computed, with what is
// stored of it.
type cellCheck struct {
	stored jobs.CellValues
	next   int64
	values engine.Piece // the stored ones, under keep: values
	differ int64        // the first n that differs, or 0
	have   engine.Int128
	want   engine.Int128
	rec    *jobs.Recorder // under keep: sums
	err    error
}

func newCellCheck(s jobs.Sweep, stored jobs.CellValues) *cellCheck {
	c := &cellCheck{stored: stored, next: stored.Cell.Lo}
	if s.Keep != jobs.KeepSums {
		c.values, c.err = jobs.DecodeValues(engine.Piece{}, stored.Cell.Lo, stored.Width, stored.Data)
		if c.err == nil && int64(c.values.Len()) != stored.Cell.Len() {
			c.err = fmt.Errorf("it has %d values", c.values.Len())
		}
		return c
	}
	// A record is compared in what it holds, which may be more than the present
	// plan asks for.
	var old jobs.Record
	if old, c.err = jobs.DecodeRecord(stored.Data); c.err == nil {
		var ns []int64
		for _, k := range old.Checks {
			ns = append(ns, k.N)
		}
		c.rec, c.err = jobs.NewRecorder(stored.Cell, stored.Width, old.Powers, ns)
	}
	return c
}

// add takes the next computed values. After an error it only counts.
func (c *cellCheck) add(p engine.Piece) {
	if c.err == nil && c.differ == 0 {
		switch {
		case p.Lo != c.next:
			c.err = fmt.Errorf("n = %d came where n = %d was due", p.Lo, c.next)
		case c.rec != nil:
			c.err = c.rec.Add(p)
		default:
			at := int(p.Lo - c.stored.Cell.Lo)
			for i := range p.Len() {
				if have, want := c.values.At(at+i), p.At(i); have != want {
					c.differ, c.have, c.want = p.Lo+int64(i), have, want
					break
				}
			}
		}
	}
	c.next += int64(p.Len())
}

func (c *cellCheck) full() bool { return c.next >= c.stored.Cell.Hi }

// finding returns what is wrong with the cell, or nil.
func (c *cellCheck) finding(algorithm string) *finding {
	f := newFinding(c.stored.Cell, 0, "")
	if c.rec != nil && c.err == nil {
		data, err := c.rec.Encode()
		if c.err = err; err == nil && !bytes.Equal(data, c.stored.Data) {
			f.Why = "its record is another one when computed by " + algorithm
			return &f
		}
	}
	switch {
	case c.err != nil:
		f.Why = c.err.Error()
	case c.differ != 0:
		f.differs(c.differ, c.have, c.want, algorithm)
	default:
		return nil
	}
	return &f
}

// note counts what was computed again.
func (sv *verifySweep) note(algorithm string, other bool, cells, values int64) {
	k := slices.IndexFunc(sv.Checked, func(c checked) bool { return c.Algorithm == algorithm && c.Other == other })
	if k < 0 {
		k = len(sv.Checked)
		sv.Checked = append(sv.Checked, checked{Algorithm: algorithm, Other: other})
	}
	sv.Checked[k].Cells += cells
	sv.Checked[k].Values += aggregator.Int(values)
}
