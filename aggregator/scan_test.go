package aggregator

import (
	"context"
	"errors"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"pgregory.net/rapid"
)

// TestScanFindsWhatIsFinished compares with the definition: every n of the set
// within the limits whose cell or point is finished, in order.
func TestScanFindsWhatIsFinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, v := drawSweep(t)
		s.Keep, s.Checkpoints = jobs.KeepValues, nil
		l := jobs.NewLedger(s.Cells())
		first, last := s.Cells()
		odds := rapid.IntRange(0, 4).Draw(t, "odds")
		for i := first; i < last; i++ {
			if rapid.IntRange(0, 3).Draw(t, "done") < odds {
				l.Mark(i)
			}
		}
		for _, n := range s.Set.Points {
			if rapid.IntRange(0, 3).Draw(t, "done") < odds {
				l.MarkPoint(n)
			}
		}
		lo := rapid.Int64Range(1, 12_000).Draw(t, "from")
		hi := lo + rapid.Int64Range(0, 12_000).Draw(t, "count")
		var want []int64
		for n := lo; n < hi; n++ {
			dense := n >= s.Set.Lo && n < s.Set.Hi
			if s.Set.Contains(n) && ((dense && l.Done(s.Grid.CellAt(n).Index)) || (!dense && l.PointDone(n))) {
				want = append(want, n)
			}
		}
		stop := -1
		if rapid.Bool().Draw(t, "stop early") {
			stop = rapid.IntRange(0, len(want)).Draw(t, "stop")
		}
		values := Scan(context.Background(), newMemory(s, v), testID, s, l, lo, hi)
		for range 2 { // it can be run through again
			at := 0
			for p, err := range values {
				if err != nil {
					t.Fatal(err)
				}
				for i := range p.Len() {
					if at >= len(want) || want[at] != p.Lo+int64(i) || p.At(i) != v(want[at]) {
						t.Fatalf("value %d is %s at n = %d", at, p.At(i), p.Lo+int64(i))
					}
					at++
				}
				if stop >= 0 && at >= stop {
					want = want[:at]
					break
				}
			}
			if at != len(want) {
				t.Fatalf("%d values, want %d", at, len(want))
			}
		}
	})
}

func TestScanFails(t *testing.T) {
	s := corruptSweep(jobs.KeepValues)
	l := fullLedger(s)
	r := newMemory(s, engine.Int128From)
	r.tamper = func(c []jobs.CellValues) []jobs.CellValues {
		for i := range c {
			if c[i].Cell.Lo == 501 {
				c[i].CRC++
			}
		}
		return c
	}
	end := func(ctx context.Context, s jobs.Sweep) (last int64, err error) {
		for p, e := range Scan(ctx, r, testID, s, l, 1, engine.MaxN) {
			if e != nil {
				err = e
				continue
			}
			last = p.Lo + int64(p.Len()) - 1
		}
		return last, err
	}
	var corrupt *CorruptError
	if last, err := end(context.Background(), s); !errors.As(err, &corrupt) || corrupt.Cell.Lo != 501 || last != 500 {
		t.Errorf("damaged cell: %v after n = %d", err, last)
	}
	r.tamper = nil
	if last, err := end(context.Background(), s); err != nil || last != 5000 {
		t.Errorf("sound: %v after n = %d", err, last)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := end(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	s.Keep = jobs.KeepSums
	if last, err := end(context.Background(), s); !errors.Is(err, ErrNotKept) || last != 3 {
		t.Errorf("records: %v after n = %d", err, last)
	}
	s.Keep, s.Grid.Bands = jobs.KeepValues, nil
	if _, err := end(context.Background(), s); err == nil {
		t.Error("a broken grid was accepted")
	}
	for p := range Scan(context.Background(), r, testID, corruptSweep(jobs.KeepValues), l, 1, 10) {
		if p.Lo != 3 || p.Len() != 1 {
			t.Errorf("n < 10 gives %d values at n = %d", p.Len(), p.Lo)
		}
	}
}
