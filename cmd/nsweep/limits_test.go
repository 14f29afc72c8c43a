package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"64MiB": 64 << 20, "2GiB": 2 << 30, "2G": 2 << 30, "2gib": 2 << 30, "1.5GB": 1_500_000_000, "0.5 GiB": 1 << 29,
		"100000000": 100_000_000, "100000000B": 100_000_000, "1TB": 1e12, "512M": 512 << 20,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1GiB", "2 G i B", "1e9", "2XB", "0x10", "1..5G", ".", "1/2G", "99999999999999999999", "9999999999TB", "1_000"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<40).Draw(t, "n")
		if got, err := parseSize(fmt.Sprintf("%dKiB", n)); err != nil || got != n<<10 {
			t.Fatalf("%d KiB is %d (%v)", n, got, err)
		}
	})
}

// FuzzParseSize: whatever is accepted is a sensible number of bytes.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"2GiB", "1.5GB", "0", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseSize(s); err == nil && n < 0 {
			t.Errorf("%q is %d", s, n)
		}
	})
}

func flagsOf(t *testing.T, args ...string) *limits {
	t.Helper()
	l := &limits{}
	c := &cobra.Command{}
	l.register(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLimitsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--nice", "20"}, {"--nice", "-21"}, {"--max-memory", "10MiB"}, {"--max-memory", "much"}, {"--drain-timeout", "0s"},
		{"--drain-timeout", "-1s"}, {"--for", "x"},
	} {
		_, err := flagsOf(t, args...).check(time.Now())
		if exitCode(err) != codeUsage || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), args[0]+" "+args[1]) {
			t.Errorf("%v: %v", args, err)
		}
	}
	p, err := flagsOf(t, "--max-memory", "1GiB", "--nice", "3").check(time.Now())
	if err != nil || p.memory != 1<<30 || !p.end.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestGuardMemory plays a process whose memory rises and falls.
func TestGuardMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		have := func() (int64, error) {
			looks++
			switch {
			case looks < 100: // never above for long enough
				if looks%patience == 0 {
					return 90, nil
				}
				return 110, nil
			case looks < 120: // not known
				return 1000, os.ErrNotExist
			}
			return 120 << 20, nil
		}
		begin := time.Now()
		ctx, stop := guardMemory(t.Context(), 100, time.Second, have)
		defer stop()
		<-ctx.Done()
		if took := time.Since(begin); took != (119+patience)*time.Second {
			t.Errorf("ended after %s", took)
		}
		if text := why(ctx); !strings.Contains(text, "because memory stayed above --max-memory: 120 MiB") {
			t.Errorf("says %q", text)
		}
	})
}

func TestMachine(t *testing.T) {
	rss, err := residentMemory()
	if err != nil || rss < 1<<20 || rss > 1<<40 {
		t.Errorf("resident memory %d, %v", rss, err)
	}
	if runtime.GOOS == "linux" {
		if free, err := freeSpace(t.TempDir()); err != nil || free < 0 {
			t.Errorf("free space %d, %v", free, err)
		}
	}
	if m := cpuModel(); strings.ContainsAny(m, "\n\t") {
		t.Errorf("processor %q", m)
	}
}

// TestNice sees the priority of every thread of a process.
func TestNice(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	p := cli(t, dir, []string{"NSWEEP_TOY_PER_CELL=1s"}, "run", "toy.yaml", "--nice", "7", "--concurrency", "4")
	until(t, "values", func() bool { return cli(t, dir, nil, "get", "toy", "toy", "1").wait() == codeDone })
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid))
	if err != nil || len(tasks) < 2 {
		t.Fatalf("threads %v, %v", tasks, err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", p.cmd.Process.Pid, task.Name()))
		if err != nil {
			continue // ended meanwhile
		}
		// The fields after the name in parentheses: state is the first, nice
		// the 17th.
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) < 17 || f[16] != "7" {
			t.Errorf("thread %s has nice %v", task.Name(), f[16])
		}
	}
	p.cmd.Process.Signal(os.Interrupt)
	p.ends(codeStopped)
}

// TestMaxMemory: a run that outgrows its memory is resumable, and a worker
// leaves with code 1.
func TestMaxMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	env := []string{"NSWEEP_TOY_PER_CELL=10s", "NSWEEP_TOY_BALLAST=100000000", "NSWEEP_TEST_SPEEDUP=10"}
	_, errs := call(t, dir, env, codeStopped, "run", "toy.yaml", "--max-memory", "64MiB", "--concurrency", "1")
	if !strings.Contains(errs, "stopped because memory stayed above --max-memory") || !strings.Contains(errs, "run again to resume") {
		t.Errorf("run says %s", errs)
	}
	_, errs = call(t, dir, env, codeFailed, "worker", "--max-memory", "64MiB", "--concurrency", "1")
	if !strings.Contains(errs, "worker stopped because memory stayed above --max-memory") {
		t.Errorf("worker says %s", errs)
	}
}
