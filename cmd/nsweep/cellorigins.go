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
	// originsWithin bounds the search. A store reads some 10^5 notes a second.
	originsWithin = 10 * time.Second
)

// originsOf returns a function that tells which tasks stored the cell with a
// grid index that holds n or, for index −1, may have stored the point n, the
// latest first, and who confirmed it. It reads the notes of the whole run: nothing
// in the store leads from a cell to its task.
func originsOf(st *opened) func(ctx context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, error) {
	return func(ctx context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, error) {
		ctx, cancel := context.WithTimeout(ctx, originsWithin)
		defer cancel()
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
		if err == nil {
			var sure []web.Fact
			sure, err = confirmation(ctx, st, id, s, cell, n, second)
			facts = append(facts, sure...)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("who computed it was not found within %s", originsWithin)
		}
		return facts, err
	}
}

// confirmation tells who confirmed a cell or point, from the mark in the store
// and, where it is there, the note of that worker's task.
func confirmation(ctx context.Context, st *opened, id jobs.RunID, s jobs.Sweep, cell, n int64, second []jobs.Origin) ([]web.Fact, error) {
	if len(second) == 0 {
		return nil, nil
	}
	m, err := st.Marks(ctx, id, s)
	if err != nil {
		return nil, err
	}
	_, check := m.Cell(cell)
	if cell < 0 {
		_, check = m.Point(n)
	}
	hand, ok := m.Hand(check)
	if !ok {
		return nil, nil
	}
	text := fmt.Sprintf("by worker %s, algorithm %s", hand.Worker, hand.Algorithm)
	if i := slices.IndexFunc(second, func(o jobs.Origin) bool { return o.Worker.ID == hand.Worker && o.Algorithm == hand.Algorithm }); i >= 0 {
		text = originText(second[i])
	}
	return []web.Fact{{Name: "confirmed", Value: text}}, nil
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
