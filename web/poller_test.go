package web

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// still is a server whose poller looks only when the test says so, by a clock
// that the test moves.
type still struct {
	*Server
	t     testing.TB
	f     *fakeStore
	clock *fakeClock
}

func newStill(t testing.TB, f *fakeStore, o Options) *still {
	t.Helper()
	clock := &fakeClock{noon}
	f.clock = clock.now
	o.Store = f
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	s, err := newServer(o, clock.now)
	if err != nil {
		t.Fatal(err)
	}
	return &still{s, t, f, clock}
}

// look lets time pass and the poller look once.
func (s *still) look(d time.Duration) *Snapshot {
	s.t.Helper()
	s.clock.t = s.clock.t.Add(d)
	s.poller.tick(context.Background())
	return s.hub.current()
}

// fold sums up all that is wanted.
func (s *still) fold() {
	s.t.Helper()
	for w := s.poller.folds.next(); w != nil; w = s.poller.folds.next() {
		s.poller.folds.step(context.Background(), w)
	}
}

func texts(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.Kind + ": " + e.Text + "\n")
	}
	return b.String()
}

func TestSnapshot(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	f.worker("alder", 4)
	r := f.add("r", toySweep(t, "s", 50, 1, 1001, 5000))
	r.leader = "alder"
	r.finish("s", 0, 10)
	r.finish("s", 12, 14)
	r.give(f, "alder", "s", 701, 801, 0.5, 0)
	r.give(f, "", "s", 801, 901, 0, 0)
	s.hub.look("r")
	s.look(0)
	s.fold()
	snap := s.look(time.Second)
	v := snap.Run("r")
	if v == nil || v.State != jobs.Running || v.Values != 600 || v.Total != 1001 || v.Leader != "alder" || v.Waiting != 1 || len(v.Tasks) != 1 || len(v.Workers) != 1 {
		t.Fatalf("%+v", v)
	}
	if want := (CellCounts{All: 21, Open: 7, Running: 2, Done: 12}); v.Cells != want {
		t.Errorf("cells %+v, want %+v", v.Cells, want)
	}
	w := v.Sweeps[0]
	want := int64(0)
	for n := int64(1); n <= 500; n++ {
		want += toy(n) * toy(n)
	}
	if w.Result.Done != 500 || w.Summing || w.Result.Sums[0].Value != engine.Int128From(want).String() {
		t.Errorf("summed up %d values to %v, want 500 to %d; summing %v", w.Result.Done, w.Result.Sums, want, w.Summing)
	}
	if share := 600.0 / 1001; v.Share < share-1e-9 || v.Share > share+1e-9 {
		t.Errorf("share %v, want %v", v.Share, share)
	}
}

// TestPaceAndRates has a worker finish 100 values a second.
func TestPaceAndRates(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	r := f.add("r", toySweep(t, "s", 50, 1, 100_001))
	s.hub.look("r")
	f.worker("alder", 1)
	f.change(func() { r.give(f, "alder", "s", 1, 1001, 0, 0) })
	s.look(0)
	for i := 1; i <= 60; i++ {
		f.change(func() {
			r.finish("s", 0, int64(2*i))
			// A task takes ten seconds: it ends and the next begins.
			k := int64(i / 10)
			now := s.clock.t.Add(time.Second).UnixMilli()
			r.tasks, r.beats = nil, nil
			task := r.give(f, "", "s", 1+1000*k, 1001+1000*k, 0, 0)
			r.beats = append(r.beats, jobs.Beat{Task: task.ID(), Worker: "alder", Fraction: float64(i%10) / 10, StartedMs: now - 1000*int64(i%10), AtMs: now})
			f.workers[0].AtMs = now
			if i%10 == 0 {
				old := r.give(f, "", "s", 1+1000*(k-1), 1+1000*k, 0, 0)
				r.tasks = r.tasks[:1]
				r.beats = append(r.beats, jobs.Beat{Task: old.ID(), Worker: "alder", Fraction: 1, StartedMs: now - 10_000, AtMs: now, Ended: true})
			}
		})
		s.hub.look("r")
		s.look(time.Second)
	}
	v := s.hub.current().Run("r")
	if v.Rate < 99 || v.Rate > 101 {
		t.Errorf("rate %v, want 100", v.Rate)
	}
	if l := v.Left; !l.Known || l.Most.Seconds() < 900 || l.Most.Seconds() > 980 {
		t.Errorf("left %+v, want 940 s", l)
	}
	if got := v.Workers[0].Rate; got < 85 || got > 115 {
		t.Errorf("the worker's rate is %v, want 100", got)
	}
	times := s.poller.tracks[r.ID].sweeps[0].times
	if len(times) != 6 {
		t.Fatalf("%d finished tasks were timed, want 6", len(times))
	}
	for i, x := range times {
		if x.seconds != 10 || x.from != int64(20*i) || x.to != int64(20*i+20) {
			t.Errorf("task %d: %+v", i, x)
		}
	}
}

