package main

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// slowReader has the value n at n, and takes its time for each cell.
type slowReader struct {
	aggregator.Reader
	perCell time.Duration
}

func (r slowReader) ReadCells(ctx context.Context, _ jobs.RunID, s jobs.Sweep, from, to int64) ([]jobs.CellValues, error) {
	var out []jobs.CellValues
	for i := from; i < to; i++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(r.perCell):
		}
		c, _ := s.Cell(i)
		p := engine.Piece{Lo: c.Lo}
		for n := c.Lo; n < c.Hi; n++ {
			p.Narrow = append(p.Narrow, n)
		}
		data, err := jobs.AppendValues(nil, 8, p)
		if err != nil {
			return nil, err
		}
		out = append(out, jobs.CellValues{Cell: c, Whole: true, Width: 8, Data: data, CRC: jobs.CRC(data)})
	}
	return out, nil
}

// TestSumsOnTheWay: a checker that takes half a minute tells in the meantime how far
// it is, until it is closed.
func TestSumsOnTheWay(t *testing.T) {
	set, err := jobs.NewSet(1, 1_300_001, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := jobs.Sweep{Name: "s", Engine: "toy", Version: 1, Keep: jobs.KeepValues, Set: set, Grid: testengine.New(testengine.Options{}).Info().Grid, Sums: []int{1}}
	run := jobs.Run{Manifest: jobs.Manifest{ID: jobs.RunID{Name: "r", Epoch: "e"}, Sweeps: []jobs.Sweep{s}}, State: jobs.Running}
	first, last := s.Grid.Range(1, 1_300_001)
	ledger := jobs.NewLedger(first, last)
	for i := first; i < last; i++ {
		ledger.Mark(i)
	}
	synctest.Test(t, func(t *testing.T) {
		var have sums
		c := newChecker(slowReader{perCell: time.Millisecond}, run)
		have.add(c)
		done := make(chan error, 1)
		go func() { done <- c.Advance(t.Context(), "s", ledger) }()
		seen := map[aggregator.Int]bool{}
		for range 12 { // seconds; the values come in five batches of 2 MiB
			time.Sleep(2 * time.Second)
			r, ok := have.partial(run.ID)
			if !ok {
				t.Fatal("the run's sums are not known")
			}
			n := int64(r.Sweeps[0].Done)
			if seen[r.Sweeps[0].Done] = true; n > 0 && r.Sweeps[0].Sums[0].Value != strconv.FormatInt(n*(n+1)/2, 10) {
				t.Errorf("Σ n to %d is %s", n, r.Sweeps[0].Sums[0].Value)
			}
		}
		if len(seen) < 4 || seen[1_300_000] {
			t.Errorf("seen on the way: %v", seen)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if r, ok := have.partial(run.ID); !ok || r.Sweeps[0].Done != 1_300_000 {
			t.Errorf("at the end: %+v, %v", r, ok)
		}
		// Another lead of the same run takes over, then the first one is closed.
		d := newChecker(slowReader{}, run)
		have.add(d)
		c.Close()
		if r, ok := have.partial(run.ID); !ok || r.Sweeps[0].Done != 0 {
			t.Errorf("of the second: %+v, %v", r, ok)
		}
		d.Close()
		if _, ok := have.partial(run.ID); ok {
			t.Error("sums of a closed checker are told")
		}
	})
}
