package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// TestFaultTable plays every fault several times with the program's real
// intervals and prints how long recovery took and what was lost. The variable
// NSWEEP_SOAK_TIMES says how often, five times without it.
func TestFaultTable(t *testing.T) {
	if !soak() {
		t.Skip("long: set NSWEEP_SOAK=1")
	}
	times, err := strconv.Atoi(os.Getenv("NSWEEP_SOAK_TIMES"))
	if err != nil || times < 1 {
		times = 5
	}
	type row struct {
		took          []time.Duration
		lost, doubled int64
	}
	var mu sync.Mutex
	rows := map[string]*row{}
	faults := slices.Concat(connectionFaults, processFaults, serverFaults)
	t.Run("play", func(t *testing.T) {
		for _, f := range faults {
			for range times {
				t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
					t.Parallel()
					took, o := playFault(t, f, 1)
					mu.Lock()
					defer mu.Unlock()
					r := rows[f.name]
					if r == nil {
						r = &row{}
						rows[f.name] = r
					}
					r.took = append(r.took, took)
					r.lost += o.lost
					r.doubled += o.doubled
				})
			}
		}
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%-45s %5s %10s %10s %6s %8s\n", "fault", "times", "median", "worst", "lost", "doubled")
	for _, f := range faults {
		r := rows[f.name]
		if r == nil {
			continue // it failed before it was over
		}
		slices.Sort(r.took)
		fmt.Fprintf(&b, "%-45s %5d %10s %10s %6d %8d\n", f.name, len(r.took), r.took[len(r.took)/2].Round(10*time.Millisecond),
			r.took[len(r.took)-1].Round(10*time.Millisecond), r.lost, r.doubled)
	}
	t.Logf("recovery with the real intervals\n%s", b.String())
}

// kept is a process that is started again whenever it is killed.
type kept struct {
	env  []string
	args []string
	pid  atomic.Int64
}

// keep runs the process until ctx ends.
func (k *kept) keep(ctx context.Context, bin, dir string) {
	for ctx.Err() == nil {
		c := exec.CommandContext(ctx, bin, k.args...)
		c.Dir, c.Env = dir, append(os.Environ(), k.env...)
		if c.Start() == nil {
			k.pid.Store(int64(c.Process.Pid))
			_ = c.Wait() // it was killed
			k.pid.Store(0)
		}
	}
}

// kill ends the process where one is running.
func (k *kept) kill() bool {
	pid := k.pid.Load()
	if pid == 0 {
		return false
	}
	p, err := os.FindProcess(int(pid))
	return err == nil && p.Kill() == nil
}

// TestRandomKills kills workers, schedulers and Redis with -9 at random moments
// and starts them again: 200 times within 20 minutes in the long form, a few
// times in the short one. When the run ends before the kills it is made longer.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	kills, patience := 8, 5*time.Minute
	if soak() {
		kills, patience = 200, 20*time.Minute
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("NSWEEP_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d; NSWEEP_SEED=%d plays the same again", seed, seed)
	rnd := rand.New(rand.NewPCG(seed, 1))

	s := newScene(t, 10, 200*time.Millisecond)
	s.env = append(s.env, "NSWEEP_TEST_TASK_CELLS=0") // of any size
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var keepers sync.WaitGroup
	t.Cleanup(func() { cancel(); keepers.Wait() })
	var all []*kept
	for i, args := range [][]string{{"scheduler"}, {"scheduler"}, {"worker", "--concurrency", "2"}, {"worker", "--concurrency", "2"}, {"worker", "--concurrency", "2"}} {
		k := &kept{env: s.direct(fmt.Sprintf("NSWEEP_TEST_MACHINE=%d", i)), args: args}
		all = append(all, k)
		keepers.Go(func() { k.keep(ctx, bin, s.dir) })
	}
	n := int64(5000)
	submit := func() {
		call(t, s.dir, s.direct(), codeDone, "submit", "toy.yaml", "--set", fmt.Sprintf("sweeps.toy.n.to=%d", n))
	}
	submit()
	s.begun()

	deadline := time.Now().Add(patience)
	done, redis := 0, 0
	for done < kills && time.Now().Before(deadline) {
		sleep(t, 200*time.Millisecond+time.Duration(rnd.Int64N(int64(2300*time.Millisecond))))
		if who := rnd.IntN(len(all) + 1); who == len(all) {
			s.srv.Kill()
			s.srv.Restart()
			redis++
			done++
		} else if all[who].kill() {
			done++
		}
		if run, err := s.store.Run(ctx, "toy"); err == nil && run.State.Ended() {
			if run.State != jobs.Complete {
				t.Fatalf("run is %s: %s", run.State, run.Reason)
			}
			n += 5000
			submit()
		}
	}
	end := time.Now()
	for s.endState(ctx) == "" && time.Since(end) < patience {
		sleep(t, 50*time.Millisecond)
	}
	run := s.run()
	if run.State != jobs.Complete {
		t.Fatalf("run is %s: %s", run.State, run.Reason)
	}
	c, err := s.store.Counts(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills, %d of them of Redis; %d values, %d cells computed a second time, at most %d deaths counted; the rest took %s",
		done, redis, c["toy"].Values, c["toy"].Repeated, s.deaths.Load(), time.Since(end).Round(time.Millisecond))
	if done < kills {
		t.Errorf("%d kills in %s, want %d", done, patience, kills)
	}
	if c["toy"].Values != n || c["toy"].Disputed != 0 {
		t.Errorf("counts %+v, want %d values", c["toy"], n)
	}
	script := fmt.Sprintf(`awk 'BEGIN { for (n = 1; n <= %d; n++) printf "%%d %%d\n", n, (7*n*n + 3*n) %% 1000003 }' | sha256sum`, n)
	sum, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	r := result(t, s.dir, s.direct(), "toy")
	if w, _ := r.Sweep("toy"); w.Text != strings.Fields(string(sum))[0] || int64(w.Done) != n || !r.Passed() {
		t.Errorf("result %+v, want the digest %s", w, sum)
	}
}

// endState returns the state in which the run ended, or nothing.
func (s *scene) endState(ctx context.Context) jobs.State {
	if r, err := s.store.Run(ctx, "toy"); err == nil && r.State.Ended() {
		return r.State
	}
	return ""
}