// TestLedgersAreReadWithMeasure counts how often the ledger is read.
func TestLedgersAreReadWithMeasure(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	r := f.add("r", toySweep(t, "s", 50, 1, 1001))
	ended := f.add("ended", toySweep(t, "s", 50, 1, 1001))
	ended.State = jobs.Halted
	s.look(0)
	if f.reads != 1 {
		t.Fatalf("%d reads at first, want 1: of the run under way", f.reads)
	}
	s.look(time.Second)
	if f.reads != 1 {
		t.Fatalf("read again though nobody looks and it is not time")
	}
	s.hub.look("r")
	s.look(time.Second)
	s.look(time.Second)
	if f.reads != 1 {
		t.Fatalf("read again though no counter moved")
	}
	r.finish("s", 0, 1)
	s.look(time.Second)
	if f.reads != 2 {
		t.Fatalf("%d reads, want 2", f.reads)
	}
	s.poller.tracks[r.ID].sweeps[0].took = time.Second // a ledger that takes long
	r.finish("s", 1, 2)
	s.hub.look("r")
	s.look(10 * time.Second)
	if f.reads != 2 {
		t.Fatalf("a slow ledger is read too often")
	}
	s.hub.look("r")
	s.look(11 * time.Second)
	if f.reads != 3 {
		t.Fatalf("%d reads, want 3", f.reads)
	}
	// The last cells of a run that ends are seen, though nobody looks any more.
	s.look(time.Minute)
	r.finish("s", 0, 20)
	r.State = jobs.Complete
	if v := s.look(time.Second).Run("r"); f.reads != 5 || v.Cells.Done != 20 || v.Cells.Open != 0 || v.Share != 1 {
		t.Fatalf("%d reads, want 5; of a complete run %+v are seen", f.reads, v.Cells)
	}
	s.look(time.Second)
	s.look(time.Minute)
	if f.reads != 5 {
		t.Fatalf("a complete run is read again and again")
	}
	s.hub.look("ended")
	s.look(time.Second)
	if f.reads != 6 || s.hub.current().Run("ended").Sweeps[0].heat == nil {
		t.Fatalf("%d reads, want 6: of the ended run that is looked at", f.reads)
	}
}

func TestLostStore(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	f.add("r", toySweep(t, "s", 50, 1, 1001))
	f.err = errNotThere
	if snap := s.look(0); snap.Lost == "" || s.notReady() == nil {
		t.Fatalf("%+v", snap)
	}
	f.err = nil
	if snap := s.look(time.Second); snap.Lost != "" || snap.Run("r") == nil || s.notReady() != nil {
		t.Fatalf("%+v", snap)
	}
	f.err = errNotThere
	s.look(time.Second)
	snap := s.look(time.Second)
	if snap.Run("r") == nil || !strings.Contains(snap.Lost, "connection refused") || !snap.LostAt.Equal(noon.Add(2*time.Second)) {
		t.Fatalf("lost: %q at %v, runs %v", snap.Lost, snap.LostAt, snap.Runs)
	}
	if got := texts(snap.Events); strings.Count(got, "store: the store does not answer") != 2 || strings.Count(got, "answers again") != 1 {
		t.Errorf("events:\n%s", got)
	}
	f.err = nil
	s.look(time.Second)
	s.clock.t = s.clock.t.Add(time.Hour)
	if s.notReady() == nil {
		t.Error("ready though the store was read an hour ago")
	}
}

