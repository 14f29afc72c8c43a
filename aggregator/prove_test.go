package aggregator

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"pgregory.net/rapid"
)

func manifestOf(s ...jobs.Sweep) jobs.Manifest {
	return jobs.Manifest{Format: jobs.ManifestFormat, ID: testID, Number: 3, Rev: 2, Sweeps: s}
}

func TestProve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, v := drawSweep(t)
		want := meet(&s, v)
		got, err := Prove(context.Background(), newMemory(s, v), manifestOf(s), map[string]*jobs.Ledger{"x": fullLedger(s)})
		if err != nil {
			t.Fatal(err)
		}
		full := Result{Format: 1, Run: "test", Epoch: testID.Epoch, Number: 3, Rev: 2, Complete: true, Sweeps: []SweepResult{want}}
		if !reflect.DeepEqual(got, full) || !got.Passed() {
			t.Fatalf("got  %+v\nwant %+v", got, full)
		}
		back, err := Decode(got.Encode())
		if err != nil || !reflect.DeepEqual(back, got) {
			t.Fatalf("decoded %+v, %v", back, err)
		}
	})
}

// TestProveNeedsEverything leaves out one cell or point.
func TestProveNeedsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, v := drawSweep(t)
		meet(&s, v)
		first, last := s.Cells()
		l := jobs.NewLedger(first, last)
		open := rapid.Int64Range(0, s.CellCount()-1).Draw(t, "open")
		var lo, hi int64
		for i := first; i < last; i++ {
			if i-first == open {
				c, _ := s.Cell(i)
				lo, hi = c.Lo, c.Hi
				continue
			}
			l.Mark(i)
		}
		for i, n := range s.Set.Points {
			if last-first+int64(i) == open {
				lo, hi = n, n+1
				continue
			}
			l.MarkPoint(n)
		}
		got, err := Prove(context.Background(), newMemory(s, v), manifestOf(s), map[string]*jobs.Ledger{"x": l})
		var gap *GapError
		if !errors.As(err, &gap) || *gap != (GapError{"x", lo, hi, hi - lo}) {
			t.Fatalf("Prove = %v, want a gap at %d…%d", err, lo, hi-1)
		}
		if got.Complete || got.Passed() || got.Sweeps[0].Text != "" || got.Sweeps[0].Tree != "" {
			t.Fatalf("result %+v", got)
		}
	})
}

func TestProveReports(t *testing.T) {
	s := jobs.Sweep{Name: "x", Keep: jobs.KeepValues, Set: mustSet(1, 1001), Grid: smallGrid(4, 8), Sums: []int{1}}
	v := engine.Int128From
	prove := func(s jobs.Sweep, l *jobs.Ledger) (Result, error) {
		return Prove(context.Background(), newMemory(s, v), manifestOf(s), map[string]*jobs.Ledger{"x": l})
	}
	var gap *GapError
	if _, err := prove(s, nil); !errors.As(err, &gap) || gap.Missing != 1000 || err.Error() != "sweep x: not complete: 1000 n are missing, the first at n = 1…1000" {
		t.Errorf("without a ledger: %v", err)
	}
	wrong := s
	wrong.Checkpoints = []jobs.Checkpoint{value(7, "8"), value(8, "8"), value(9, "10")}
	var mismatch *MismatchError
	r, err := prove(wrong, fullLedger(s))
	if !errors.As(err, &mismatch) || mismatch.Checkpoint.N != 7 || !r.Complete || r.Passed() {
		t.Errorf("with wrong checkpoints: %v", err)
	}
	if ok, bad, _ := r.Sweeps[0].Checks(); ok != 1 || bad != 2 {
		t.Errorf("checkpoints %v", r.Sweeps[0].Checkpoints)
	}
	for name, change := range map[string]func(*jobs.Sweep){
		"a point in the dense part": func(s *jobs.Sweep) { s.Set.Points = []int64{5} },
		"a point twice":             func(s *jobs.Sweep) { s.Set.Points = []int64{2000, 2000} },
		"a broken grid":             func(s *jobs.Sweep) { s.Grid.Bands = []engine.Band{{Upto: engine.MaxN, Cell: 3}} },
		"a grid that ends early":    func(s *jobs.Sweep) { s.Grid.Bands = []engine.Band{{Upto: 400, Cell: 50}} },
	} {
		bad := s
		change(&bad)
		if _, err := prove(bad, fullLedger(s)); err == nil {
			t.Errorf("%s: proven", name)
		}
	}
}

func TestResultJSON(t *testing.T) {
	r := Result{Run: "a", Sweeps: []SweepResult{{Name: "x", Count: 1 << 53, Done: 1<<53 + 1, Sums: []PowerSum{{3, "12345678901234567890123"}},
		Checkpoints: []CheckResult{{N: 1_000_000_000_000_000_000, Want: "5", Status: Pending}}}}}
	b := string(r.Encode())
	for _, part := range []string{`"count":9007199254740992,`, `"done":"9007199254740993"`, `"value":"12345678901234567890123"`, `{"n":"1000000000000000000","want":"5","status":"pending"}`, `"format":1`} {
		if !strings.Contains(b, part) {
			t.Errorf("%s lacks %s", b, part)
		}
	}
	for _, bad := range []string{"", "{}", `{"format":2}`, `{"format":1,"sweeps":[{"sums":[{"power":1,"value":"x"}]}]}`, `{"format":1,"sweeps":[{"count":"9x"}]}`} {
		if _, err := Decode([]byte(bad)); !errors.Is(err, ErrResult) {
			t.Errorf("Decode(%q) = %v", bad, err)
		}
	}
}
