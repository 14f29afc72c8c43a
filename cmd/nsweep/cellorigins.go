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
// grid index that holds n or, for index −1, may have stored the point n. The
// latest comes first. It reads the notes of the whole run: nothing in the store
// leads from a cell to its task.
func originsOf(st *opened) func(ctx context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, error) {
	return func(ctx context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]web.Fact, error) {
		ctx, cancel := context.WithTimeout(ctx, originsWithin)
		defer cancel()
		var found []jobs.Origin
		err := st.Provenance(ctx, id, func(sweep string, o jobs.Origin) error {
			if sweep == s.Name && n >= o.Lo && n < o.Hi && (o.Points > 0) == (cell < 0) {
				found = append(found, o)
			}
			return nil
		})
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("who computed it was not found within %s", originsWithin)
		}
		slices.SortStableFunc(found, func(a, b jobs.Origin) int { return cmp.Compare(b.StartedMs, a.StartedMs) })
		var facts []web.Fact
		for i, o := range found {
			name := "computed"
			if i > 0 {
				name = "before"
			}
			if i == maxOrigins {
				facts = append(facts, web.Fact{Name: name, Value: fmt.Sprintf("%d more times", len(found)-i)})
				break
			}
			facts = append(facts, web.Fact{Name: name, Value: originText(o)})
		}
		return facts, err
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