func TestEvents(t *testing.T) {
	f := newFake()
	s := newStill(t, f, Options{})
	r := f.add("r", toySweep(t, "s", 50, 1, 1001))
	gone := f.add("gone", toySweep(t, "s", 50, 1, 1001))
	step := func(change func(), want ...string) {
		t.Helper()
		before := int64(0)
		if c := s.hub.current(); c != nil && len(c.Events) > 0 {
			before = c.Events[len(c.Events)-1].Seq
		}
		f.change(change)
		s.hub.look("r")
		s.look(time.Second)
		s.fold()
		var fresh []Event
		for _, e := range s.hub.current().Events {
			if e.Seq > before {
				fresh = append(fresh, e)
			}
		}
		got := texts(fresh)
		for _, w := range want {
			if !strings.Contains(got, w+"\n") {
				t.Errorf("no event %q in\n%s", w, got)
			}
		}
		if len(fresh) != len(want) {
			t.Errorf("%d events, want %d:\n%s", len(fresh), len(want), got)
		}
	}
	step(func() {})
	step(func() { f.worker("alder", 1) }, "joined: worker alder joined with 1 slot")
	step(func() { r.leader = "alder" }, "plan: alder leads run r")
	step(func() { r.State = jobs.Paused }, "paused: run r is paused")
	step(func() { r.State = jobs.Running }, "running: run r goes on")
	step(func() { r.give(f, "alder", "s", 101, 201, 0, 2) }, "retried: n = 101…200 of s is tried again (attempt 3)")
	step(func() { r.tasks, r.beats = nil, nil })
	step(func() { r.failures = []jobs.Failure{{Sweep: "s", Lo: 151, Hi: 201, Error: "boom\nlog"}} }, "failed: n = 151…200 of s failed: boom")
	step(func() {
		for i := range int64(8) {
			r.failures = append(r.failures, jobs.Failure{Sweep: "s", Points: []int64{i + 1}, Error: "boom"})
		}
	}, "failed: n = 1 of s failed: boom", "failed: n = 2 of s failed: boom", "failed: n = 3 of s failed: boom",
		"failed: n = 4 of s failed: boom", "failed: n = 5 of s failed: boom", "failed: 3 stretches more failed")
	step(func() {
		r.finish("s", 0, 1)
		r.disputes["s"] = []jobs.Dispute{{Cell: 0, N: 1}}
	}, "disputed: two computations of s disagree at n = 1")
	step(func() {
		r.quarantine = []jobs.Quarantine{{Worker: "h:7:abcd", Sweep: "s", N: 3, Value: "8", Won: "7"}}
	}, "disputed: h:7 is in quarantine: it computed 8 for n = 3 of sweep s, two others 7")
	step(func() { r.finish("s", 1, 10) })
	step(func() {}, "checked: checkpoint met: f(201) = "+engine.Int128From(toy(201)).String(),
		"checked: checkpoint met: Σ f², n ≤ 201 = "+r.Sweeps[0].Checkpoints[1].Want.String())
	step(func() { f.workers = nil }, "left: worker alder left")
	step(func() { f.runs = f.runs[:1]; _ = gone }, "cancelled: run gone was deleted")
	step(func() { r.Rev++ }, "plan: the plan of run r was changed (revision 1)")
	step(func() { r.State, r.Reason = jobs.Halted, "checkpoint not met" }, "halted: run r is halted: checkpoint not met")
	step(func() {
		r.State = jobs.Running
		r.ID.Epoch, r.Number = jobs.NewEpoch(), 2
	}, "running: run r was started afresh (start 2)")
	late := f.add("new", toySweep(t, "s", 50, 1, 1001))
	step(func() {}, "running: run new was created")
	step(func() { late.illegible = errors.New("key k: no JSON") }, "failed: run new cannot be read: key k: no JSON")
	step(func() { late.illegible = nil }, "running: run new can be read again")
	for range 300 {
		s.poller.note(noon, "", "store", "x")
	}
	if k := len(s.poller.events); k > maxEvents {
		t.Errorf("%d events are kept", k)
	}
}

// TestDamagedRun: one run that cannot be read hides no other.
func TestDamagedRun(t *testing.T) {
	f := newFake()
	f.add("bad", toySweep(t, "s", 50, 1, 101)).illegible = errors.New("key k: <no JSON>")
	f.add("good", toySweep(t, "s", 50, 1, 101)).finish("s", 0, 1)
	s, base := serveFake(t, Options{Store: f, Pace: fast, IdlePace: fast})
	c := newClient(t, base)
	c.answers("/readyz", 200)
	c.get("/").want(t, 200, "run bad cannot be read: key k: &lt;no JSON&gt;", `href="/run/good"`)
	c.get("/run/good").want(t, 200)
	c.get("/run/bad").want(t, 404, "cannot be read")
	c.get("/metrics").want(t, 200, `nsweep_runs{state="damaged"} 1`, `nsweep_values_total{run="good"} 50`)
	if x := s.hub.current(); x.Lost != "" {
		t.Errorf("the store counts as lost: %s", x.Lost)
	}
}
