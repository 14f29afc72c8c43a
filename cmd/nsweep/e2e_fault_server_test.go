package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serverFaults happen to Redis itself.
var serverFaults = []aFault{
	{name: "kill -9 of Redis", perCell: 400 * time.Millisecond, goal: 15 * time.Second, blameless: true,
		play: outage(func(s *scene) { s.srv.Kill() }, 5*time.Second, func(s *scene) { s.srv.Restart() })},
	{name: "Redis restarted in order", perCell: 400 * time.Millisecond, goal: 15 * time.Second, blameless: true,
		play: outage(func(*scene) {}, 0, func(s *scene) { s.srv.Restart() })},
	{name: "tail of the append-only file lost", perCell: 400 * time.Millisecond, goal: 15 * time.Second, blameless: true, play: func(s *scene) time.Duration {
		p := s.start(s.through(), "run", "toy.yaml", "--concurrency", "2")
		s.until("a third of the values", func() bool { return s.values() > 1600 })
		s.srv.Kill()
		had := s.cutTail()
		s.srv.Restart()
		// Some values are gone, and the ledger knows.
		now := int64(-1)
		s.until("Redis", func() bool { now = s.values(); return now >= 0 })
		d := s.resumed()
		s.ended(p)
		s.t.Logf("cut %d bytes; %d values right after the restart", had, now)
		return d
	}},
	{name: "maxmemory reached, then raised", perCell: time.Second, goal: 15 * time.Second, blameless: true,
		play: outage(func(s *scene) { s.limit("1") }, 45*time.Second, func(s *scene) { s.limit("0") })},
}

// limit sets maxmemory.
func (s *scene) limit(bytes string) {
	s.t.Helper()
	if err := s.store.Client().ConfigSet(ctxFor(s.t), "maxmemory", bytes).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// cutTail takes a quarter off the end of the append-only file, in the middle
// of a command.
func (s *scene) cutTail() int64 {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.srv.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		s.t.Fatalf("append-only files %v, %v", files, err)
	}
	st, err := os.Stat(files[0])
	if err != nil {
		s.t.Fatal(err)
	}
	cut := st.Size()/4 + 7
	if err := os.Truncate(files[0], st.Size()-cut); err != nil {
		s.t.Fatal(err)
	}
	return cut
}

// tmpfs mounts a small memory disk, or skips the test where that is not
// allowed.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "nsweep-test", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk without mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// fill takes all that is left of a disk but for some bytes, and returns how to
// free it.
func fill(t *testing.T, dir string, leave int64) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	out, err := exec.Command("df", "--output=avail", "-B1", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	avail, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	// Redis may have taken some of it meanwhile.
	if err := os.WriteFile(name, make([]byte, max(0, avail-leave)), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// TestDiskFullRedis: the disk of the append-only file fills up. Redis refuses
// to write, nothing is lost, no worker is taken for dead, and when there is room
// again the work goes on by itself.
func TestDiskFullRedis(t *testing.T) {
	t.Parallel()
	playFault(t, diskFull(t), 10)
}

func diskFull(t *testing.T) aFault {
	dir := tmpfs(t, "8m")
	var free func()
	return aFault{name: "disk of Redis full", perCell: time.Second, goal: 15 * time.Second, blameless: true,
		redis: []string{"--dir", dir},
		play: outage(func(s *scene) {
			free = fill(t, dir, 4096)
			until(t, "Redis to refuse", func() bool {
				f, err := s.store.Fitness(context.Background())
				return err == nil && f.AOFError
			})
		}, 45*time.Second, func(*scene) { free() })}
}

// TestDiskFullEmbedded: the run says so and ends, what was written is kept, and
// the same command goes on when there is room.
func TestDiskFullEmbedded(t *testing.T) {
	t.Parallel()
	dir, clean, data := t.TempDir(), t.TempDir(), tmpfs(t, "1m")
	args := []string{"run", "toy.yaml", "--concurrency", "2", "--set", "sweeps.toy.n.to=300000"} // 2.4 MB
	for _, d := range []string{dir, clean} {
		write(t, d, "toy.yaml", toyYAML)
	}
	call(t, clean, nil, codeDone, args...)
	env := []string{"NSWEEP_DATA_DIR=" + data, "NSWEEP_TOY_PER_CELL=1ms"}
	_, errs := call(t, dir, env, codeFailed, args...)
	if !strings.Contains(errs, "no space left") || !strings.Contains(errs, "run again to resume") {
		t.Errorf("says %s", errs)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=32m", data).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	_, errs = call(t, dir, env, codeDone, args...)
	if values, _ := computed(t, errs); values == "300,000" {
		t.Errorf("nothing was kept: %s", errs)
	}
	if got, want := digests(result(t, dir, env, "toy")), digests(result(t, clean, nil, "toy")); got != want {
		t.Errorf("digests differ:\n%s\nwant\n%s", got, want)
	}
}

// TestStaleWorker: a worker sleeps while its run is deleted and created anew
// with other values, and wakes up with values of the old one.
func TestStaleWorker(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, 400*time.Millisecond)
	_, a, _ := s.cluster()
	s.heldBy(a)
	old := s.run().ID
	signalTo(t, a, stopSignal)
	call(t, s.dir, s.direct(), codeDone, "cancel", "toy")
	call(t, s.dir, s.direct(), codeDone, "delete", "toy", "--yes")
	call(t, s.dir, s.direct(), codeDone, "submit", "toy.yaml", "--set", "sweeps.toy.params.factor=2")
	s.begun()
	signalTo(t, a, contSignal)
	s.hurry()
	until(t, "the end of the run", func() bool {
		r, err := s.store.Run(context.Background(), "toy")
		return err == nil && r.State.Ended()
	})
	r := result(t, s.dir, s.direct(), "toy")
	w, _ := r.Sweep("toy")
	if want := fmt.Sprint(2 * ((7*5000*5000 + 3*5000) % 1_000_003)); w.Done != 5000 || w.Last.Value != want || !r.Passed() {
		t.Errorf("result %+v, want the last value %s", w, want)
	}
	// The sleeper works for the new run now, and left nothing of the old one.
	keys, err := s.store.Client().Keys(ctxFor(t), "nsweep:{"+old.String()+"}*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("keys of the deleted run: %v, %v", keys, err)
	}
}
