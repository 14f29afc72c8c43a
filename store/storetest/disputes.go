package storetest

import (
	"errors"
	"testing"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

func (f *fixture) disputes() []jobs.Dispute {
	f.Helper()
	d, err := f.s.Disputes(f.ctx, f.run.ID, f.sweep())
	if err != nil {
		f.Fatal(err)
	}
	counts, err := f.s.Counts(f.ctx, f.run.ID)
	if err != nil || counts[f.sweep().Name].Disputed != int64(len(d)) {
		f.Fatalf("counters %+v, %v; %d disputes", counts, err, len(d))
	}
	return d
}

func testDisputeKept(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 31, 1021))
	f.all()
	bad := f.commitOf(0, 3)
	bad.Cells, bad.Worker, bad.Task = wrong(bad.Cells, 4), "w2", "t2"
	// The clipped first cell is among them: it is compared like any other.
	f.commit(bad, jobs.Committed{Disputed: []int64{31, 51, 101}})
	f.check(always)
	d := f.disputes()
	if len(d) != 3 || d[0].N != 31 || d[1].N != 51 || d[1].Cell != 1 || len(d[1].Claims) != 1 ||
		d[1].Claims[0].By != `"w2" t2` || string(d[1].Claims[0].Data) != string(bad.Cells[1].Data) || d[1].Claims[0].CRC != bad.Cells[1].CRC {
		t.Fatalf("disputes %+v", d)
	}
	// The same computation sent again, or computed again by the same task and
	// worker, has no second vote.
	f.commit(bad, jobs.Committed{Disputed: []int64{31, 51, 101}})
	// A different third value decides nothing.
	third := f.commitOf(1, 2)
	third.Cells, third.Task = wrong(third.Cells, 8), "t3"
	f.commit(third, jobs.Committed{Disputed: []int64{51}})
	// An agreeing one does.
	good := f.commitOf(0, 20)
	good.Task = "t4"
	f.commit(good, jobs.Committed{Same: 20})
	if d := f.disputes(); len(d) != 0 {
		t.Fatalf("left %+v", d)
	}
	f.check(always)
	// More than half of the votes were against w2, so it has no further say; what
	// another one brings later opens anew.
	if _, err := s.Commit(f.ctx, bad); !errors.Is(err, jobs.ErrQuarantined) {
		t.Fatalf("a commit of the loser: %v", err)
	}
	bad.Worker = "w3"
	f.commit(bad, jobs.Committed{Disputed: []int64{31, 51, 101}})
}

func testDisputeReplaced(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 430_001))
	last := f.sweep().Grid.CellAt(425_000).Index + 1
	f.commit(f.commitOf(0, 10), jobs.Committed{Stored: 10})
	bad := f.commitOf(10, last)
	bad.Cells = wrong(bad.Cells, 2)
	f.commit(bad, jobs.Committed{Stored: int(last) - 10})
	good := f.commitOf(last-2, last+3)
	good.Task = "t2"
	f.commit(good, jobs.Committed{Stored: 3, Disputed: []int64{423_001, 424_001}})
	good = f.commitOf(last-1, last)
	good.Task = "t3"
	f.commit(good, jobs.Committed{Stored: 1})
	if d := f.disputes(); len(d) != 1 || d[0].N != 423_001 {
		t.Fatalf("disputes %+v", d)
	}
	got, err := s.ReadCells(f.ctx, f.run.ID, f.sweep(), last-1, last)
	if err != nil || string(got[0].Data) != string(good.Cells[0].Data) || got[0].CRC != good.Cells[0].CRC {
		t.Fatalf("the value of the majority is not stored: %v", err)
	}
}

func testDisputePoint(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 0, 0, 7, 1_000_000_007))
	give := func(task string, v int64, want jobs.Committed) {
		t.Helper()
		c := f.commitOf(0, 0)
		c.Task, c.Points = task, []jobs.PointValue{jobs.NewPoint(1_000_000_007, Value(v))}
		f.commit(c, want)
	}
	give("t1", 1, jobs.Committed{Stored: 1})
	give("t1", 1, jobs.Committed{Same: 1})
	give("t2", 2, jobs.Committed{Disputed: []int64{1_000_000_007}})
	if d := f.disputes(); len(d) != 1 || d[0].Cell != -1 || d[0].N != 1_000_000_007 || string(d[0].Claims[0].Data) != Value(2).String() {
		t.Fatalf("disputes %+v", d)
	}
	give("t3", 2, jobs.Committed{Stored: 1})
	if d := f.disputes(); len(d) != 0 {
		t.Fatalf("disputes %+v", d)
	}
	got, err := s.ReadPoints(f.ctx, f.run.ID, "s", []int64{1_000_000_007})
	if err != nil || len(got) != 1 || got[0] != jobs.NewPoint(1_000_000_007, Value(2)) {
		t.Fatalf("read %v, %v", got, err)
	}
}

// testDisputeReopened opens a cell that is disputed: its claims are about bytes
// that are no longer wanted.
func testDisputeReopened(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	f.all()
	bad := f.commitOf(19, 21)
	bad.Cells, bad.Task = wrong(bad.Cells, 4), "t2"
	f.commit(bad, jobs.Committed{Disputed: []int64{951, 1001}})
	f.reach(1, 2001)
	if d := f.disputes(); len(d) != 1 || d[0].N != 951 {
		t.Fatalf("disputes %+v", d)
	}
	f.fill()
}

// testDamagedCRC damages stored CRCs and values. They show as disputes when the
// cells are computed again, and the majority repairs them.
func testDamagedCRC(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	f.all()
	prefix := "nsweep:{" + f.run.ID.String() + "}:"
	for key, at := range map[string]int64{"crc:s:0": 4 * 7, "val:s:0": 50 * 4 * 9} {
		if err := s.Client().SetRange(f.ctx, prefix+key, at, "????").Err(); err != nil {
			t.Fatal(err)
		}
	}
	c := f.commitOf(0, 21)
	c.Task = "t2"
	f.commit(c, jobs.Committed{Same: 19, Disputed: []int64{351, 451}})
	c.Task = "t3"
	f.commit(c, jobs.Committed{Same: 19, Stored: 2})
	f.check(always)
	if d := f.disputes(); len(d) != 0 {
		t.Fatalf("disputes %+v", d)
	}
}
