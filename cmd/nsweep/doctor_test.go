package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
	"github.com/nsweep/nsweep/worker"
)

func TestJudgeLink(t *testing.T) {
	for _, c := range []struct {
		got  diagnosis
		want store.Verdict
		text string
	}{
		{judgeClock(0), store.Fit, "0 ms ahead of Redis"},
		{judgeClock(-1500 * time.Millisecond), store.Fit, "1.5 s behind Redis"},
		{judgeClock(2001 * time.Millisecond), store.Warning, "2.0 s ahead of Redis"},
		{judgeClock(-9 * time.Second), store.Warning, "refused at 10 s"},
		{judgeClock(11 * time.Second), store.Unfit, "11 s ahead of Redis, at most 10 s is allowed"},
		{judgeClock(-24 * time.Hour), store.Unfit, "24 h 00 min behind Redis"},
		{judgeLatency(80*time.Microsecond, 21), store.Fit, "0.08 ms, the median of 21 pings"},
		{judgeLatency(slowLink, 5), store.Fit, "20.00 ms"},
		{judgeLatency(50*time.Millisecond, 5), store.Warning, "50.00 ms"},
	} {
		if c.got.Verdict != c.want || !strings.Contains(c.got.Text, c.text) {
			t.Errorf("%+v, want %s with %q", c.got, c.want, c.text)
		}
	}
	if code := exitCode(worker.ErrSkew); code != codeUnreachable {
		t.Errorf("a clock that is off has code %d", code)
	}
}

func TestJudgeMemory(t *testing.T) {
	const gib = 1 << 30
	limited := store.Fitness{MaxMemory: 4 * gib, UsedMemory: gib, SystemMemory: 64 * gib}
	free := store.Fitness{UsedMemory: gib, SystemMemory: 4 * gib}
	for _, c := range []struct {
		f    store.Fitness
		d    demand
		name string
		want store.Verdict
		text string
	}{
		{limited, demand{}, "", store.Fit, "3.0 GiB of 4.0 GiB (maxmemory) are free"},
		{limited, demand{plan: 2 * gib}, "x", store.Fit, "run x takes 2.0 GiB more"},
		{limited, demand{plan: 3*gib - 1}, "x", store.Warning, "little is left"},
		{limited, demand{plan: 3*gib + 1}, "x", store.Unfit, "raise maxmemory"},
		{limited, demand{plan: 2 * gib, others: 2 * gib}, "x", store.Warning, "and other runs under way 2.0 GiB: not all of them will fit"},
		{limited, demand{others: 4 * gib}, "", store.Unfit, "runs under way take 4.0 GiB more"},
		{store.Fitness{MaxMemory: gib, UsedMemory: 2 * gib}, demand{plan: 1}, "x", store.Unfit, "0 B of 1.0 GiB"},
		{free, demand{plan: 2 * gib}, "x", store.Fit, "(memory of its machine)"},
		{free, demand{plan: 4 * gib}, "x", store.Warning, "killed"},
		{store.Fitness{}, demand{plan: 4 * gib}, "x", store.Fit, "does not say"},
	} {
		if got := judgeMemory(c.f, c.d, c.name); got.Verdict != c.want || !strings.Contains(got.Text, c.text) {
			t.Errorf("%+v %q: %+v, want %s with %q", c.d, c.name, got, c.want, c.text)
		}
	}
}

