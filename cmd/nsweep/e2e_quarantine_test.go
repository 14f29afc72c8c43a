package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// wrongToy is an experiment of 20,000 values in 400 cells, twenty of which a
// worker spoils that computes every thousandth value wrong.
const wrongToy = `
name: toy
sweeps:
  - name: %s
    engine: toy
    n: {from: 1, to: 20000}
    sums: [{power: 1}]
`

// rightToy returns the digests of that experiment where nobody errs.
func rightToy(t *testing.T, sweep string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", fmt.Sprintf(wrongToy, sweep))
	call(t, dir, nil, codeDone, "run", "toy.yaml")
	return digests(result(t, dir, nil, "toy"))
}

// verified reads what report says about second computations.
func verified(t *testing.T, dir string, env []string, run string) verification {
	t.Helper()
	return callJSON[struct{ Verification verification }](t, dir, env, codeDone, "report", run, "--json").Verification
}

// guilty expects one worker in quarantine, for a value that is one too large.
func guilty(t *testing.T, v verification) jobs.Quarantine {
	t.Helper()
	if len(v.Quarantine) != 1 {
		t.Fatalf("in quarantine: %+v", v.Quarantine)
	}
	q := v.Quarantine[0]
	right := testengine.Value(q.N, 1)
	if q.N%1000 != 0 || q.Won != fmt.Sprint(right) || q.Value != fmt.Sprint(right+1) || q.Pending || q.By == q.Worker {
		t.Errorf("quarantine %+v", q)
	}
	return q
}

// TestWrongWorkerIsCaught: of four workers one computes one value in a thousand
// wrong. Under verify: all it is caught, ends with exit code 3 and is named; its
// cells are computed by the others, and the digests are right.
func TestWrongWorkerIsCaught(t *testing.T) {
	t.Parallel()
	want := rightToy(t, "toy")
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", "verify: all"+fmt.Sprintf(wrongToy, "toy"))
	env := on(srv, "NSWEEP_TOY_PER_CELL=4ms", "NSWEEP_TEST_TASK_CELLS=20")
	cli(t, dir, env, "scheduler")
	wait := cli(t, dir, env, "submit", "toy.yaml", "--wait")
	bad := cli(t, dir, append(env, "NSWEEP_TOY_WRONG_EVERY=1000"), "worker", "--concurrency", "1")
	until(t, "a wrong value", func() bool { return cli(t, dir, env, "get", "toy", "toy", "1000").wait() == codeDone })
	if got, _ := call(t, dir, env, codeDone, "get", "toy", "toy", "1000"); got != fmt.Sprintf("1000 %d\n", testengine.Value(1000, 1)+1) {
		t.Fatalf("the first wrong value is %q", got)
	}
	for range 3 {
		cli(t, dir, env, "worker", "--concurrency", "1")
	}
	wait.ends(codeDone)
	if got := digests(result(t, dir, env, "toy")); got != want {
		t.Errorf("digests\n%s\nwant\n%s", got, want)
	}
	if code := bad.wait(); code != codeMismatch || !strings.Contains(bad.err.String(), "is quarantined: it computed a wrong value") {
		t.Errorf("the wrong worker ends with exit code %d: %s", code, bad.err.String())
	}
	v := verified(t, dir, env, "toy")
	q := guilty(t, v)
	if !strings.Contains(q.Worker, fmt.Sprintf(":%d:", bad.cmd.Process.Pid)) {
		t.Errorf("%s is in quarantine, not process %d", q.Worker, bad.cmd.Process.Pid)
	}
	page := cli(t, dir, env, "serve", "--listen", "127.0.0.1:0")
	if status, body := page.page(dashboardOn, "run/toy", ""); status != 200 || !strings.Contains(body, "<b>In quarantine</b>") || !strings.Contains(body, q.Why()) {
		t.Errorf("the page does not tell of the quarantine: %d\n%s", status, body)
	}
	s := v.Sweeps[0]
	if v.Sample != "all" || s.Cells != 400 || s.Values != 20_000 || s.Share != 1 || s.Missing != 0 {
		t.Errorf("confirmed: %+v", s)
	}
	cells := int64(0)
	for _, by := range s.By {
		cells += by.Cells
		if by.Worker == q.Worker || by.Algorithm == "" || by.Stored == "" {
			t.Errorf("confirmed by %+v", by)
		}
	}
	if cells != 400 {
		t.Errorf("%d cells by somebody", cells)
	}
	for _, args := range [][]string{{"status", "toy"}, {"report", "toy"}} {
		out, _ := call(t, dir, env, codeDone, args...)
		for _, want := range []string{"400 of 400 cells", "100 % of all", "in quarantine: worker " + q.Worker, fmt.Sprintf("it computed %s for n = %d", q.Value, q.N)} {
			if !strings.Contains(out, want) {
				t.Errorf("nsweep %v: no %q in\n%s", args, want, out)
			}
		}
	}
}

