package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

const (
	pointN = "1000000000000000"
	// W(10^15), which the engine's tests find with two cuts.
	pointValue = "202642367284675754311123909409"
	pointYAML  = `name: point
sweeps:
  - name: w
    engine: bezout
    n: {values: [` + pointN + `]}
    checkpoints: [{n: ` + pointN + `, value: ` + pointValue + `}]
`
	// pointKey is the name of the saved state: the sweep and the range.
	pointKey = "w:" + pointN + "-1000000000000001"
)

// point is a run of one n that takes long.
type point struct {
	t     *testing.T
	dir   string
	env   []string
	store *store.Store
	run   jobs.RunID
}

// state returns the saved state, or nil.
func (p *point) state() []byte {
	p.t.Helper()
	b, err := p.store.LoadState(ctxFor(p.t), p.run, pointKey)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// fraction returns how much of the value the worker with this process has done
// by what status says, or −1 when it has not begun.
func (p *point) fraction(worker *proc) float64 {
	p.t.Helper()
	for _, b := range statusOf(p.t, p.dir, p.env, "point").Tasks {
		if strings.Contains(b.Worker, pidOf(worker)) && !b.Ended && b.Fraction > 0 {
			return b.Fraction
		}
	}
	return -1
}

// begins starts a worker and returns it with the first fraction that it reports.
func (p *point) begins() (*proc, float64) {
	p.t.Helper()
	w := cli(p.t, p.dir, p.env, "worker", "--concurrency", "1")
	f := 0.0
	until(p.t, "a sign of the worker", func() bool { f = p.fraction(w); return f >= 0 })
	return w, f
}

// killed kills the worker with -9 when it reports the fraction and a state is
// saved that differs from the one before, and returns what it had done.
func (p *point) killed(w *proc, at float64, before []byte) float64 {
	p.t.Helper()
	f := 0.0
	until(p.t, "the moment to kill", func() bool {
		f = p.fraction(w)
		return f >= at && string(p.state()) != string(before)
	})
	if err := w.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-w.done
	return f
}

// TestKill9Point kills the worker twice in the middle of W(10^15). The first time
// another goes on from the saved state. The second time the state is damaged: it
// is discarded with a warning, and the value is the same.
func TestKill9Point(t *testing.T) {
	if !soak() {
		t.Skip("long: set NSWEEP_SOAK=1")
	}
	t.Parallel()
	const speed = 10 // a state is saved every 3 s instead of every 30 s
	srv := redistest.Start(t)
	p := &point{t: t, dir: t.TempDir(), env: on(srv, fmt.Sprintf("NSWEEP_TEST_SPEEDUP=%d", speed))}
	st, err := store.Open(t.Context(), store.Options{Addrs: []string{srv.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	p.store = st
	write(t, p.dir, "point.yaml", pointYAML)
	direct := cli(t, p.dir, nil, "compute", "bezout", pointN)
	if code := direct.wait(); code != codeDone || !strings.Contains(direct.out.String(), pointValue) {
		t.Fatalf("compute: exit code %d\n%s%s", code, direct.out.String(), direct.err.String())
	}
	whole := direct.cmd.ProcessState.UserTime()

	cli(t, p.dir, p.env, "scheduler")
	call(t, p.dir, p.env, codeDone, "submit", "point.yaml")
	run, err := st.Run(ctxFor(t), "point")
	if err != nil {
		t.Fatal(err)
	}
	p.run = run.ID

	first, _ := p.begins()
	had := p.killed(first, 0.5, nil)
	second, from := p.begins()
	share := func(f float64) time.Duration { return time.Duration(f * float64(whole)).Round(10 * time.Millisecond) }
	t.Logf("killed at %.0f%%, gone on at %.0f%%: at most %s of %s of processor time lost, the state has %d bytes",
		100*had, 100*from, share(max(had-from, 0)), whole, len(p.state()))
	// A machine that is busy with other things computes less in 3 s, not more.
	if lost := share(had - from); lost > 2*30*time.Second/speed || from < 0.1 {
		t.Errorf("went on at %.0f%% after it was killed at %.0f%%", 100*from, 100*had)
	}

	saved := p.state()
	p.killed(second, from, saved)
	bad := p.state()
	bad[len(bad)/2] ^= 1
	if err := st.SaveState(ctxFor(t), p.run, pointKey, bad); err != nil {
		t.Fatal(err)
	}
	third, anew := p.begins()
	if anew > 0.3 {
		t.Errorf("a damaged state was used: the worker begins at %.0f%%", 100*anew)
	}
	until(t, "the value", func() bool {
		r, err := st.Run(context.Background(), "point")
		return err == nil && r.State == jobs.Complete
	})
	if !strings.Contains(third.err.String(), "saved state of W("+pointN+") discarded") {
		t.Errorf("no warning:\n%s", third.err.String())
	}
	if out, _ := call(t, p.dir, p.env, codeDone, "get", "point", "w", pointN); !strings.Contains(out, pointValue) {
		t.Errorf("get: %s", out)
	}
	if p.state() != nil {
		t.Error("the state is kept beyond the value")
	}
}
