package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/jobs"
)

// TestManyFailures: more than ten thousand tasks fail, each of a single cell,
// while asynq's archive, which holds ten thousand, is full of something else.
// Every failed cell is named, the others are there, and a retry heals the run.
func TestManyFailures(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1, 0)
	// One n to a cell and one cell to a task; every n that 7 does not divide is
	// computed.
	s.env = []string{"NSWEEP_TOY_CELL=1", "NSWEEP_TEST_TASK_CELLS=1"}
	n, every := int64(2_100), int64(7)
	if soak() {
		n = 73_500 // 10,500 failures
	}
	s.clutter(10_050)
	args := []string{"toy.yaml", "--set", fmt.Sprintf("sweeps.toy.n.to=%d", n)}
	p := s.start(s.direct(fmt.Sprintf("NSWEEP_TOY_FAIL_EVERY=%d", every)), append([]string{"run", "--concurrency", "4"}, args...)...)
	if code := p.waitFor(10 * time.Minute); code != codeFailed {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	run := s.run()
	fails, err := s.store.Failures(ctxFor(t), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	lost := map[int64]bool{}
	for _, f := range fails {
		for k := f.Lo; k < f.Hi; k++ {
			if lost[k] {
				t.Fatalf("n = %d failed twice", k)
			}
			lost[k] = true
		}
	}
	for k := int64(1); k <= n; k++ {
		if lost[k] != (k%every == 0) {
			t.Fatalf("n = %d is among the failures: %t", k, lost[k])
		}
	}
	if run.State != jobs.Failed || s.values() != n-n/every {
		t.Errorf("run is %s with %d values of %d", run.State, s.values(), n)
	}
	call(t, s.dir, s.direct(), codeDone, "retry", "toy")
	_, errs := call(t, s.dir, s.direct(), codeDone, append([]string{"run"}, args...)...)
	// retry made the run go on before this command looked, so it counts all that
	// was missing.
	if values, again := computed(t, errs); values != group(n/every) || again != "0" {
		t.Errorf("the retry computed %s values, %s again; want %s and none", values, again, group(n/every))
	}
	script := fmt.Sprintf(`awk 'BEGIN { for (n = 1; n <= %d; n++) printf "%%d %%d\n", n, (7*n*n + 3*n) %% 1000003 }' | sha256sum`, n)
	sum, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	r := result(t, s.dir, s.direct(), "toy")
	if w, _ := r.Sweep("toy"); w.Text != strings.Fields(string(sum))[0] || !r.Passed() {
		t.Errorf("result %+v, want the digest %s", w, sum)
	}
}

// clutter puts tasks that nobody can read into the queue; a worker archives
// them.
func (s *scene) clutter(count int) {
	s.t.Helper()
	c := asynq.NewClientFromRedisClient(s.store.Client())
	errs := make(chan error, 8)
	for w := range 8 {
		go func() {
			var err error
			for i := w; i < count && err == nil; i += 8 {
				_, err = c.Enqueue(asynq.NewTask(jobs.TaskKind, []byte("{}"), asynq.Queue("toy@1"), asynq.TaskID(fmt.Sprint("clutter", i))))
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestDamagedKey: a key of the store holds something else. The run ends with
// that key's name instead of trying for ever.
func TestDamagedKey(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1, time.Second)
	p := s.start(s.direct(), "run", "toy.yaml", "--concurrency", "2")
	s.begun()
	run := s.run()
	key := "nsweep:{" + run.ID.String() + "}:done:toy:0"
	ctx := context.Background()
	if err := s.store.Client().Del(ctx, key).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Client().HSet(ctx, key, "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != codeFailed || !strings.Contains(p.err.String(), key) {
		t.Errorf("exit code %d, want %d and the key: %s", code, codeFailed, p.err.String())
	}
}

// statusOf reads a run's status through the command line.
func (s *scene) statusOf() runStatus {
	s.t.Helper()
	return statusOf(s.t, s.dir, s.direct(), "toy")
}