// TestSampleCatchesItsCells: a worker that is gone has left twenty wrong cells. A
// share that has one of them convicts it: all that it stored is computed again. A
// share that has none sees nothing, and all sees everything. Which cells are in a
// share is known beforehand.
func TestSampleCatchesItsCells(t *testing.T) {
	t.Parallel()
	const share = 30_000
	for sweep, catches := range map[string]bool{"found": true, "missed": false} {
		t.Run(sweep, func(t *testing.T) {
			t.Parallel()
			w := jobs.Sweep{Name: sweep, Engine: "toy", Version: 1, Params: engine.Params{"factor": 1}}
			hits, in := 0, int64(0)
			for i, has := int64(0), w.CheckSample(share).Of(sweep); i < 400; i++ {
				if has(i) {
					in++
					if i%20 == 19 { // the cell of n = 1000, 2000, …
						hits++
					}
				}
			}
			if (hits > 0) != catches || in == 0 {
				t.Fatalf("the share of sweep %s has %d cells, %d of them wrong", sweep, in, hits)
			}
			want := rightToy(t, sweep)
			srv := redistest.Start(t)
			dir := t.TempDir()
			write(t, dir, "toy.yaml", fmt.Sprintf(wrongToy, sweep))
			env := on(srv)
			call(t, dir, append(env, "NSWEEP_TOY_WRONG_EVERY=1000"), codeDone, "run", "toy.yaml")
			if digests(result(t, dir, env, "toy")) == want {
				t.Fatal("the digests are right though every thousandth value is wrong")
			}
			cli(t, dir, env, "scheduler")
			for range 2 {
				cli(t, dir, env, "worker", "--concurrency", "1")
			}
			// A dispute that nobody at hand can decide halts a run.
			until(t, "two workers", func() bool {
				out, _ := call(t, dir, env, codeDone, "status", "toy", "--json")
				var s runStatus
				return json.Unmarshal([]byte(out), &s) == nil && len(s.Workers) == 2
			})
			text := fmt.Sprintf("%d%%", share/10_000)
			if got, err := config.ParseShare(text); err != nil || got != share {
				t.Fatal(got, err)
			}
			call(t, dir, env, codeDone, "submit", "toy.yaml", "--wait", "--set", "verify="+text)
			v := verified(t, dir, env, "toy")
			if catches {
				// Nobody else had confirmed more than the share.
				if q := guilty(t, v); q.Reopened < 400-2*in {
					t.Errorf("%d cells were computed again", q.Reopened)
				}
				if got := digests(result(t, dir, env, "toy")); got != want {
					t.Errorf("digests\n%s\nwant\n%s", got, want)
				}
			} else if len(v.Quarantine) > 0 || v.Sweeps[0].Cells != in || digests(result(t, dir, env, "toy")) == want {
				t.Errorf("a share without a wrong cell finds %+v", v)
			}
			if v.Sample != text || v.Sweeps[0].Cells < in || v.Sweeps[0].Missing != 0 {
				t.Errorf("confirmed: %+v", v)
			}
			call(t, dir, env, codeDone, "submit", "toy.yaml", "--wait", "--set", "verify=all")
			v = verified(t, dir, env, "toy")
			guilty(t, v)
			if got := digests(result(t, dir, env, "toy")); got != want || v.Sweeps[0].Cells != 400 {
				t.Errorf("after verify: all %d cells are confirmed, digests\n%s\nwant\n%s", v.Sweeps[0].Cells, got, want)
			}
		})
	}
}

