package worker

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// TestCheckComputesItsShare: of a check's range the cells of the share are
// committed as checks, whatever lies between them is not computed, and each
// commit is of neighbours.
func TestCheckComputesItsShare(t *testing.T) {
	for _, share := range []int64{100_000, 500_000, jobs.All} {
		f := newFakeStore()
		tk := task(31, 10_021)
		tk.Check = share
		// An engine that fails at an n which is not asked for shows that it is not
		// computed.
		grid := testengine.New(testengine.Options{}).Info().Grid
		has := tk.CheckSample().Of(tk.Sweep)
		skipped := int64(0)
		first, last := grid.Range(tk.Lo, tk.Hi)
		for i := first + 1; i < last; i++ {
			if !has(i) {
				skipped = grid.Cell(i).Lo
				break
			}
		}
		if err := process(newWorker(f, testengine.Options{FailAt: skipped}), tk); err != nil {
			t.Fatal(err)
		}
		if b := f.last(); !b.Ended || b.Error != "" || b.Fraction != 1 {
			t.Fatalf("last beat %+v", b)
		}
		for i := first; i < last; i++ {
			c, there := f.cells[i]
			if there != has(i) {
				t.Errorf("share %d: cell %d is committed: %v", share, i, there)
			}
			if there && (c.Cell != grid.Cell(i).Clip(tk.Lo, tk.Hi) || c.Whole != (c.Cell == grid.Cell(i))) {
				t.Errorf("cell %d is %+v", i, c.Cell)
			}
		}
		for _, c := range f.batches {
			if !c.Check || !c.Origin.Second {
				t.Errorf("a commit that does not say that it is a check: %+v", c.Origin)
			}
			for k := 1; k < len(c.Cells); k++ {
				if c.Cells[k].Cell.Index != c.Cells[k-1].Cell.Index+1 {
					t.Errorf("cells %d and %d in one commit", c.Cells[k-1].Cell.Index, c.Cells[k].Cell.Index)
				}
			}
		}
	}
}

// TestQuarantineEndsWorker: a worker from which nothing is taken any more lets go
// of its task and ends, whether it hears so from a commit or from a heartbeat.
func TestQuarantineEndsWorker(t *testing.T) {
	for _, commit := range []bool{true, false} {
		f := newFakeStore()
		if commit {
			f.lasting = jobs.ErrQuarantined
		} else {
			f.banned = true
		}
		w := newWorker(f, testengine.Options{PerCell: time.Millisecond})
		tk := task(1, 1001)
		if err := process(w, tk); err != nil {
			t.Fatal(err)
		}
		if b := f.last(); !b.Ended || b.Error != "" {
			t.Errorf("last beat %+v", b)
		}
		if err := w.Run(t.Context(), &fakeServer{}); !errors.Is(err, jobs.ErrQuarantined) {
			t.Errorf("the worker ends with %v", err)
		}
		if len(f.cells) > 0 || f.byes != 1 {
			t.Errorf("%d cells, %d goodbyes", len(f.cells), f.byes)
		}
	}
}

// TestHandsBack: a worker among those that must not compute a check lets it go.
func TestHandsBack(t *testing.T) {
	f := newFakeStore()
	tk := task(1, 1001)
	tk.Check, tk.Not = jobs.All, []string{"other", "w"}
	if err := process(newWorker(f, testengine.Options{}), tk); err != nil {
		t.Fatal(err)
	}
	if b := f.last(); !b.Ended || b.Fraction != 0 || f.commits != 0 {
		t.Errorf("last beat %+v after %d commits", b, f.commits)
	}
	if id := tk.ID(); !slices.Contains([]string{fmt.Sprintf("%s:s:1-1000#0.0~2=0", tk.Run)}, id) {
		t.Errorf("the task is called %s", id)
	}
}

// TestQuarantineEndsIdleWorker: a worker without a task hears it too.
func TestQuarantineEndsIdleWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		w := newWorker(f, testengine.Options{})
		if err := process(w, task(1, 1001)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context(), &fakeServer{}) }()
		time.Sleep(time.Minute) // fake
		select {
		case err := <-ended:
			t.Fatalf("the worker ends with %v", err)
		default:
		}
		f.mu.Lock()
		f.expels = true
		f.mu.Unlock()
		time.Sleep(6 * time.Second) // fake
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, jobs.ErrQuarantined) {
				t.Errorf("the worker ends with %v", err)
			}
		default:
			t.Error("the worker goes on")
		}
	})
}
