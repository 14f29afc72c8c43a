package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/ownport"
	"github.com/nsweep/nsweep/internal/redistest"
)

var fence = regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$")

// TestOperations runs the commands of docs/OPERATIONS.md one block after the
// other as they stand, with a Redis of its own in place of the machine's. Those
// that need root, systemd or Docker are only read by the shell.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	text, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	// The program as users have it: the race detector would take minutes.
	bin, err := released()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, conf, ok := strings.Cut(string(text), "```conf\n")
	if !ok {
		t.Fatal("there is no configuration of Redis")
	}
	conf, _, _ = strings.Cut(conf, "```")
	srv := redistest.Start(t)
	_, port, err := net.SplitHostPort(srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	second := ownPort(t)
	here := strings.NewReplacer("6379", port, "6380", second, "/var/lib/redis", srv.Dir())
	ran := 0
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		kind, script := m[1], m[2]
		var args []string
		switch kind {
		case "sh":
			ran++
			args = []string{"-euo", "pipefail", "-c", here.Replace(script)}
		case "sh root":
			args = []string{"-n", "-c", script}
		case "conf":
			continue
		default:
			t.Errorf("a block of %q", kind)
			continue
		}
		cmd := exec.CommandContext(ctxFor(t), "bash", args...)
		cmd.Dir = dir
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "NSWEEP_") && !strings.HasPrefix(e, "PATH=") {
				cmd.Env = append(cmd.Env, e)
			}
		}
		cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"), "NSWEEP_REDIS_URL="+srv.URL())
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		t.Logf("%s: %s", time.Since(begin).Round(time.Millisecond), firstLine(script))
		if err != nil {
			t.Errorf("%v of\n%s\n%s", err, script, out)
		}
	}
	if ran < 8 {
		t.Errorf("only %d blocks were run", ran)
	}

	// The configuration makes a Redis that doctor has nothing against.
	var flags []string
	for line := range strings.Lines(conf) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		flags = append(flags, "--"+key, strings.Trim(value, `"`))
	}
	if _, errs := call(t, dir, on(redistest.Start(t, flags...)), codeDone, "runs"); errs != "" {
		t.Errorf("a Redis with the documented configuration: %s", errs)
	}
}

// ownPort returns a port that is the test's own.
func ownPort(t *testing.T) string {
	t.Helper()
	port, release, err := ownport.Take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return strconv.Itoa(port)
}

// TestBackupInMidRun copies the append-only file while a run writes to it. A
// Redis on the copy has a run that goes on and ends with the same digests.
func TestBackupInMidRun(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, time.Second)
	p := cli(t, dir, on(srv, slow...), "run", "toy.yaml", "--concurrency", "2")
	begun(t, dir, on(srv))
	backup := t.TempDir()
	if err := os.CopyFS(filepath.Join(backup, "appendonlydir"), os.DirFS(filepath.Join(srv.Dir(), "appendonlydir"))); err != nil {
		t.Fatal(err)
	}
	copied := on(redistest.Start(t, "--dir", backup))
	hurry()
	p.ends(codeDone)
	_, errs := call(t, dir, copied, codeDone, "run", "toy.yaml")
	if values, again := computed(t, errs); values == "5,000" || values == "0" || again != "0" {
		t.Errorf("on the copy %s values were computed, %s cells again", values, again)
	}
	if a, b := digests(result(t, dir, on(srv), "toy")), digests(result(t, dir, copied, "toy")); a != b {
		t.Errorf("digests\n%s\non the copy\n%s", a, b)
	}
}

// TestUpgradeInMidRun: workers are replaced in the middle of a run. One with
// another value version leaves the run alone.
func TestUpgradeInMidRun(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, time.Second)
	env := on(srv, slow...)
	cli(t, dir, env, "scheduler")
	old := cli(t, dir, env, "worker", "--concurrency", "1")
	other := cli(t, dir, on(srv, "NSWEEP_TOY_VERSION=2"), "worker", "--concurrency", "1")
	call(t, dir, env, codeDone, "submit", "toy.yaml")
	begun(t, dir, env)
	old.cmd.Process.Signal(syscall.SIGTERM)
	old.ends(codeDone)
	cli(t, dir, on(srv), "worker", "--concurrency", "1")
	hurry()
	wait := cli(t, dir, env, "submit", "toy.yaml", "--wait")
	wait.ends(codeDone)
	p := provenanceIn(t, dir, env, "report", "toy", "--json")
	for _, w := range p.Workers {
		if w.PID == other.cmd.Process.Pid {
			t.Errorf("a worker of another value version computed: %+v", w)
		}
	}
	if len(p.Workers) != 2 || covered(p) != 5000 {
		t.Errorf("%d values of workers %+v", covered(p), p.Workers)
	}
}