// TestVerifyInOneProcess: a single process confirms its own cells by another
// algorithm, says so, and is killed and resumed in the middle of it.
func TestVerifyInOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", "verify: all"+fmt.Sprintf(wrongToy, "toy"))
	want := rightToy(t, "toy")
	env := []string{"NSWEEP_TOY_PER_CELL=4ms", "NSWEEP_TEST_TASK_CELLS=20"}
	p := cli(t, dir, env, "run", "toy.yaml", "--concurrency", "2")
	until(t, "a confirmed cell", func() bool {
		q := cli(t, dir, nil, "status", "toy", "--json")
		var s runStatus
		return q.wait() == codeDone && json.Unmarshal([]byte(q.out.String()), &s) == nil && s.Sweeps[0].Confirmed > 0
	})
	p.cmd.Process.Kill()
	p.wait()
	call(t, dir, env, codeDone, "run", "toy.yaml", "--concurrency", "2")
	if got := digests(result(t, dir, nil, "toy")); got != want {
		t.Errorf("digests\n%s\nwant\n%s", got, want)
	}
	v := verified(t, dir, nil, "toy")
	for _, by := range v.Sweeps[0].By {
		if by.Algorithm != "again" || by.Stored != "plain" {
			t.Errorf("confirmed by %+v", by)
		}
	}
	if v.Sweeps[0].Cells != 400 || len(v.Quarantine) > 0 {
		t.Errorf("verification %+v", v)
	}
	// Twenty cells more, which nobody else can confirm.
	call(t, dir, nil, codeDone, "run", "toy.yaml", "--set", "sweeps.toy.n.to=21000")
	own := int64(0)
	for _, by := range verified(t, dir, nil, "toy").Sweeps[0].By {
		own += by.Own
	}
	if own < 20 {
		t.Errorf("%d cells are confirmed by who stored them, want at least 20", own)
	}
	out, _ := call(t, dir, nil, codeDone, "plan", "toy.yaml")
	if !strings.Contains(out, "a second computation confirms 400 of the 400 cells") {
		t.Errorf("plan says\n%s", out)
	}
}

// TestVerifyCommandConfirms: what "nsweep verify" computes again and finds right is
// confirmed, and the bundle says so.
func TestVerifyCommandConfirms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call(t, dir, nil, codeDone, "run")
	if out, _ := call(t, dir, nil, codeDone, "report", "euler"); strings.Contains(out, "confirmed") {
		t.Errorf("report says\n%s", out)
	}
	call(t, dir, nil, codeDone, "verify", "euler", "--sample", "all")
	v := verified(t, dir, nil, "euler")
	if hop, bez := v.Sweeps[0], v.Sweeps[1]; hop.Cells != 20 || hop.Values != 1000 || bez.Cells != 11 || hop.By[0].Algorithm != "table" || hop.By[0].Stored != "classes" || hop.By[0].Own != 0 {
		t.Errorf("verification %+v", v)
	}
	call(t, dir, nil, codeDone, "export", "euler", "hopping", "--bundle", "b")
	out, _ := call(t, dir, nil, codeDone, "status", "euler", "--tasks")
	if !strings.Contains(out, "table (confirms)") {
		t.Errorf("the tasks are\n%s", out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "b", "verification.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s sweepVerification
	if err := json.Unmarshal(b, &s); err != nil || s.Cells != 20 {
		t.Errorf("%v in the bundle:\n%s", err, b)
	}
}

// TestVerifyBySameAlgorithm: on demand cells are confirmed by the sweep's own way.
func TestVerifyBySameAlgorithm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call(t, dir, nil, codeDone, "run", "--set", "verify={sample: all, algorithm: same}")
	for _, s := range verified(t, dir, nil, "euler").Sweeps {
		if s.Cells != s.Of || len(s.By) != 1 || s.By[0].Algorithm != s.By[0].Stored {
			t.Errorf("confirmed: %+v", s)
		}
	}
	if out, _ := call(t, dir, nil, codeDone, "report", "euler"); !strings.Contains(out, "20 cells by classes, as they were stored, from a start of its own") {
		t.Errorf("report says\n%s", out)
	}
}
