package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsweep/nsweep/aggregator"
)

// built is the binary under test, built once with the race detector and the
// test engine. Exit codes and signals are tested on it: "go run" hides both. Only
// the insides of the engines are without the detector, under which they take
// seventy times as long: the tests of their own packages run with it.
var built = sync.OnceValues(func() (string, error) {
	args := []string{"-race", "-gcflags=github.com/nsweep/nsweep/engine/...=-race=false", "-tags", testEngines}
	if os.Getenv("NSWEEP_SOAK") != "" {
		// The long tests are about hours of real work, which the race detector
		// would make a hundred times longer.
		args = args[1:]
	}
	return goBuild(".", args...)
})

// released is the binary as users have it, for what the race detector would
// falsify: memory, and minutes of work.
var released = sync.OnceValues(func() (string, error) { return goBuild(".") })

// binaries are the folders that goBuild has made.
var binaries struct {
	sync.Mutex
	dirs []string
}

// goBuild builds the program of a package in a folder that lasts as long as the
// tests.
func goBuild(pkg string, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "nsweep-e2e-")
	if err != nil {
		return "", err
	}
	binaries.Lock()
	binaries.dirs = append(binaries.dirs, dir)
	binaries.Unlock()
	bin := filepath.Join(dir, "nsweep")
	args = append([]string{"build", "-o", bin}, append(args, pkg)...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
}

func TestMain(m *testing.M) {
	// A process of a race build waits a second at its end for reports from other
	// threads; the hundreds of short ones here need not.
	os.Setenv("GORACE", "atexit_sleep_ms=20 "+os.Getenv("GORACE"))
	// Most tests wait for processes. Without -parallel more of them may do so at
	// a time than there are processors.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		f.Value.Set(strconv.Itoa(max(6, runtime.GOMAXPROCS(0))))
	}
	code := m.Run()
	for _, dir := range binaries.dirs {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// proc is a process under test.
type proc struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err safeBuffer
	done     chan struct{}
	code     int
}

// safeBuffer is a buffer that may be read while a process writes.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// cli starts nsweep in a folder of its own, with no NSWEEP_ variables but env.
func cli(t *testing.T, dir string, env []string, args ...string) *proc {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return launch(t, bin, dir, env, args...)
}

// environ returns the environment of a process: ours with no NSWEEP_ variables
// but the given ones. Of two with one name the later counts.
func environ(env ...string) []string {
	ours := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "NSWEEP_") })
	return append(ours, env...)
}

// launch is cli for a binary of one's own.
func launch(t *testing.T, bin, dir string, env []string, args ...string) *proc {
	t.Helper()
	p := &proc{t: t, cmd: exec.Command(bin, args...), done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.Env = environ(env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// wait returns the exit code, or fails the test when the process stays.
func (p *proc) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(lateExit):
		p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		p.t.Fatalf("nsweep %v did not end\n%s\n%s", p.cmd.Args[1:], p.out.String(), p.err.String())
	}
	if s := p.err.String(); strings.Contains(s, "DATA RACE") || strings.Contains(s, "panic:") || strings.Contains(s, "goroutine 1 [") {
		p.t.Errorf("nsweep %v:\n%s", p.cmd.Args[1:], s)
	}
	return p.code
}

// ends waits for the end of a process and expects the exit code.
func (p *proc) ends(code int) {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Fatalf("nsweep %v: exit code %d, want %d\n%s\n%s", p.cmd.Args[1:], got, code, p.out.String(), p.err.String())
	}
}

// call runs nsweep to its end and expects the exit code.
func call(t *testing.T, dir string, env []string, code int, args ...string) (out, err string) {
	t.Helper()
	p := cli(t, dir, env, args...)
	p.ends(code)
	return p.out.String(), p.err.String()
}

// callJSON is call for a command that prints JSON.
func callJSON[T any](t *testing.T, dir string, env []string, code int, args ...string) (v T) {
	t.Helper()
	out, _ := call(t, dir, env, code, args...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("nsweep %v: %v\n%s", args, err, out)
	}
	return v
}

// statusOf reads how a run stands through the command line.
func statusOf(t *testing.T, dir string, env []string, run string) runStatus {
	t.Helper()
	return callJSON[runStatus](t, dir, env, codeDone, "status", run, "--json")
}

// begun waits until the run toy has its first value.
func begun(t *testing.T, dir string, env []string) {
	t.Helper()
	until(t, "the first values", func() bool { return cli(t, dir, env, "get", "toy", "toy", "1").wait() == codeDone })
}

// until waits for a condition that a process brings about. Its patience is only
// there so that a test does not hang for ever.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(lateExit)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(10 * time.Millisecond) // the pace of looking, not a guess at a duration
	}
}

// atPace has the toy engine take its time for each cell of 50 until hurry is
// called. However slow the machine is, a run lasts as long as a test is at it,
// and then ends at once.
func atPace(t *testing.T, perCell time.Duration) (env []string, hurry func()) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "hurry")
	return []string{"NSWEEP_TOY_PER_CELL=" + perCell.String(), "NSWEEP_TOY_HURRY=" + file}, func() {
		t.Helper()
		write(t, dir, "hurry", "")
	}
}

// result reads a run's result through the command line.
func result(t *testing.T, dir string, env []string, run string, flags ...string) aggregator.Result {
	t.Helper()
	return callJSON[aggregator.Result](t, dir, env, codeDone, append([]string{"report", run, "--json"}, flags...)...)
}

// digests returns what must be the same in every run of an experiment.
func digests(r aggregator.Result) string {
	var b strings.Builder
	for _, s := range r.Sweeps {
		fmt.Fprintf(&b, "%s %d %v %s %s\n", s.Name, s.Done, s.Sums, s.Text, s.Tree)
	}
	return b.String()
}

// write puts an experiment into the folder.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var computedLine = regexp.MustCompile(`computed ([\d,]+) values, ([\d,]+) cells a second time`)

// computed returns what a run says it computed.
func computed(t *testing.T, stderr string) (values, again string) {
	t.Helper()
	m := computedLine.FindStringSubmatch(stderr)
	if m == nil {
		t.Fatalf("no count of computed values in:\n%s", stderr)
	}
	return m[1], m[2]
}
