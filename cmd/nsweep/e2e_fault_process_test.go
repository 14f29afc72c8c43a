package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// cluster starts a scheduler and two workers, as if on three machines, and hands
// the run over.
func (s *scene) cluster(more ...string) (sched, a, b *proc) {
	s.t.Helper()
	sched = s.start(s.direct("NSWEEP_TEST_MACHINE=s"), "scheduler")
	a = s.start(s.direct(append(more, "NSWEEP_TEST_MACHINE=a")...), "worker", "--concurrency", "1")
	b = s.start(s.direct("NSWEEP_TEST_MACHINE=b"), "worker", "--concurrency", "1")
	s.submit()
	return sched, a, b
}

// Signals that put a process to sleep and wake it up.
const (
	stopSignal = syscall.SIGSTOP
	contSignal = syscall.SIGCONT
)

// pidOf returns how the name of a process in the store holds its number.
func pidOf(p *proc) string { return fmt.Sprintf(":%d:", p.cmd.Process.Pid) }

func signalTo(t *testing.T, p *proc, sig os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// pair starts two schedulers and two workers, and hands the run over when both
// schedulers are ready. It returns the one that leads and the other, once there
// are values.
func (s *scene) pair() (leader, other *proc) {
	s.t.Helper()
	var both []*proc
	for _, m := range []string{"s", "t"} {
		p := s.start(s.direct("NSWEEP_TEST_MACHINE="+m), "scheduler")
		both = append(both, p)
		s.until("the scheduler", func() bool { return strings.Contains(p.err.String(), "scheduler ") })
	}
	for _, m := range []string{"a", "b"} {
		s.start(s.direct("NSWEEP_TEST_MACHINE="+m), "worker", "--concurrency", "1")
	}
	s.submit()
	s.begun()
	run := s.run()
	s.until("a leader", func() bool {
		owner, _ := s.store.Leader(context.Background(), run.ID)
		for i, p := range both {
			if strings.Contains(owner, pidOf(p)) {
				leader, other = p, both[1-i]
			}
		}
		return leader != nil
	})
	return leader, other
}

// leads waits until the process leads the run.
func (s *scene) leads(p *proc) {
	s.t.Helper()
	s.until("the lead", func() bool {
		run, err := s.store.Run(context.Background(), "toy")
		if err != nil {
			return false
		}
		owner, _ := s.store.Leader(context.Background(), run.ID)
		return strings.Contains(owner, pidOf(p))
	})
}

// processFaults happen to workers and schedulers.
var processFaults = []aFault{
	{name: "kill -9 of a worker", perCell: time.Second, goal: time.Minute, play: func(s *scene) time.Duration {
		_, a, _ := s.cluster()
		held := s.heldBy(a)
		signalTo(s.t, a, syscall.SIGKILL)
		return s.takenUp(held, a)
	}},
	{name: "worker stopped with SIGTERM", perCell: time.Second, goal: 15 * time.Second, blameless: true, play: func(s *scene) time.Duration {
		_, a, _ := s.cluster()
		held := s.heldBy(a)
		signalTo(s.t, a, syscall.SIGTERM)
		d := s.takenUp(held, a)
		s.ended(a)
		return d
	}},
	{name: "worker stopped for 3 minutes with SIGSTOP", perCell: 2 * time.Second, goal: time.Minute, play: func(s *scene) time.Duration {
		_, a, _ := s.cluster()
		held := s.heldBy(a)
		begin := time.Now()
		signalTo(s.t, a, stopSignal)
		d := s.takenUp(held, a)
		sleep(s.t, s.short(3*time.Minute)-time.Since(begin))
		signalTo(s.t, a, contSignal)
		return d
	}},
	{name: "cable of one worker out", perCell: time.Second, goal: time.Minute, play: func(s *scene) time.Duration {
		s.start(s.direct(), "scheduler")
		a := s.start(s.through("NSWEEP_TEST_MACHINE=a"), "worker", "--concurrency", "1")
		s.start(s.direct("NSWEEP_TEST_MACHINE=b"), "worker", "--concurrency", "1")
		s.submit()
		held := s.heldBy(a)
		s.proxy.Blackhole()
		d := s.takenUp(held, a)
		s.heal()
		return d
	}},
	{name: "lease lost, worker alive", perCell: 400 * time.Millisecond, blameless: true, play: func(s *scene) time.Duration {
		_, a, _ := s.cluster()
		s.heldBy(a)
		s.dropLeases()
		return s.resumed()
	}},
	{name: "lease lost, worker dead", perCell: time.Second, goal: time.Minute, play: func(s *scene) time.Duration {
		_, a, _ := s.cluster()
		held := s.heldBy(a)
		signalTo(s.t, a, syscall.SIGKILL)
		s.dropLeases()
		return s.takenUp(held, a)
	}},
	{name: "engine ignores its context", perCell: 400 * time.Millisecond, play: func(s *scene) time.Duration {
		// Its worker is cut off for longer than its lease and its silence last, is
		// told to end, and does not.
		s.start(s.direct(), "scheduler")
		a := s.start(s.through("NSWEEP_TEST_MACHINE=a", "NSWEEP_TOY_DEAF=1", "NSWEEP_TOY_PER_CELL="+s.short(40*time.Second).String()), "worker", "--concurrency", "1")
		s.start(s.direct("NSWEEP_TEST_MACHINE=b"), "worker", "--concurrency", "1")
		s.submit()
		held := s.heldBy(a)
		s.proxy.Refuse()
		d := s.takenUp(held, a)
		s.heal()
		signalTo(s.t, a, syscall.SIGTERM)
		return d
	}},
	{name: "kill -9 of the scheduler", perCell: time.Second, goal: 15 * time.Second, blameless: true, play: func(s *scene) time.Duration {
		first, second := s.pair()
		begin := time.Now()
		signalTo(s.t, first, syscall.SIGKILL)
		s.leads(second)
		return time.Since(begin)
	}},
	{name: "two schedulers at once", perCell: time.Second, goal: 15 * time.Second, play: func(s *scene) time.Duration {
		first, second := s.pair()
		begin := time.Now()
		signalTo(s.t, first, stopSignal)
		s.leads(second)
		d := time.Since(begin)
		signalTo(s.t, first, contSignal) // and believes that it leads
		return d
	}},
	{name: "three runs and no other", perCell: time.Second, play: func(s *scene) time.Duration {
		// Each leads and works; the first two die one after the other.
		var procs []*proc
		for _, m := range []string{"a", "b", "c"} {
			procs = append(procs, s.start(s.direct("NSWEEP_TEST_MACHINE="+m), "run", "toy.yaml", "--concurrency", "1"))
		}
		s.begun()
		for _, p := range procs[:2] {
			held := s.heldBy(p)
			signalTo(s.t, p, syscall.SIGKILL)
			s.takenUp(held, p)
		}
		d := s.resumed()
		s.ended(procs[2])
		return d
	}},
}

// dropLeases takes every lease from asynq, as if it had been lost.
func (s *scene) dropLeases() {
	s.t.Helper()
	if err := s.store.Client().Del(ctxFor(s.t), "asynq:{toy@1}:lease").Err(); err != nil {
		s.t.Fatal(err)
	}
}

// supervisor starts a worker again whenever it ends, as systemd does, until
// stop is called.
func (s *scene) supervisor(env []string, args ...string) (deaths func() int, stop func()) {
	s.t.Helper()
	bin, err := built()
	if err != nil {
		s.t.Fatal(err)
	}
	var count atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	var loop sync.WaitGroup
	loop.Go(func() {
		for ctx.Err() == nil {
			c := exec.CommandContext(ctx, bin, args...)
			c.Dir, c.Env = s.dir, append(os.Environ(), env...)
			if err := c.Run(); err != nil && ctx.Err() == nil {
				count.Add(1)
			}
		}
	})
	stop = func() { cancel(); loop.Wait() }
	s.t.Cleanup(stop)
	return func() int { return int(count.Load()) }, stop
}

// TestKillerCell: one cell kills every worker that computes it, beside other
// tasks in the same process. Just that cell fails, with the reason; everything
// else is there, and the cell comes when it is tried by a worker that can.
func TestKillerCell(t *testing.T) {
	t.Parallel()
	s := newScene(t, 5, 10*time.Millisecond)
	s.env = append(s.env, "NSWEEP_TEST_TASK_CELLS=8")
	s.start(s.direct(), "scheduler")
	deaths, stop := s.supervisor(s.direct("NSWEEP_TOY_KILL_AT=2222"), "worker", "--concurrency", "4")
	s.submit()
	until(t, "the end of the run", func() bool {
		r, err := s.store.Run(context.Background(), "toy")
		return err == nil && r.State.Ended()
	})
	run := s.run()
	fails, err := s.store.Failures(ctxFor(t), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if run.State != jobs.Failed || len(fails) != 1 || fails[0].Lo != 2201 || fails[0].Hi != 2251 || !strings.Contains(fails[0].Error, "killed its worker 5 times") {
		t.Fatalf("run is %s, failures %+v", run.State, fails)
	}
	if v := s.values(); v != 4950 {
		t.Errorf("%d values, want all but 50", v)
	}
	t.Logf("%d deaths", deaths())
	// At most five for the task, four to halve 8 cells, and some whose other
	// tasks were of it.
	if d := deaths(); d < 5 || d > 16 {
		t.Errorf("%d deaths", d)
	}
	out, _ := call(t, s.dir, s.direct(), codeDone, "status", "toy")
	if !strings.Contains(out, "2201") || !strings.Contains(out, "killed its worker") {
		t.Errorf("status says %s", out)
	}
	stop()
	s.start(s.direct(), "worker", "--concurrency", "1")
	call(t, s.dir, s.direct(), codeDone, "retry", "toy")
	s.complete()
}
