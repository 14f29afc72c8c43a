package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
)

// on returns the environment that names a server. The program's own intervals
// are as ever: a test that shortens them lets a busy machine seem dead.
func on(s *redistest.Server, more ...string) []string {
	return append([]string{"NSWEEP_REDIS_URL=" + s.URL()}, more...)
}

// TestSeparateProcesses is the main job on a real Redis: one scheduler, two
// workers, one of which is killed in the middle. The digests are those of the
// embedded run.
func TestSeparateProcesses(t *testing.T) {
	t.Parallel()
	alone, dir := t.TempDir(), t.TempDir()
	call(t, alone, nil, codeDone, "run", "--set", "sweeps.hopping.n.to=3000")
	want := digests(result(t, alone, nil, "euler"))

	srv := redistest.Start(t)
	env := on(srv)
	cli(t, dir, env, "scheduler")
	killed := cli(t, dir, env, "worker", "--concurrency", "1")
	cli(t, dir, env, "worker", "--concurrency", "1")
	wait := cli(t, dir, env, "submit", "--set", "sweeps.hopping.n.to=3000", "--set", "sweeps.hopping.algorithm=table", "--wait")
	until(t, "the first values", func() bool {
		q := cli(t, dir, env, "get", "euler", "hopping", "1")
		return q.wait() == codeDone
	})
	killed.cmd.Process.Kill()
	wait.ends(codeDone)
	got := digests(result(t, dir, env, "euler"))
	if got != want {
		t.Errorf("digests differ:\n%s\nwant\n%s", got, want)
	}
	out, _ := call(t, dir, env, codeDone, "runs")
	if !strings.Contains(out, "euler") || !strings.Contains(out, "complete") {
		t.Errorf("runs says %s", out)
	}
}

// TestSchedulerTakeover kills the leading scheduler; another goes on.
func TestSchedulerTakeover(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, 200*time.Millisecond)
	env := on(srv, slow...)
	first := cli(t, dir, env, "scheduler")
	cli(t, dir, env, "worker", "--concurrency", "2")
	wait := cli(t, dir, env, "submit", "toy.yaml", "--wait")
	begun(t, dir, env)
	cli(t, dir, env, "scheduler")
	first.cmd.Process.Kill()
	hurry()
	wait.ends(codeDone)
	r := result(t, dir, env, "toy")
	if s, _ := r.Sweep("toy"); s.Done != 5000 || !r.Passed() {
		t.Errorf("result %+v", r)
	}
}

// TestRunBesideWorkers: "run" on a Redis leads and works, others help.
func TestRunBesideWorkers(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	env := on(srv, "NSWEEP_TOY_PER_CELL=20ms")
	cli(t, dir, env, "worker", "--concurrency", "2")
	p := cli(t, dir, env, "run", "toy.yaml", "--concurrency", "2")
	q := cli(t, dir, env, "run", "toy.yaml", "--concurrency", "2")
	for _, x := range []*proc{p, q} {
		x.ends(codeDone)
	}
	if p.out.String() != q.out.String() {
		t.Errorf("two runs of one experiment print\n%s\nand\n%s", p.out.String(), q.out.String())
	}
}

// TestFencing: cancel, delete and re-create a run while a worker computes.
func TestFencing(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, time.Second)
	env := on(srv, slow...)
	cli(t, dir, env, "scheduler")
	cli(t, dir, env, "worker", "--concurrency", "2")
	call(t, dir, env, codeDone, "submit", "toy.yaml")
	begun(t, dir, env)
	call(t, dir, env, codeDone, "cancel", "toy")
	call(t, dir, env, codeDone, "delete", "toy", "--yes")
	hurry()
	call(t, dir, env, codeDone, "submit", "toy.yaml", "--set", "sweeps.toy.params.factor=2", "--set", "sweeps.toy.n.to=1000", "--wait")
	r := result(t, dir, env, "toy")
	if s, _ := r.Sweep("toy"); s.Last.Value != fmt.Sprint(2*((7*1000*1000+3*1000)%1_000_003)) {
		t.Errorf("last value %v: of the deleted run?", s.Last)
	}
}

// TestUnfitRedis: another eviction policy than noeviction is refused.
func TestUnfitRedis(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	dir := t.TempDir()
	for _, args := range [][]string{{"run"}, {"worker"}, {"scheduler"}, {"runs"}} {
		_, errs := call(t, dir, on(srv), codeUnreachable, args...)
		if strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "noeviction") {
			t.Errorf("nsweep %v says %q", args, errs)
		}
	}
}

