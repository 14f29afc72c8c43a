package web

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// TestMismatchShows has a checkpoint that does not hold: the page says so, with
// both numbers, and goes on summing up.
func TestMismatchShows(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	sweep := toySweep(t, "s", 50, 1, 1001)
	sweep.Checkpoints[0].Want.Add(sweep.Checkpoints[0].Want, sweep.Checkpoints[0].Want)
	r := f.add("r", sweep)
	r.finish("s", 0, 20)
	s.hub.look("r")
	s.look(0)
	s.fold()
	s.fold()
	w := s.look(time.Second).Run("r").Sweeps[0]
	if c := w.Result.Checkpoints[0]; c.Status != aggregator.Mismatch || c.Got != engine.Int128From(toy(201)).String() {
		t.Errorf("checkpoint %+v", c)
	}
	if !w.Result.Complete || w.Result.Checkpoints[3].Status != aggregator.OK || w.Trouble != "" {
		t.Errorf("%+v, trouble %q", w.Result, w.Trouble)
	}
}

func TestDamageShows(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	r := f.add("r", toySweep(t, "s", 50, 1, 1001))
	r.finish("s", 0, 20)
	r.damaged[3] = true
	s.hub.look("r")
	s.look(0)
	s.fold()
	w := s.look(time.Second).Run("r").Sweeps[0]
	if w.Result.Done != 150 || !strings.Contains(w.Trouble, "151…200") {
		t.Errorf("summed up %d, trouble %q", w.Result.Done, w.Trouble)
	}
}

// slowReader answers only after its context has ended a few times.
type slowReader struct {
	aggregator.Reader
	late int
}

func (r *slowReader) ReadCells(ctx context.Context, id jobs.RunID, s jobs.Sweep, first, last int64) ([]jobs.CellValues, error) {
	if r.late > 0 {
		r.late--
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r.Reader.ReadCells(ctx, id, s, first, last)
}

func TestFolderIsPatient(t *testing.T) {
	f := newFake()
	sweep := toySweep(t, "s", 50, 1, 1001)
	r := f.add("r", sweep)
	r.finish("s", 0, 20)
	ledger, err := f.Ledger(context.Background(), r.ID, sweep)
	if err != nil {
		t.Fatal(err)
	}
	folds := newFolder(&slowReader{f, 3})
	k := foldKey{r.ID, 0, "s"}
	folds.want(k, sweep, ledger)
	w := folds.works[k]
	w.slice = time.Millisecond
	for i := range 3 {
		folds.step(context.Background(), w)
		if w.result.Done != 0 || w.slice != time.Millisecond<<(i+1) || w.trouble != "" {
			t.Fatalf("after %d late answers: %d summed up, slice %v, trouble %q", i+1, w.result.Done, w.slice, w.trouble)
		}
	}
	w.slice = time.Minute
	folds.step(context.Background(), w)
	if !w.result.Complete || folds.next() != nil || w.slice != foldSlice {
		t.Errorf("%+v", w.result)
	}
	folds.keep(map[foldKey]bool{})
	if len(folds.works) != 0 {
		t.Error("a fold that nobody wants is kept")
	}
}

// TestPartialAndStoredResults checks that nothing is summed up twice.
func TestPartialAndStoredResults(t *testing.T) {
	f := newFake()
	r := f.add("r", toySweep(t, "s", 50, 1, 1001))
	r.finish("s", 0, 4)
	result := aggregator.Result{Run: "r", Epoch: r.ID.Epoch, Sweeps: []aggregator.SweepResult{{Name: "s", Done: 200, Count: 1000}}}
	s := newStill(t, f, Options{Partial: func(id jobs.RunID) (aggregator.Result, bool) { return result, id == r.ID }})
	s.hub.look("r")
	if w := s.look(0).Run("r").Sweeps[0]; w.Result.Done != 200 || w.Summing || len(s.poller.folds.works) != 0 {
		t.Errorf("%+v", w)
	}
	result.Rev = 7 // of another plan
	if s.look(time.Second); len(s.poller.folds.works) != 1 {
		t.Error("a result of another plan is taken")
	}
	result.Rev, result.Sweeps[0].Done, result.Complete = 0, 1000, true
	f.change(func() { r.Result, r.State = result.Encode(), jobs.Complete })
	s.o.Partial = nil
	if w := s.look(time.Second).Run("r").Sweeps[0]; w.Result.Done != 1000 || len(s.poller.folds.works) != 0 {
		t.Errorf("the stored result is not used: %+v", w.Result)
	}
}

// TestHub has a viewer that never looks, and one that does.
func TestHub(t *testing.T) {
	h := newHub(2, 2, time.Now)
	stuck, err := h.join("r", "a")
	if err != nil {
		t.Fatal(err)
	}
	keen, err := h.join("r", "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.join("r", "c"); !errors.Is(err, errBusy) {
		t.Errorf("a third: %v", err)
	}
	<-keen.wake
	for i := int64(1); i <= 1000; i++ {
		h.publish(&Snapshot{Seq: i})
		<-keen.wake
	}
	<-stuck.wake
	if h.current().Seq != 1000 {
		t.Error("not the latest")
	}
	if _, refused, skipped := h.stats(); refused != 1 || skipped != 1000 {
		t.Errorf("refused %d, skipped %d, want 1 and 1000", refused, skipped)
	}
	var wg sync.WaitGroup
	got := make(chan *Snapshot, 1)
	wg.Go(func() {
		got <- h.until(context.Background(), time.Minute, func(s *Snapshot) bool { return s.Seq > 1000 })
	})
	<-h.kick // join's, or until's
	h.publish(&Snapshot{Seq: 1001})
	wg.Wait()
	if s := <-got; s.Seq != 1001 {
		t.Errorf("until gave %d", s.Seq)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s := h.until(ctx, time.Minute, func(*Snapshot) bool { return false }); s.Seq != 1001 {
		t.Error("until gives nothing when its context ends")
	}
	stuck.leave()
	keen.leave()
	if any, _ := h.watched(); any {
		t.Error("watched by nobody")
	}
}
