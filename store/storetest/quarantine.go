package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

func (f *fixture) quarantines() []jobs.Quarantine {
	f.Helper()
	list, err := f.s.Quarantines(f.ctx, f.run.Manifest)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// banned expects the workers in quarantine, pending or not.
func (f *fixture) banned(want ...string) {
	f.Helper()
	var got []string
	for _, q := range f.quarantines() {
		got = append(got, fmt.Sprintf("%s %d %s %s %s %v %d", q.Worker, q.N, q.Value, q.Won, q.By, q.Pending, q.Reopened))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("in quarantine: %q, want %q", got, want)
	}
}

func (f *fixture) refused(c jobs.Commit) {
	f.Helper()
	if got, err := f.s.Commit(f.ctx, c); !errors.Is(err, jobs.ErrQuarantined) || got.Stored > 0 {
		f.Fatalf("a commit of a worker in quarantine: %+v, %v", got, err)
	}
}

// testQuarantine: the author of a value that two others contradict is shut out by
// the step that decides, what only it has computed is opened, what another has
// confirmed stays, and what it confirmed is confirmed no more.
func testQuarantine(t *testing.T, s *store.Store) {
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		f := newRun(t, s, Sweep(t, "s", keep, 31, 430_021))
		first, last := f.sweep().Cells()
		bad := by(f.commitOf(4000, 4200), "bad", "a")
		bad.Cells = append(wrong(bad.Cells[:100], 4), bad.Cells[100:]...) // from cell 4100 on they are right
		f.commit(bad, jobs.Committed{Stored: 200})
		f.commit(by(f.commitOf(first, 4000), "w1", "a"), jobs.Committed{Stored: int(4000 - first)})
		f.commit(by(f.commitOf(4200, last), "w1", "a"), jobs.Committed{Stored: int(last - 4200)})
		f.commit(check(by(f.commitOf(4150, 4160), "w2", "b")), jobs.Committed{Same: 10})
		f.commit(check(by(f.commitOf(4150, 4205), "bad", "b")), jobs.Committed{Same: 55})
		f.commit(check(by(f.commitOf(100, 103), "bad", "b")), jobs.Committed{Same: 3})
		f.confirmed(58)
		// It is about to lose another one, as a claimant.
		lie := by(f.commitOf(7, 8), "bad", "a")
		lie.Cells = wrong(lie.Cells, 4)
		seven := f.commitOf(7, 8).Cells[0].Cell
		f.commit(check(lie), jobs.Committed{Disputed: []int64{seven.Lo}})
		f.banned()

		at := f.commitOf(4005, 4006).Cells[0]
		f.commit(check(by(f.commitOf(4005, 4006), "w1", "b")), jobs.Committed{Disputed: []int64{at.Cell.Lo}})
		f.banned()
		f.commit(by(f.commitOf(4005, 4006), "w2", "a"), jobs.Committed{Stored: 1})
		value, won, n := "", "", at.Cell.Lo
		if keep == jobs.KeepValues {
			n += at.Cell.Len() / 2 // where wrong changes a bit
			won = Value(n).String()
			value = f.quarantines()[0].Value
			if value == won || value == "" {
				t.Fatalf("its value is %q, the one that won %q", value, won)
			}
		}
		f.banned(fmt.Sprintf("bad %d %s %s w2 true 0", n, value, won))
		f.refused(bad)
		f.refused(by(f.commitOf(first, first+1), "bad", "b"))
		f.refused(check(by(f.commitOf(first, first+1), "bad", "b")))
		if _, err := s.Beat(f.ctx, f.run.ID, jobs.Beat{Task: "t", Worker: "bad", Ended: true}); !errors.Is(err, jobs.ErrQuarantined) {
			t.Fatalf("a beat: %v", err)
		}
		if beats, _, err := s.Beats(f.ctx, f.run.ID); err != nil || len(beats) != 1 || !beats[0].Ended {
			t.Fatalf("its last beat is not noted: %+v, %v", beats, err)
		}
		if _, err := s.Beat(f.ctx, f.run.ID, jobs.Beat{Task: "t", Worker: "w1"}); err != nil {
			t.Fatal(err)
		}

		f.complete()
		// 189 of its 200 cells: w2 confirmed ten, and decided one; and the disputed one.
		opened, err := s.Expel(f.ctx, f.run.Manifest, "bad")
		if err != nil || opened != 190 {
			t.Fatalf("%d cells are opened, %v", opened, err)
		}
		done := func(i int64) bool {
			return i != 7 && (i < 4000 || i >= 4200 || i == 4005 || (i >= 4150 && i < 4160))
		}
		f.check(done)
		run, err := s.Run(f.ctx, "r")
		if err != nil || run.State != jobs.Running || run.Result != nil || run.Rev == 0 {
			t.Fatalf("the run is %s at revision %d, %v", run.State, run.Rev, err)
		}
		f.banned(fmt.Sprintf("bad %d %s %s w2 false 190", n, value, won))
		if d := f.disputes(); len(d) != 0 {
			t.Fatalf("left %+v", d)
		}
		f.want(100, "w1 a,  ")
		f.want(4155, "bad a, w2 b")
		f.want(4201, "w1 a,  ")
		// Broken off and begun again, it counts what was opened before.
		key := "nsweep:{" + f.run.ID.String() + "}:quarantine"
		text, err := s.Client().HGet(f.ctx, key, `"bad"`).Result()
		if err == nil {
			err = s.Client().HSet(f.ctx, key, `"bad"`, "?"+text).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Expel(f.ctx, f.run.Manifest, "bad"); err != nil || n != 190 {
			t.Fatalf("the second time %d cells are opened, %v", n, err)
		}
		f.run = run
		f.run.Rev, f.run.Manifest.Rev = run.Rev, run.Rev
		f.commit(by(f.commitOf(4000, 4200), "w3", "a"), jobs.Committed{Stored: 189, Same: 11})
		f.commit(by(f.commitOf(7, 8), "w3", "a"), jobs.Committed{Stored: 1})
		f.check(always)
		if err := s.Delete(f.ctx, f.run.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// testQuarantineOfPoints does the same with points, where it is the claimant that
// loses.
func testQuarantineOfPoints(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 0, 0, 7, 11, 13, 17))
	point := func(n, v int64) jobs.Commit {
		c := f.commitOf(0, 0)
		c.Points = []jobs.PointValue{jobs.NewPoint(n, Value(v))}
		return c
	}
	f.commit(by(point(7, 7), "w1", "a"), jobs.Committed{Stored: 1})
	f.commit(by(point(11, 11), "bad", "a"), jobs.Committed{Stored: 1})
	f.commit(by(point(13, 13), "bad", "a"), jobs.Committed{Stored: 1})
	f.commit(by(point(17, 17), "w1", "a"), jobs.Committed{Stored: 1})
	f.commit(check(by(point(13, 13), "w1", "b")), jobs.Committed{Same: 1})
	f.commit(check(by(point(17, 17), "bad", "b")), jobs.Committed{Same: 1})
	f.commit(check(by(point(7, 8), "bad", "b")), jobs.Committed{Disputed: []int64{7}})
	f.commit(by(point(7, 7), "w2", "a"), jobs.Committed{Same: 1})
	f.banned(fmt.Sprintf("bad 7 %s %s w2 true 0", Value(8), Value(7)))
	f.want(-7, "w1 a, w2 a")
	f.refused(by(point(7, 7), "bad", "a"))
	for worker, want := range map[string]bool{"bad": true, "w1": false} {
		if out, err := s.Expelled(f.ctx, f.run.ID, worker); err != nil || out != want {
			t.Fatalf("%s is expelled: %v, %v", worker, out, err)
		}
	}
	if n, err := s.Expel(f.ctx, f.run.Manifest, "bad"); err != nil || n != 1 {
		t.Fatalf("%d points are opened, %v", n, err)
	}
	l := f.ledger()
	if l.PointDone(11) || !l.PointDone(7) || !l.PointDone(13) || !l.PointDone(17) {
		t.Fatal("the wrong points are open")
	}
	f.want(-17, "w1 a,  ")
	f.confirmed(2)
}

// testNoQuarantine: without more than half of the votes against a worker, and for
// what was damaged in the store, nobody is shut out.
func testNoQuarantine(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1021))
	f.commit(by(f.commitOf(0, 21), "w1", "a"), jobs.Committed{Stored: 21})
	// Four votes, two of them the same.
	for i, w := range []string{"w2", "w3"} {
		lie := by(f.commitOf(0, 1), w, "a")
		lie.Cells = wrong(lie.Cells, 4<<i)
		f.commit(lie, jobs.Committed{Disputed: []int64{1}})
	}
	f.commit(by(f.commitOf(0, 1), "w4", "a"), jobs.Committed{Same: 1})
	f.banned()
	// A value and a CRC that were damaged after they were stored.
	prefix := "nsweep:{" + f.run.ID.String() + "}:"
	for key, at := range map[string]int64{"crc:s:0": 4 * 7, "val:s:0": 50 * 4 * 9} {
		if err := s.Client().SetRange(f.ctx, prefix+key, at, "????").Err(); err != nil {
			t.Fatal(err)
		}
	}
	f.commit(by(f.commitOf(7, 10), "w2", "a"), jobs.Committed{Same: 1, Disputed: []int64{351, 451}})
	f.commit(by(f.commitOf(7, 10), "w3", "a"), jobs.Committed{Same: 1, Stored: 2})
	f.banned()
	f.check(always)
}

