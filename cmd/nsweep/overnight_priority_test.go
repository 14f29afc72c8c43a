package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// TestWeights: a worker's server on a real Redis takes from full queues by their
// weights, so that even the lowest gets its share.
func TestWeights(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	st, err := store.Open(ctxFor(t), store.Options{Addrs: []string{srv.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	const each = 1200
	client := asynq.NewClientFromRedisClient(st.Client())
	queues := jobs.Queues("x", 1)
	var wg sync.WaitGroup
	for _, q := range queues {
		wg.Go(func() {
			for i := range each {
				if _, err := client.EnqueueContext(ctxFor(t), asynq.NewTask("none", nil, asynq.Queue(q), asynq.TaskID(fmt.Sprint(q, i)))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var mu sync.Mutex
	done := map[string]int{}
	var atEnd map[string]int // when the last urgent task began
	ended := make(chan struct{})
	handler := asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		q, _ := asynq.GetQueueName(ctx)
		mu.Lock()
		defer mu.Unlock()
		if done[q]++; q == queues[0] && done[q] == each {
			atEnd = map[string]int{queues[1]: done[queues[1]], queues[2]: done[queues[2]]}
			close(ended)
		}
		return nil
	})
	s := asynq.NewServerFromRedisClient(st.Client(), jobs.ServerConfig(jobs.QueueWeights(queues), 4, time.Second, slog.New(slog.DiscardHandler)))
	if err := s.Start(handler); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(lateExit):
		t.Error("the urgent queue is not empty in time")
	}
	s.Shutdown()
	// Expected are 150 ± 13 and 19 ± 4.
	normal, low := atEnd[queues[1]], atEnd[queues[2]]
	t.Logf("beside %d urgent tasks, %d normal and %d low ones began", each, normal, low)
	if normal < 80 || normal > 220 || low < 1 || low > 50 {
		t.Errorf("beside %d urgent tasks, %d normal and %d low ones began", each, normal, low)
	}
}

// TestPriorities: of three runs of the same size that share a worker, the
// urgent one ends first though it was submitted last, and those that it
// overtakes go on meanwhile.
func TestPriorities(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	env := on(srv, "NSWEEP_TOY_PER_CELL=100ms", "NSWEEP_TOY_CELL=5")
	// The worker is there first, so that tasks are cut for its slots.
	worker := cli(t, dir, env, "worker", "--concurrency", "16")
	until(t, "the worker", func() bool { return strings.Contains(worker.err.String(), "slots on") })
	names := []string{"low", "normal", "high"}
	for _, name := range names {
		write(t, dir, name+".yaml", strings.NewReplacer("name: toy\nsweeps", "name: "+name+"\npriority: "+name+"\nsweeps", "5000", "15000").Replace(toyYAML))
		call(t, dir, env, codeDone, "submit", name+".yaml")
	}
	st, err := store.Open(ctxFor(t), store.Options{Addrs: []string{srv.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	values := func(name string) int64 {
		run, err := st.Run(ctxFor(t), name)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := st.Counts(ctxFor(t), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		return counts["toy"].Values
	}
	cli(t, dir, env, "scheduler")
	until(t, "the urgent run's end", func() bool { return values("high") == 15000 })
	low, normal := values("low"), values("normal")
	t.Logf("while high computed 15000 values, normal computed %d and low %d", normal, low)
	if low == 15000 || normal == 15000 {
		t.Errorf("the urgent run did not overtake: %d normal and %d low values", normal, low)
	}
	// Of some 200 tasks of each run, about 25 normal ones start while high has
	// some; low ones, about 3, are another test's business.
	if normal == 0 {
		t.Error("the overtaken run starved")
	}
	if out, _ := call(t, dir, env, codeDone, "status", "high"); !strings.Contains(out, "high priority") {
		t.Errorf("status says %s", out)
	}
	worker.cmd.Process.Kill()
	<-worker.done
	// The priority may change in mid-run; nothing is computed again.
	cli(t, dir, on(srv, "NSWEEP_TOY_CELL=5"), "worker", "--concurrency", "8")
	_, errs := call(t, dir, env, codeDone, "submit", "low.yaml", "--set", "priority=high", "--wait")
	if !strings.Contains(errs, "goes on") {
		t.Errorf("submit says %s", errs)
	}
	if s, _ := result(t, dir, env, "low").Sweep("toy"); s.Done != 15000 || !s.Complete {
		t.Errorf("result %+v", s)
	}
	if out, _ := call(t, dir, env, codeDone, "status", "low"); !strings.Contains(out, "high priority") {
		t.Errorf("status says %s", out)
	}
}
