package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
)

// provenanceIn reads the provenance that a command prints as JSON.
func provenanceIn(t *testing.T, dir string, env []string, args ...string) provenance {
	t.Helper()
	return callJSON[struct{ Provenance provenance }](t, dir, env, codeDone, args...).Provenance
}

// covered counts the n that tasks say they stored.
func covered(p provenance) (n int64) {
	for _, x := range p.Tasks {
		if x.Points > 0 {
			n += x.Points
		} else {
			n += int64(x.Hi - x.Lo)
		}
	}
	return n
}

// TestProvenance: after a run in two processes on the embedded store, a third
// one knows who computed which values.
func TestProvenance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	first := cli(t, dir, nil, "run", "toy.yaml", "--set", "sweeps.toy.n.to=2000", "--set", "sweeps.toy.algorithm=again")
	first.ends(codeDone)
	second := cli(t, dir, nil, "run", "toy.yaml")
	second.ends(codeDone)
	p := provenanceIn(t, dir, nil, "report", "toy", "--json")
	if len(p.Workers) != 2 || p.Workers[0].PID != first.cmd.Process.Pid || p.Workers[1].PID != second.cmd.Process.Pid {
		t.Fatalf("workers %+v, want processes %d and %d", p.Workers, first.cmd.Process.Pid, second.cmd.Process.Pid)
	}
	if p.Workers[0].Values != 2000 || p.Workers[1].Values != 3000 || covered(p) != 5000 || p.Omitted != 0 {
		t.Errorf("%d and %d values, %d in tasks", p.Workers[0].Values, p.Workers[1].Values, covered(p))
	}
	for _, w := range p.Workers {
		if w.Build == "" || w.Host == "" || w.Tasks == 0 {
			t.Errorf("worker %+v", w)
		}
	}
	now := time.Now()
	for _, x := range p.Tasks {
		want := map[string]string{p.Workers[0].Worker: "again", p.Workers[1].Worker: "plain"}[x.Worker]
		at, err := time.Parse(time.RFC3339, x.Started)
		if x.Algorithm != want || err != nil || at.After(now) || now.Sub(at) > time.Hour || x.TookMs < 0 {
			t.Errorf("task %+v (%v), want algorithm %s", x, err, want)
		}
	}
	if q := provenanceIn(t, dir, nil, "status", "toy", "--tasks", "--json"); fmt.Sprint(q) != fmt.Sprint(p) {
		t.Errorf("status says %+v, report %+v", q, p)
	}
	// The time of a sweep is that of its tasks.
	var took int64
	for _, x := range p.Tasks {
		took += x.TookMs
	}
	r := callJSON[aggregator.Result](t, dir, nil, codeDone, "report", "toy", "--json")
	if r.Sweeps[0].ElapsedMs != max(1, took) {
		t.Errorf("the sweep took %d ms, its tasks %d ms", r.Sweeps[0].ElapsedMs, took)
	}
	if text, _ := call(t, dir, nil, codeDone, "report", "toy"); !regexp.MustCompile(`(?m)^sweep .* time$`).MatchString(text) {
		t.Errorf("no time in:\n%s", text)
	}
	// The page of a cell tells the same.
	page := cli(t, dir, nil, "serve", "--listen", "127.0.0.1:0")
	for n, want := range map[int]string{60: fmt.Sprintf(":%d (%s", first.cmd.Process.Pid, p.Workers[0].Worker), 4000: fmt.Sprintf(":%d (%s", second.cmd.Process.Pid, p.Workers[1].Worker)} {
		status, body := page.page(dashboardOn, fmt.Sprintf("run/toy/cell?sweep=toy&n=%d", n), "")
		algorithm := map[int]string{60: "again", 4000: "plain"}[n]
		if status != 200 || !strings.Contains(body, want) || !strings.Contains(body, "algorithm "+algorithm) || strings.Contains(body, "<dt>before</dt>") {
			t.Errorf("no %q in the page of n = %d: %d\n%s", want, n, status, body)
		}
	}
	out, _ := call(t, dir, nil, codeDone, "status", "toy", "--tasks")
	for _, want := range []string{fmt.Sprintf(":%d (", first.cmd.Process.Pid), fmt.Sprintf(":%d (", second.cmd.Process.Pid), "again", "attempt", "algorithm"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if out, _ := call(t, dir, nil, codeDone, "status", "toy", "--json"); strings.Contains(out, `"provenance"`) {
		t.Errorf("unasked provenance in %s", out)
	}
}

// TestProvenanceOfKilled: what a killed worker has stored is known too.
func TestProvenanceOfKilled(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	env := on(srv, "NSWEEP_TOY_PER_CELL=1s")
	cli(t, dir, env, "scheduler")
	killed := cli(t, dir, env, "worker", "--concurrency", "1")
	call(t, dir, env, codeDone, "submit", "toy.yaml")
	begun(t, dir, env)
	out, _ := call(t, dir, env, codeDone, "status", "toy", "--tasks")
	if !strings.Contains(out, "under way") || !strings.Contains(out, "toy:1-") {
		t.Errorf("no task under way in:\n%s", out)
	}
	killed.cmd.Process.Kill()
	<-killed.done
	cli(t, dir, on(srv), "worker", "--concurrency", "1")
	if p := cli(t, dir, env, "submit", "toy.yaml", "--wait"); p.wait() != codeDone {
		t.Fatalf("exit code %d: %s", p.code, p.err.String())
	}
	p := provenanceIn(t, dir, env, "report", "toy", "--json")
	if len(p.Workers) != 2 || p.Workers[0].PID != killed.cmd.Process.Pid || p.Workers[0].Values < 50 || covered(p) != 5000 {
		t.Errorf("workers %+v, %d values", p.Workers, covered(p))
	}
	again := false
	for _, x := range p.Tasks {
		again = again || x.Attempt > 0
	}
	if !again {
		t.Errorf("no task of a second attempt in %+v", p.Tasks)
	}
}

func TestDescribeWorker(t *testing.T) {
	for want, w := range map[string]jobs.Worker{
		"h:7 (abcd, v1, cpu)": {ID: "h:7:abcd", Host: "h", PID: 7, Build: "v1", CPU: "cpu"},
		"h:7 (abcd)":          {ID: "h:7:abcd", Host: "h", PID: 7},
		"worker abcd, whose description was lost": {ID: "abcd"},
	} {
		if got := describeWorker(w); got != want {
			t.Errorf("%+v is %q, want %q", w, got, want)
		}
	}
}