// renew takes the run as it is in the store now.
func (f *fixture) renew() {
	f.Helper()
	var err error
	if f.run, err = f.s.Run(f.ctx, f.run.ID.Name); err != nil {
		f.Fatal(err)
	}
}

// convictWithin ends the plan at n = last, where worker bad then loses a dispute.
func convictWithin(f *fixture, last int64) {
	f.Helper()
	m := f.run.Manifest
	m.Sweeps = []jobs.Sweep{Sweep(f.T, "s", jobs.KeepValues, 1, last+1)}
	run, err := f.s.Update(f.ctx, m)
	if err != nil {
		f.Fatal(err)
	}
	f.run = run
	lie := by(f.commitOf(0, 1), "bad", "a")
	lie.Cells = wrong(lie.Cells, 4)
	f.commit(lie, jobs.Committed{Disputed: []int64{1}})
	f.commit(by(f.commitOf(0, 1), "w2", "a"), jobs.Committed{Same: 1})
}

// testQuarantineOutside: cells that are outside of the plan when their author is
// shut out are opened when a later plan has them again.
func testQuarantineOutside(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 4001), Sweep(t, "t", jobs.KeepValues, 1, 1001))
	first, last := f.sweep().Cells()
	half := (first + last) / 2
	f.commit(by(f.commitOf(first, half), "w1", "a"), jobs.Committed{Stored: int(half - first)})
	f.commit(by(f.commitOf(half, last), "bad", "a"), jobs.Committed{Stored: int(last - half)})
	other := by(jobs.Commit{Run: f.run.ID, Sweep: "t", Keep: jobs.KeepValues, Cells: Cells(f.run.Sweeps[1], 0, 20)}, "bad", "a")
	f.commit(other, jobs.Committed{Stored: 20})
	whole := f.run.Manifest
	convictWithin(f, 2000)
	if n, err := s.Expel(f.ctx, f.run.Manifest, "bad"); err != nil || n != 0 {
		t.Fatalf("%d cells are opened, %v", n, err)
	}
	run, err := s.Run(f.ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	whole.Rev = run.Rev
	if f.run, err = s.Update(f.ctx, whole); err != nil {
		t.Fatal(err)
	}
	if q := f.quarantines(); len(q) != 1 || !q[0].Pending {
		t.Fatalf("in quarantine: %+v", q)
	}
	if n, err := s.Expel(f.ctx, f.run.Manifest, "bad"); err != nil || n != last-half+20 {
		t.Fatalf("%d cells are opened, %v", n, err)
	}
	f.check(func(i int64) bool { return i < half })
	if q := f.quarantines(); q[0].Pending || q[0].Reopened != last-half+20 {
		t.Fatalf("in quarantine: %+v", q)
	}
}

