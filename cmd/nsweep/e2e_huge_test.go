package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/jobs"
)

// bareAsynq returns how many tasks that do nothing asynq alone gives out and
// works off in a second, with as many slots and givers as the run beside it.
func bareAsynq(t *testing.T, s *scene, count, slots int) float64 {
	t.Helper()
	var left atomic.Int64
	left.Store(int64(count))
	over := make(chan struct{})
	srv := asynq.NewServerFromRedisClient(s.store.Client(), jobs.ServerConfig(map[string]int{"bare": 1}, slots, time.Second, (&app{}).log()))
	begin := time.Now()
	if err := srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if left.Add(-1) == 0 {
			close(over)
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	c := asynq.NewClientFromRedisClient(s.store.Client())
	var givers sync.WaitGroup
	for g := range 8 {
		givers.Go(func() {
			for i := g; i < count; i += 8 {
				if _, err := c.Enqueue(asynq.NewTask("bare", nil, asynq.Queue("bare"), asynq.TaskID(fmt.Sprint("bare", i)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	givers.Wait()
	<-over
	return float64(count) / time.Since(begin).Seconds()
}

// memoryOf returns the most memory that a process has had resident, in KiB.
func memoryOf(t *testing.T, p *proc) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			if k, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(rest)), "kB")), 10, 64); err == nil {
				return k
			}
		}
	}
	t.Fatalf("no VmHWM in %s", b)
	return 0
}

// TestHuge sends a million tasks of one cell with one n each through scheduler
// and worker, kills both in the middle, and prints what it took. The short form
// has a few thousand. NSWEEP_HUGE says how many.
func TestHuge(t *testing.T) {
	t.Parallel()
	n, bare, slots := int64(3_000), 2_000, 8
	if soak() {
		n, bare = 1_000_000, 50_000
	}
	if text := os.Getenv("NSWEEP_HUGE"); text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	s := newScene(t, 10, 0)
	s.env = []string{"NSWEEP_TEST_SPEEDUP=10", "NSWEEP_TOY_CELL=1", "NSWEEP_TEST_TASK_CELLS=1"}
	start := s.start
	if soak() {
		// The race detector would be measured otherwise.
		bin, err := goBuild(".", "-tags", testEngines)
		if err != nil {
			t.Fatal(err)
		}
		start = func(env []string, args ...string) *proc { return launch(t, bin, s.dir, env, args...) }
	}
	used := func() int64 {
		f, err := s.store.Fitness(ctxFor(t))
		if err != nil {
			t.Fatal(err)
		}
		return f.UsedMemory
	}
	empty := used()
	alone := bareAsynq(t, s, bare, slots)
	both := func() (sched, work *proc) {
		return start(s.direct(), "scheduler"), start(s.direct(), "worker", "--engine", "toy", "--concurrency", fmt.Sprint(slots))
	}
	sched, work := both()
	size := fmt.Sprintf("sweeps.toy.n.to=%d", n)
	begin := time.Now()
	if code := start(s.direct(), "submit", "toy.yaml", "--set", size).wait(); code != codeDone {
		t.Fatalf("submit: exit code %d", code)
	}
	most, rss := int64(0), int64(0)
	reach := func(what string, v int64) {
		limit := time.Now().Add(45 * time.Minute)
		for s.values() < v {
			if time.Now().After(limit) {
				t.Fatalf("waited in vain for %s: %d of %d values", what, s.values(), n)
			}
			most = max(most, used()-empty)
			sleep(t, 20*time.Millisecond)
		}
	}
	reach("half of the run", n/2)
	half := time.Since(begin)
	rss = memoryOf(t, sched)

	var status []time.Duration
	for range 5 {
		b := time.Now()
		if code := start(s.direct(), "status", "toy").wait(); code != codeDone {
			t.Fatalf("status: exit code %d", code)
		}
		status = append(status, time.Since(b))
	}
	slices.Sort(status)

	signalTo(t, sched, syscall.SIGKILL)
	signalTo(t, work, syscall.SIGKILL)
	<-sched.done
	<-work.done
	left, err := s.store.Tasks(ctxFor(t), s.run().ID)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, task := range left {
		known[task.ID()] = true
	}
	had := s.values()
	again := time.Now()
	sched, _ = both()
	reach("the work to go on", min(had+1, n))
	resume := time.Since(again)
	// What waits in asynq goes on without a scheduler: a new task shows that it is
	// back as well.
	given := func() bool {
		tasks, err := s.store.Tasks(context.Background(), s.run().ID)
		return err == nil && slices.ContainsFunc(tasks, func(x jobs.Task) bool { return !known[x.ID()] })
	}
	s.until("a new task", func() bool { return given() || s.values() == n })
	feeding := time.Since(again)
	reach("all values", n)
	until(t, "the end of the run", func() bool { return s.endState(context.Background()) != "" })
	rss = max(rss, memoryOf(t, sched))

	run := s.run()
	if run.State != jobs.Complete {
		t.Fatalf("run is %s: %s", run.State, run.Reason)
	}
	rate := float64(n/2) / half.Seconds()
	t.Logf("%d tasks: %.0f tasks/s (asynq alone %.0f), scheduler %d MiB, Redis at most %.1f MiB more (%.0f bytes a task), status %s; after a kill of both the first value came after %s, the first new task after %s",
		n, rate, alone, rss/1024, float64(most)/(1<<20), float64(most)/float64(n), status[2].Round(time.Millisecond), resume.Round(time.Millisecond), feeding.Round(time.Millisecond))
	if soak() {
		if max(resume, feeding) > 5*time.Second {
			t.Errorf("going on took %s, the goal is 5 s", max(resume, feeding))
		}
		if status[2] > 200*time.Millisecond {
			t.Errorf("status took %s, the goal is 200 ms", status[2])
		}
	}
	c, err := s.store.Counts(ctxFor(t), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c["toy"].Values != n || c["toy"].Disputed != 0 {
		t.Errorf("counts %+v, want %d values", c["toy"], n)
	}
}
