package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// origin returns an origin of a task that began a second ago.
func origin(worker string, seq, lo, hi int64) *jobs.Origin {
	return &jobs.Origin{Worker: jobs.Worker{ID: "host:7:" + worker, Host: "host", PID: 7, Slots: 4, Build: "v1", CPU: "model"},
		Seq: seq, Lo: lo, Hi: hi, Attempt: 2, Algorithm: "plain", Began: time.Now().Add(-time.Second), Took: 900 * time.Millisecond}
}

// provenance returns the notes as "sweep worker seq n attempt algorithm took".
func (f *fixture) provenance() (notes []string, all []jobs.Origin) {
	f.Helper()
	err := f.s.Provenance(f.ctx, f.run.ID, func(sweep string, o jobs.Origin) error {
		notes = append(notes, fmt.Sprintf("%s %s %d %s %d %s %s", sweep, o.Worker.Short(), o.Seq, o.N(), o.Attempt, o.Algorithm, o.Took))
		all = append(all, o)
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return notes, all
}

func (f *fixture) wantProvenance(want ...string) {
	f.Helper()
	if got, _ := f.provenance(); fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("provenance %q, want %q", got, want)
	}
}

func testProvenance(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 2001, 5000, 6000), Sweep(t, "t", jobs.KeepSums, 1, 1001))
	f.wantProvenance()
	c := f.commitOf(0, 2)
	f.commit(c, jobs.Committed{Stored: 2}) // without an origin: none is noted
	f.wantProvenance()

	before, err := s.Time(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	c = f.commitOf(2, 4)
	c.Origin = origin("aaaa", 0, 101, 201)
	f.commit(c, jobs.Committed{Stored: 2})
	f.wantProvenance("s aaaa 0 101…200 2 plain 900ms")
	_, all := f.provenance()
	after, err := s.Time(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if w := all[0].Worker; fmt.Sprint(w) != fmt.Sprint(c.Origin.Worker) {
		t.Errorf("worker %+v", w)
	}
	// Began a second before the commit by whatever clock.
	if ms := all[0].StartedMs + 1000; ms < before.UnixMilli()-100 || ms > after.UnixMilli()+100 {
		t.Errorf("began at %d ms, the commit was between %d and %d", all[0].StartedMs, before.UnixMilli(), after.UnixMilli())
	}

	// Sent twice, or computed by another worker as well: nothing is stored and
	// nothing is noted.
	f.commit(c, jobs.Committed{Same: 2})
	again := f.commitOf(2, 4)
	again.Origin = origin("bbbb", 0, 101, 201)
	f.commit(again, jobs.Committed{Same: 2})
	f.wantProvenance("s aaaa 0 101…200 2 plain 900ms")

	// A task goes on: its note grows.
	c = f.commitOf(4, 6)
	c.Origin = origin("aaaa", 0, 101, 301)
	f.commit(c, jobs.Committed{Stored: 2})
	f.wantProvenance("s aaaa 0 101…300 2 plain 900ms")

	// Points, records, and another worker.
	p := f.commitOf(0, 0)
	p.Origin = origin("aaaa", 1, 5000, 6001)
	p.Origin.Points = 2
	for _, n := range []int64{5000, 6000} {
		p.Points = append(p.Points, jobs.NewPoint(n, Value(n)))
	}
	f.commit(p, jobs.Committed{Stored: 2})
	r := jobs.Commit{Run: f.run.ID, Sweep: "t", Keep: jobs.KeepSums, Cells: Cells(f.run.Sweeps[1], 0, 3), Origin: origin("cccc", 0, 1, 151)}
	f.commit(r, jobs.Committed{Stored: 3})
	f.wantProvenance("s aaaa 0 101…300 2 plain 900ms", "s aaaa 1 2 points 5000…6000 2 plain 900ms", "t cccc 0 1…150 2 plain 900ms")

	// Impossible ones are refused before anything is stored.
	bad := f.commitOf(6, 7)
	bad.Origin = origin("aaaa", -1, 301, 351)
	if _, err := s.Commit(f.ctx, bad); !jobs.IsLasting(err) {
		t.Errorf("an impossible origin: %v", err)
	}
	if f.ledger().Done(6) {
		t.Error("its cell is stored")
	}

	// What a state refuses leaves no note.
	if err := s.SetState(f.ctx, f.run.ID, nil, jobs.Cancelled, ""); err != nil {
		t.Fatal(err)
	}
	bad.Origin = origin("dddd", 0, 301, 351)
	if _, err := s.Commit(f.ctx, bad); err == nil {
		t.Error("a cancelled run took a commit")
	}
	if notes, _ := f.provenance(); len(notes) != 3 {
		t.Errorf("notes %q", notes)
	}
	if err := s.Delete(f.ctx, f.run.ID); err != nil {
		t.Fatal(err)
	}
	f.wantProvenance()
}

// testProvenanceMany: more tasks than a bucket and a round trip hold, committed
// in falling order.
func testProvenanceMany(t *testing.T, s *store.Store) {
	const tasks = 250
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 50*tasks+1))
	for i := int64(tasks - 1); i >= 0; i-- {
		c := f.commitOf(i, i+1)
		c.Origin = origin("aaaa", i, 50*i+1, 50*i+51)
		f.commit(c, jobs.Committed{Stored: 1})
	}
	_, all := f.provenance()
	if len(all) != tasks {
		t.Fatalf("%d notes, want %d", len(all), tasks)
	}
	for i, o := range all {
		if o.Seq != int64(i) || o.Lo != 50*int64(i)+1 || o.Count() != 50 {
			t.Fatalf("note %d is %+v", i, o)
		}
	}
	stop := fmt.Errorf("enough")
	seen := 0
	err := s.Provenance(f.ctx, f.run.ID, func(string, jobs.Origin) error {
		if seen++; seen == 3 {
			return stop
		}
		return nil
	})
	if err != stop || seen != 3 {
		t.Errorf("%d notes before the stop, %v", seen, err)
	}
}