// testQuarantineChanging: when the plan is changed while the cells of a worker in
// quarantine are opened, those that come into it are looked at afterwards, at
// whatever step of the opening that is.
func testQuarantineChanging(t *testing.T, s *store.Store) {
	var hook stepHook
	s.Client().AddHook(&hook)
	for step := 0; ; step++ {
		f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 4001))
		whole := f.run.Manifest
		first, last := f.sweep().Cells()
		half := (first + last) / 2
		f.commit(by(f.commitOf(first, half-10), "w1", "a"), jobs.Committed{Stored: int(half - 10 - first)})
		f.commit(by(f.commitOf(half-10, last), "bad", "a"), jobs.Committed{Stored: int(last - half + 10)})
		convictWithin(f, 2000)

		hook.before(step, func() {
			now, err := s.Run(f.ctx, "r")
			if err == nil {
				whole.Rev = now.Rev
				_, err = s.Update(f.ctx, whole)
			}
			if err != nil {
				t.Errorf("step %d: %v", step, err)
			}
		})
		if _, err := s.Expel(f.ctx, f.run.Manifest, "bad"); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if hook.pending() {
			if step < 5 {
				t.Fatalf("opening takes %d steps only", step)
			}
			return
		}
		for looks := 0; f.quarantines()[0].Pending; looks++ {
			if looks == 3 {
				t.Fatalf("step %d: looked at again and again", step)
			}
			f.renew()
			if _, err := s.Expel(f.ctx, f.run.Manifest, "bad"); err != nil {
				t.Fatal(err)
			}
		}
		f.renew()
		f.check(func(i int64) bool { return i < half-10 })
		if err := s.Delete(f.ctx, f.run.ID); err != nil {
			t.Fatal(err)
		}
	}
}
