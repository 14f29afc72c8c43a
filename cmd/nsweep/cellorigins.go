package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
	"github.com/nsweep/nsweep/web"
)

const (
	// maxOrigins is how many tasks are told of one cell: more than one only
	// where it was computed again.
	maxOrigins = 8
	// originsWithin bounds the search. A store reads some 10^5 notes in half a second.
	originsWithin = 10 * time.Second
)

// originsOf returns a function that tells which task stored the cell with a grid
// index that holds n, and who confirmed it, or, for index −1, which tasks may have
// stored the point n.
//
// In a run that was never changed since it began, the mark of a cell leads to its
// worker and nearly to its task. Else the notes of the whole run are read: cells
// may have been opened again, and all tasks that stored the cell are told, the
// latest first. So it is with points, whose notes name an extent only.
func originsOf(st *opened) func(ctx context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, error) {
	return func(ctx context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, error) {
		ctx, cancel := context.WithTimeout(ctx, originsWithin)
		defer cancel()
		facts, ok, err := marked(ctx, st, id, s, cell, n)
		if err == nil && !ok {
			facts, err = searched(ctx, st, id, s, cell, n)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("who computed it was not found within %s", originsWithin)
		}
		return facts, err
	}
}

// marked tells of a cell what its mark leads to. It reports whether that is all
// that there is to tell.
func marked(ctx context.Context, st *opened, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, bool, error) {
	if cell < 0 {
		return nil, false, nil
	}
	_, rev, err := st.Status(ctx, id)
	if err != nil || rev > 0 {
		return nil, false, err
	}
	who, err := st.Author(ctx, id, s, cell)
	switch {
	case err != nil:
		return nil, false, err
	case !who.Done:
		return nil, true, nil // nobody has stored it
	case who.By.Worker == "":
		return nil, false, nil
	}
	o, ok, err := st.OriginBy(ctx, id, s.Name, who.By, n, false)
	if err != nil || !ok {
		return nil, false, err
	}
	facts := []web.Fact{{Name: "computed", Value: originText(o)}}
	if who.Check.Worker == "" {
		return facts, true, nil
	}
	o, ok, err = st.OriginBy(ctx, id, s.Name, who.Check, n, true)
	if err != nil {
		return facts, false, err
	}
	return append(facts, confirmedBy(who.Check, o, ok)), true, nil
}

// confirmedBy tells who confirmed something, with the note of the task if there is
// one.
func confirmedBy(h jobs.Hand, o jobs.Origin, noted bool) web.Fact {
	text := fmt.Sprintf("by worker %s, algorithm %s", h.Worker, h.Algorithm)
	if noted {
		text = originText(o)
	}
	return web.Fact{Name: "confirmed", Value: text}
}

// searched tells of a cell or point what all notes of the run say.
func searched(ctx context.Context, st *opened, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, error) {
	var first, second []jobs.Origin
	err := st.Provenance(ctx, id, func(sweep string, o jobs.Origin) error {
		switch {
		case sweep != s.Name || n < o.Lo || n >= o.Hi || (o.Points > 0) != (cell < 0):
		case o.Second:
			second = append(second, o)
		default:
			first = append(first, o)
		}
		return nil
	})
	latest := func(a, b jobs.Origin) int { return cmp.Compare(b.StartedMs, a.StartedMs) }
	slices.SortStableFunc(first, latest)
	slices.SortStableFunc(second, latest)
	var facts []web.Fact
	for i, o := range first {
		name := "computed"
		if i > 0 {
			name = "before"
		}
		if i == maxOrigins {
			facts = append(facts, web.Fact{Name: name, Value: fmt.Sprintf("%d more times", len(first)-i)})
			break
		}
		facts = append(facts, web.Fact{Name: name, Value: originText(o)})
	}
	if err != nil || len(second) == 0 {
		return facts, err
	}
	hand, ok, err := checkerOf(ctx, st, id, s, cell, n)
	if err != nil || !ok {
		return facts, err
	}
	i := slices.IndexFunc(second, func(o jobs.Origin) bool { return o.Worker.ID == hand.Worker && o.Algorithm == hand.Algorithm })
	if i < 0 {
		return append(facts, confirmedBy(hand, jobs.Origin{}, false)), nil
	}
	return append(facts, confirmedBy(hand, second[i], true)), nil
}

// checkerOf returns who confirmed a cell or point by the mark in the store.
func checkerOf(ctx context.Context, st *opened, id jobs.RunID, s jobs.Sweep, cell, n int64) (jobs.Hand, bool, error) {
	if cell >= 0 {
		who, err := st.Author(ctx, id, s, cell)
		return who.Check, err == nil && who.Check.Worker != "", err
	}
	m, err := st.Marks(ctx, id, s)
	if err != nil {
		return jobs.Hand{}, false, err
	}
	_, check := m.Point(n)
	hand, ok := m.Hand(check)
	return hand, ok, nil
}

// confirmedOf returns which cells and points of a sweep are confirmed.
func confirmedOf(st *opened) func(context.Context, jobs.RunID, jobs.Sweep) (*jobs.Ledger, error) {
	return func(ctx context.Context, id jobs.RunID, s jobs.Sweep) (*jobs.Ledger, error) {
		m, err := st.Marks(ctx, id, s)
		if err != nil {
			return nil, err
		}
		return m.Confirmed(), nil
	}
}

// originText writes a note of a task in one line.
func originText(o jobs.Origin) string {
	task := "n = " + o.N()
	if o.Points > 1 {
		task = "perhaps among " + o.N()
	}
	text := fmt.Sprintf("by %s, %s, algorithm %s, %s, took %s", describeWorker(o.Worker), task, o.Algorithm, momentText(o.StartedMs), report.Duration(o.Took))
	if o.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", o.Attempt+1)
	}
	return text
}