// TestWorkerFailures: a cell whose engine fails, and one that kills its worker,
// leave everything else complete; retry computes just those.
func TestWorkerFailures(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	bad := on(srv, "NSWEEP_TOY_FAIL_AT=777", "NSWEEP_TOY_PANIC_AT=3333")
	_, errs := call(t, dir, bad, codeFailed, "run", "toy.yaml")
	if !strings.Contains(errs, "told to fail at n = 777") && !strings.Contains(errs, "told to panic at n = 3333") {
		t.Errorf("says %s", errs)
	}
	out, _ := call(t, dir, on(srv), codeDone, "status", "toy")
	if !strings.Contains(out, "751") || !strings.Contains(out, "3301") {
		t.Errorf("the failed cells are not named: %s", out)
	}
	call(t, dir, on(srv), codeDone, "retry", "toy")
	_, errs = call(t, dir, on(srv), codeDone, "run", "toy.yaml")
	if values, again := computed(t, errs); again != "0" || values == "5,000" {
		t.Errorf("computed %s values, %s cells again", values, again)
	}
}

// kills runs an experiment, killing it at random moments, and compares with an
// undisturbed run. It requires that hardly any committed cell was computed a
// second time: only what was under way in the moment of a kill.
func kills(t *testing.T, env []string, file string, times int, moments func() time.Duration, flags ...string) {
	t.Helper()
	clean, dir := t.TempDir(), t.TempDir()
	if strings.HasSuffix(file, ".yaml") {
		write(t, clean, file, toyYAML)
		write(t, dir, file, toyYAML)
	}
	args := append([]string{"run", file}, flags...)
	name := strings.TrimSuffix(file, ".yaml")
	call(t, clean, nil, codeDone, "run", file)
	want := digests(result(t, clean, nil, name))
	slow := append([]string{"NSWEEP_TOY_PER_CELL=80ms"}, env...)
	killed := 0
	for range times {
		p := cli(t, dir, slow, args...)
		select {
		case <-p.done:
		case <-time.After(moments()):
			p.cmd.Process.Kill()
			killed++
		}
		<-p.done
	}
	// Without the flags that made it last: they choose how, not what.
	call(t, dir, env, codeDone, "run", file)
	if got := result(t, dir, env, name); digests(got) != want {
		t.Errorf("digests differ after %d kills:\n%s\nwant\n%s", killed, digests(got), want)
	}
	for _, x := range statusOf(t, dir, env, name).Sweeps {
		t.Logf("%d kills: sweep %s has %d cells, %d were computed a second time", killed, x.Name, x.Cellsof, x.Repeated)
		if x.Repeated > int64(10*times) {
			t.Errorf("sweep %s: %d committed cells were computed again", x.Name, x.Repeated)
		}
	}
}

func TestKill9Embedded(t *testing.T) {
	t.Parallel()
	kills(t, nil, "toy.yaml", 3, func() time.Duration { return 800*time.Millisecond + rand.N(700*time.Millisecond) })
}

func TestKill9Redis(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	kills(t, []string{"NSWEEP_REDIS_URL=" + srv.URL()}, "toy.yaml", 3, func() time.Duration { return 800*time.Millisecond + rand.N(700*time.Millisecond) })
}

// TestKill9Overnight is the long form: twenty kills of the experiment
// "overnight" on both stores.
func TestKill9Overnight(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("long: set NSWEEP_SOAK=1")
	}
	// The plain algorithm makes the experiment last long enough to be killed
	// twenty times; the values, and so the digests, are the same.
	const table = "sweeps.hopping.algorithm=table"
	moments := func() time.Duration { return 500*time.Millisecond + rand.N(4*time.Second) }
	t.Run("embedded", func(t *testing.T) { kills(t, nil, "overnight", 20, moments, "--set", table) })
	t.Run("redis", func(t *testing.T) {
		srv := redistest.Start(t)
		kills(t, []string{"NSWEEP_REDIS_URL=" + srv.URL()}, "overnight", 20, moments, "--set", table)
	})
}

// TestRedisRestart: Redis is killed with -9 and comes back from its file.
func TestRedisRestart(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, 500*time.Millisecond)
	env := on(srv, slow...)
	p := cli(t, dir, env, "run", "toy.yaml", "--concurrency", "2")
	begun(t, dir, env)
	srv.Kill()
	until(t, "the outage to be noticed", func() bool { return strings.Contains(p.err.String(), "out of reach") })
	srv.Restart()
	hurry()
	p.ends(codeDone)
	r := result(t, dir, env, "toy")
	if s, _ := r.Sweep("toy"); s.Done != 5000 || !r.Passed() {
		t.Errorf("result %+v", r)
	}
}

// TestSubmitToNobody: a run that is handed over waits for workers; where there
// are none, submit says so.
func TestSubmitToNobody(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	const hint = "no worker is there to compute it"
	if _, errs := call(t, dir, on(srv), codeDone, "submit", "toy.yaml"); !strings.Contains(errs, hint) {
		t.Errorf("submit to nobody says %q", errs)
	}
	w := cli(t, dir, on(srv), "worker")
	until(t, "the worker", func() bool { return len(statusOf(t, dir, on(srv), "toy").Workers) == 1 })
	if _, errs := call(t, dir, on(srv), codeDone, "submit", "toy.yaml"); strings.Contains(errs, hint) {
		t.Errorf("submit to worker %d says %q", w.cmd.Process.Pid, errs)
	}
}
