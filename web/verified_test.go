package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// TestVerified: cells that were computed a second time show as such, and a run
// that asks for it is not done before.
func TestVerified(t *testing.T) {
	f := newFake()
	r := f.add("r", toySweep(t, "s", 50, 1, 501, 1000))
	r.Verify = jobs.All
	r.finish("s", 0, 10)
	r.points["s"][1000] = true
	asked := 0
	s := newStill(t, f, Options{Verified: func(_ context.Context, id jobs.RunID, w jobs.Sweep) (*jobs.Ledger, error) {
		asked++
		l := jobs.NewLedger(w.Cells())
		for i := range r.confirmed {
			l.Mark(int64(i))
		}
		return l, nil
	}})
	look := func() (*RunView, *SweepView) {
		s.hub.look("r")
		v := s.look(time.Second).Run("r")
		return v, v.Sweeps[0]
	}
	if v, w := look(); asked != 0 || w.Cells.Done != 11 || w.Cells.Verified != 0 || v.Share < 0.49 || v.Share > 0.51 || w.ToConfirm != 11 {
		t.Errorf("nothing is confirmed: asked %d times, share %g, %+v", asked, v.Share, w.Cells)
	}
	r.confirmed = 4
	r.give(f, "alder", "s", 201, 501, 0.5, 0)
	r.tasks[0].Check = jobs.All
	r.beats[0].Task = r.tasks[0].ID()
	v, w := look()
	if w.Cells.Done != 7 || w.Cells.Verified != 4 || w.Cells.Running != 0 || w.heat.state(3) != "verified" || w.heat.state(4) != "done" {
		t.Errorf("four are confirmed: %+v", w.Cells)
	}
	if v.Share <= 0.6 || v.Share >= 0.75 || len(v.Tasks) != 1 || v.Tasks[0].Fraction != 0.5 || describe(v.Tasks[0]) != "check of n = 201…500" {
		t.Errorf("share %g, tasks %+v", v.Share, v.Tasks)
	}
	r.State = jobs.Paused
	if v, _ := look(); v.Rate != 0 {
		t.Errorf("checks count as %g values a second", v.Rate)
	}
	r.confirmed = 11
	if v, w := look(); v.Share != 1 || w.Share != 1 || w.Cells.Stored() != 11 {
		t.Errorf("all are confirmed: share %g, %+v", v.Share, w.Cells)
	}
	// A run that nobody looks into goes by the counters.
	g := newFake()
	q := g.add("q", toySweep(t, "s", 50, 1, 501))
	q.finish("s", 0, 10)
	q.State, q.confirmed = jobs.Cancelled, 3
	if w := newStill(t, g, Options{}).look(0).Run("q").Sweeps[0]; w.Cells.Verified != 3 || w.Cells.Done != 7 {
		t.Errorf("by counters: %+v", w.Cells)
	}
}

// TestQuarantine: a worker that computed wrong values stands at the top of its
// run's page.
func TestQuarantine(t *testing.T) {
	f := newFake()
	r := f.add("r", toySweep(t, "s", 50, 1, 501))
	r.quarantine = []jobs.Quarantine{
		{Worker: "alder:4711:abcd", Sweep: "s", N: 51, Value: "7", Won: "<8>", AtMs: 1000, Reopened: 1234},
		{Worker: "birch:4711:abcd", Sweep: "s", N: 101, Pending: true},
	}
	f.add("other", toySweep(t, "s", 50, 1, 501))
	_, base := serveFake(t, Options{Store: f, Pace: fast, IdlePace: fast})
	c := newClient(t, base)
	c.answers("/readyz", 200)
	c.get("/run/r").want(t, 200, `alder:4711</span>: it computed 7 for n = 51 of sweep s, two others &lt;8&gt;; opened again, because only it had computed them: 1,234.`,
		`birch:4711</span>: two others agree on another result for the cell of n = 101 of sweep s; its cells are about to be computed again.`)
	if a := c.get("/run/other"); strings.Contains(a.body, "quarantine") {
		t.Error("another run tells of the quarantine")
	}
	c.get("/metrics").want(t, 200, `nsweep_workers_quarantined{run="r"} 2`, `nsweep_workers_quarantined{run="other"} 0`)
}