func TestMissing(t *testing.T) {
	set, err := jobs.NewSet(1, 1_000_001, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := (&app{reg: engines()}).reg.Get("hopping")
	if err != nil {
		t.Fatal(err)
	}
	s := jobs.Sweep{Name: "m", Engine: "hopping", Keep: jobs.KeepValues, Set: set, Grid: h.Info().Grid}
	all := missing([]jobs.Sweep{s}, nil)
	if all < 4_000_000 || all > 4_400_000 {
		t.Errorf("a million values of M take %d bytes", all)
	}
	half := missing([]jobs.Sweep{s}, map[string]jobs.Counts{"m": {Values: 500_000}})
	if half < all/2-1 || half > all/2+1 {
		t.Errorf("half of them take %d bytes, all %d", half, all)
	}
	if none := missing([]jobs.Sweep{s}, map[string]jobs.Counts{"m": {Values: 2_000_000}}); none != 0 {
		t.Errorf("nothing is left, but takes %d bytes", none)
	}
}

func TestJudgeDisk(t *testing.T) {
	dir := t.TempDir()
	if d := judgeDisk(dir+"/not/there", 1); d.Verdict == store.Unfit || d.Figures["free_bytes"] < 1 {
		t.Errorf("%+v", d)
	}
	if d := judgeDisk(dir, 1<<62); d.Verdict != store.Unfit && d.Verdict != store.Warning {
		t.Errorf("%+v", d)
	}
}

// checks runs doctor and returns its verdicts by check, and all it says.
func checks(t *testing.T, dir string, env []string, code int, args ...string) (map[string]store.Verdict, string) {
	t.Helper()
	out, _ := call(t, dir, env, code, append([]string{"doctor", "--json"}, args...)...)
	var h health
	if err := json.Unmarshal([]byte(out), &h); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if h.Fit != (code == codeDone) {
		t.Errorf("fit is %t with code %d", h.Fit, code)
	}
	m := map[string]store.Verdict{}
	for _, d := range h.Checks {
		if old, ok := m[d.Check]; !ok || old == store.Fit {
			m[d.Check] = d.Verdict
		}
	}
	return m, out
}

// TestDoctor asks about real servers, one for each thing that can be wrong.
func TestDoctor(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		code  int
		wrong map[string]store.Verdict
	}{
		"fit":      {nil, codeDone, nil},
		"no file":  {[]string{"--appendonly", "no"}, codeDone, map[string]store.Verdict{"persistence": store.Warning}},
		"no fsync": {[]string{"--appendfsync", "no"}, codeDone, map[string]store.Verdict{"persistence": store.Warning}},
		"eviction": {[]string{"--maxmemory-policy", "allkeys-lru"}, codeUnreachable, map[string]store.Verdict{"eviction": store.Unfit}},
		"cluster":  {[]string{"--cluster-enabled", "yes"}, codeUnreachable, map[string]store.Verdict{"kind": store.Unfit}},
		"replica":  {[]string{"--replicaof", "127.0.0.1 1"}, codeUnreachable, map[string]store.Verdict{"role": store.Unfit}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t, c.args...)
			dir := t.TempDir()
			got, text := checks(t, dir, on(srv), c.code)
			for _, check := range []string{"machine", "engine", "reachable", "kind", "version", "role", "eviction", "persistence", "latency", "clock", "memory"} {
				want := c.wrong[check]
				if want == "" {
					want = store.Fit
				}
				// A busy machine may be slow; a cluster or replica may not list runs.
				if v, ok := got[check]; !ok || (v != want && check != "latency" && (check != "memory" || c.code == codeDone)) {
					t.Errorf("%s is %q, want %q in\n%s", check, v, want, text)
				}
			}
			out, errs := call(t, dir, on(srv), c.code, "doctor")
			if n := strings.Count(out, "\n"); n < 10 || errs != "" {
				t.Errorf("says %d lines and %q", n, errs)
			}
			if (c.code == codeDone) == strings.Contains(out, "✗") || strings.Contains(out, "127.0.0.1:1 ") {
				t.Errorf("says\n%s", out)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	t.Run("unreachable", func(t *testing.T) {
		got, text := checks(t, t.TempDir(), nil, codeUnreachable, "--redis", "redis://u:secret@127.0.0.1:1/0")
		if got["reachable"] != store.Unfit || strings.Contains(text, "secret") {
			t.Errorf("says %s", text)
		}
	})
	t.Run("password", func(t *testing.T) {
		srv := redistest.Start(t, "--requirepass", "x")
		if got, text := checks(t, t.TempDir(), on(srv), codeUnreachable); got["reachable"] != store.Unfit || !strings.Contains(text, "asks for a password") {
			t.Errorf("says %s", text)
		}
	})
}

func TestDoctorEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, text := checks(t, dir, nil, codeDone, "euler"); !strings.Contains(text, "not there yet") {
		t.Errorf("says %s", text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, text := checks(t, dir, nil, codeUnreachable, "euler", "--set", "sweeps.bezout.n={to: 1e12}"); !strings.Contains(text, "keep sums instead of values") {
		t.Errorf("says %s", text)
	}
	write(t, dir, "toy.yaml", toyYAML)
	p := cli(t, dir, []string{"NSWEEP_TOY_PER_CELL=1s"}, "run", "toy.yaml")
	until(t, "the owner", func() bool { return cli(t, dir, nil, "get", "toy", "toy", "1").wait() == codeDone })
	if _, text := checks(t, dir, nil, codeDone); !strings.Contains(text, "a process owns") {
		t.Errorf("says %s", text)
	}
	p.cmd.Process.Kill()
	<-p.done
	if _, text := checks(t, dir, nil, codeDone); !strings.Contains(text, "no process owns it") {
		t.Errorf("says %s", text)
	}
	write(t, dir, "file", "")
	if _, text := checks(t, dir, nil, codeUnreachable, "--data-dir", "file"); !strings.Contains(text, "is a file") && !strings.Contains(text, "not a directory") {
		t.Errorf("says %s", text)
	}
}

// TestPlanThatDoesNotFit: run and submit refuse what maxmemory cannot hold, with
// figures and before anything is stored.
func TestPlanThatDoesNotFit(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, "--maxmemory", "30mb")
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	big := []string{"toy.yaml", "--set", "sweeps.toy.n.to=10_000_000"}
	for _, cmd := range []string{"run", "submit"} {
		_, errs := call(t, dir, on(srv), codeUnreachable, append([]string{cmd}, big...)...)
		for _, want := range []string{"too little memory", "29 MiB", "MiB more", "raise maxmemory"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: no %q in %s", cmd, want, errs)
			}
		}
		if strings.Count(errs, "\n") != 1 {
			t.Errorf("%s says %q, want one line", cmd, errs)
		}
	}
	if got, _ := checks(t, dir, on(srv), codeUnreachable, big...); got["memory"] != store.Unfit {
		t.Errorf("doctor finds %v", got)
	}
	if out, _ := call(t, dir, on(srv), codeDone, "runs"); !strings.Contains(out, "no runs") {
		t.Errorf("stored: %s", out)
	}
	call(t, dir, on(srv), codeDone, "run", "toy.yaml")
	if got, text := checks(t, dir, on(srv), codeDone, "toy.yaml"); got["memory"] != store.Fit {
		t.Errorf("doctor says %s", text)
	}
}
