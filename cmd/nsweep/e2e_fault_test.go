package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/faultproxy"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// toyText is the text digest of toyYAML, that is of
//
//	awk 'BEGIN { for (n = 1; n <= 5000; n++) printf "%d %d\n", n, (7*n*n + 3*n) % 1000003 }' | sha256sum
const toyText = "361bdd3bc4a18835228fdcdc7d5b9a22155b577079b1e5a00800e760b7871871"

// scene is one run on a Redis of its own while something goes wrong.
type scene struct {
	t     *testing.T
	dir   string
	srv   *redistest.Server
	proxy *faultproxy.Proxy
	store *store.Store // straight to the server
	speed int          // how much shorter the program's own intervals are
	env   []string
	hurry func() // lets the run end soon

	stop    context.CancelFunc
	watched sync.WaitGroup
	deaths  atomic.Int64 // the most that any task had
}

// newScene starts a server. The run is toyYAML, each cell of which takes the time
// until somebody is in a hurry; speed divides all intervals.
func newScene(t *testing.T, speed int, perCell time.Duration, redisArgs ...string) *scene {
	t.Helper()
	s := &scene{t: t, dir: t.TempDir(), srv: redistest.Start(t, redisArgs...), speed: speed}
	s.proxy = faultproxy.Start(t, s.srv.Addr())
	// Small tasks, so that there are many of everything that can go wrong.
	slow, hurry := atPace(t, perCell)
	s.hurry = hurry
	s.env = append(slow, fmt.Sprintf("NSWEEP_TEST_SPEEDUP=%d", speed), "NSWEEP_TEST_TASK_CELLS=2")
	write(t, s.dir, "toy.yaml", toyYAML)
	var err error
	if s.store, err = store.Open(t.Context(), store.Options{Addrs: []string{s.srv.Addr()}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.watched.Go(func() { s.watch(ctx) })
	t.Cleanup(func() {
		cancel()
		s.watched.Wait()
		s.store.Close()
	})
	return s
}

// short divides a duration by the scene's speed.
func (s *scene) short(d time.Duration) time.Duration { return d / time.Duration(s.speed) }

// watch notes what deaths the scheduler counts.
func (s *scene) watch(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		run, err := s.store.Run(ctx, "toy")
		if err != nil {
			continue
		}
		tasks, _ := s.store.Tasks(ctx, run.ID)
		for _, t := range tasks {
			s.deaths.Store(max(s.deaths.Load(), int64(t.Deaths)))
		}
	}
}

// direct returns the environment of a process that talks to the server,
// through that of one behind the proxy.
func (s *scene) direct(more ...string) []string {
	return slices.Concat([]string{"NSWEEP_REDIS_URL=" + s.srv.URL()}, s.env, more)
}

func (s *scene) through(more ...string) []string {
	return slices.Concat([]string{"NSWEEP_REDIS_URL=" + s.proxy.URL()}, s.env, more)
}

func (s *scene) start(env []string, args ...string) *proc {
	s.t.Helper()
	return cli(s.t, s.dir, env, args...)
}

// submit hands the run over.
func (s *scene) submit() {
	s.t.Helper()
	call(s.t, s.dir, s.direct(), codeDone, "submit", "toy.yaml")
}

// run reads the run.
func (s *scene) run() jobs.Run {
	s.t.Helper()
	r, err := s.store.Run(ctxFor(s.t), "toy")
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// values returns how many values are stored, −1 while that cannot be known.
func (s *scene) values() int64 {
	ctx := context.Background()
	r, err := s.store.Run(ctx, "toy")
	if err != nil {
		return -1
	}
	c, err := s.store.Counts(ctx, r.ID)
	if err != nil {
		return -1
	}
	return c["toy"].Values
}

// until waits for a condition that the processes bring about; with the real
// intervals that may take minutes.
func (s *scene) until(what string, cond func() bool) {
	s.t.Helper()
	if s.speed == 1 {
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end) && !cond(); {
			time.Sleep(50 * time.Millisecond) // the pace of looking
		}
	}
	until(s.t, what, cond)
}

// begun waits until some values are there.
func (s *scene) begun() {
	s.t.Helper()
	s.until("values", func() bool { return s.values() > 0 })
}

// resumed returns after how long more values are stored than now.
func (s *scene) resumed() time.Duration {
	s.t.Helper()
	begin := time.Now()
	had := s.values()
	s.until("more values", func() bool { v := s.values(); return v > max(had, 0) || v == 5000 })
	return time.Since(begin)
}

// beats returns the tasks that are under way, with their last heartbeats.
func (s *scene) beats(run jobs.RunID) (map[string]jobs.Task, map[string]jobs.Beat) {
	s.t.Helper()
	tasks, err := s.store.Tasks(ctxFor(s.t), run)
	if err != nil {
		s.t.Fatal(err)
	}
	all, _, err := s.store.Beats(ctxFor(s.t), run)
	if err != nil {
		s.t.Fatal(err)
	}
	byID, beats := map[string]jobs.Task{}, map[string]jobs.Beat{}
	for _, t := range tasks {
		byID[t.ID()] = t
	}
	for _, b := range all {
		if _, ok := byID[b.Task]; ok && !b.Ended {
			beats[b.Task] = b
		}
	}
	return byID, beats
}

// heldBy waits until the process with this number computes and returns what.
func (s *scene) heldBy(p *proc) []jobs.Task {
	s.t.Helper()
	var held []jobs.Task
	pid := pidOf(p)
	s.until("a task of the worker", func() bool {
		run, err := s.store.Run(context.Background(), "toy")
		if err != nil {
			return false
		}
		tasks, beats := s.beats(run.ID)
		for id, b := range beats {
			if strings.Contains(b.Worker, pid) {
				held = append(held, tasks[id])
			}
		}
		return len(held) > 0
	})
	return held
}

// takenUp returns after how long every unfinished cell of the tasks is computed
// by another process than p, or done.
func (s *scene) takenUp(held []jobs.Task, p *proc) time.Duration {
	s.t.Helper()
	begin := time.Now()
	run := s.run()
	sweep, _ := run.Sweep("toy")
	pid := pidOf(p)
	s.until("the cells to be taken up", func() bool {
		l, err := s.store.Ledger(context.Background(), run.ID, sweep)
		if err != nil {
			return false
		}
		tasks, beats := s.beats(run.ID)
		for id, b := range beats {
			if t := tasks[id]; !strings.Contains(b.Worker, pid) {
				first, last := sweep.Grid.Range(t.Lo, t.Hi)
				for i := first; i < last; i++ {
					l.Mark(i)
				}
			}
		}
		for _, t := range held {
			first, last := sweep.Grid.Range(t.Lo, t.Hi)
			if l.NextOpen(first) < last {
				return false
			}
		}
		return true
	})
	return time.Since(begin)
}

// outcome is what a scene ended with.
type outcome struct {
	lost, doubled int64
	deaths        int64
}

// complete waits for the end, which nothing delays any more, and compares with
// the undisturbed run.
func (s *scene) complete() outcome {
	s.t.Helper()
	s.hurry()
	s.until("the end of the run", func() bool {
		r, err := s.store.Run(context.Background(), "toy")
		return err == nil && r.State.Ended()
	})
	s.stop()
	s.watched.Wait()
	run := s.run()
	if run.State != jobs.Complete {
		s.t.Fatalf("run is %s: %s", run.State, run.Reason)
	}
	r := result(s.t, s.dir, s.direct(), "toy")
	if w, _ := r.Sweep("toy"); w.Text != toyText || w.Done != 5000 || !r.Passed() {
		s.t.Errorf("result %+v, want the digest of the undisturbed run", w)
	}
	c, err := s.store.Counts(ctxFor(s.t), run.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	o := outcome{lost: max(0, 5000-c["toy"].Values), doubled: max(0, c["toy"].Values-5000), deaths: s.deaths.Load()}
	if o.lost != 0 || o.doubled != 0 || c["toy"].Disputed != 0 {
		s.t.Errorf("counts %+v, want 5000 values once each", c["toy"])
	}
	return o
}

// ended expects a process to end well. What it computes does not delay it any
// more.
func (s *scene) ended(p *proc) {
	s.t.Helper()
	s.hurry()
	patience := lateExit
	if s.speed == 1 {
		patience = 10 * time.Minute
	}
	if code := p.waitFor(patience); code != codeDone {
		s.t.Errorf("nsweep %v: exit code %d\n%s", p.cmd.Args[1:], code, p.err.String())
	}
}

// Scripts by their keys: asynq's of taking, ending and giving out a task, and
// ours of commits, heartbeats and the list of outstanding tasks.
var (
	dequeue  = faultproxy.Keyed(":pending", ":paused", ":active", ":lease")
	doneTask = faultproxy.Keyed(":active", ":lease", ":processed")
	commits  = faultproxy.Keyed("}:manifest", "}:counts")
	beat     = faultproxy.Keyed("}:beats", "}:manifest")
	putTasks = faultproxy.Keyed("}:manifest", "}:tasks")
)

func enqueue(c faultproxy.Command) bool {
	k := c.Keys()
	return len(k) == 2 && strings.HasSuffix(k[1], ":pending")
}

// every returns a match of every k-th command.
func every(k int64) faultproxy.Match {
	var n atomic.Int64
	return func(faultproxy.Command) bool { return n.Add(1)%k == 0 }
}

// aFault is something that goes wrong, and how long it took until work went on
// after it was over. It runs while the run does, and leaves it to end by itself.
type aFault struct {
	name    string
	perCell time.Duration
	// goal bounds the recovery at speed 1; 0 for none.
	goal time.Duration
	// blameless faults must not count as a worker's death.
	blameless bool
	redis     []string
	play      func(s *scene) time.Duration
}

// lose loses the replies of commands, then has them cut off before they
// arrive.
func lose(m faultproxy.Match, times int) func(s *scene) time.Duration {
	return func(s *scene) time.Duration {
		p := s.start(s.through(), "run", "toy.yaml", "--concurrency", "2")
		s.until("the run", func() bool { return s.values() >= 0 })
		lost := s.proxy.Break(faultproxy.LoseReply(), m, 0, times)
		cut := s.proxy.Break(faultproxy.Reset(), m, times, times)
		s.until("the faults", func() bool { return lost.Fired() == times && cut.Fired() == times })
		d := s.resumed()
		s.ended(p)
		return d
	}
}

// outage makes the store unreachable for a while.
func outage(begin func(s *scene), d time.Duration, end func(s *scene)) func(s *scene) time.Duration {
	return func(s *scene) time.Duration {
		p := s.start(s.through(), "run", "toy.yaml", "--concurrency", "2")
		w := s.start(s.through(), "worker", "--concurrency", "1")
		s.begun()
		begin(s)
		sleep(s.t, s.short(d))
		end(s)
		took := s.resumed()
		s.ended(p)
		_ = w
		return took
	}
}

// soak reports whether the long tests are wanted.
func soak() bool { return os.Getenv("NSWEEP_SOAK") != "" }

// waitFor is wait with a patience of its own.
func (p *proc) waitFor(d time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(d):
	}
	return p.wait()
}

// sleep lets a fault last; it is no guess at when something has happened.
func sleep(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

func (s *scene) heal() {
	s.t.Helper()
	if err := s.proxy.Heal(); err != nil {
		s.t.Fatal(err)
	}
}

// connectionFaults go wrong between the processes and Redis.
var connectionFaults = []aFault{
	{name: "reply of Done lost", perCell: 400 * time.Millisecond, blameless: true, play: lose(doneTask, 3)},
	{name: "reply of Dequeue lost", perCell: 400 * time.Millisecond, blameless: true, play: lose(dequeue, 5)},
	{name: "reply of Enqueue lost", perCell: 400 * time.Millisecond, blameless: true, play: lose(enqueue, 5)},
	{name: "reply of a commit lost", perCell: 400 * time.Millisecond, blameless: true, play: lose(commits, 5)},
	{name: "reply of a heartbeat lost", perCell: 400 * time.Millisecond, blameless: true, play: lose(beat, 5)},
	{name: "reply of the task list lost", perCell: 400 * time.Millisecond, blameless: true, play: lose(putTasks, 2)},
	{name: "every 23rd command cut", perCell: 400 * time.Millisecond, blameless: true, play: func(s *scene) time.Duration {
		s.proxy.Break(faultproxy.LoseReply(), every(23), 0, 40)
		s.proxy.Break(faultproxy.Reset(), every(29), 0, 40)
		p := s.start(s.through(), "run", "toy.yaml", "--concurrency", "2")
		s.begun()
		d := s.resumed()
		s.ended(p)
		return d
	}},
	{name: "Redis gone for 5 s", perCell: 400 * time.Millisecond, goal: 15 * time.Second, blameless: true,
		play: outage(func(s *scene) { s.proxy.Refuse() }, 5*time.Second, (*scene).heal)},
	{name: "Redis gone for 5 s, two runs", perCell: 800 * time.Millisecond, goal: 15 * time.Second, blameless: true, play: func(s *scene) time.Duration {
		// The one that does not lead waits for the store as well as the leader.
		p := s.start(s.through("NSWEEP_TEST_MACHINE=a"), "run", "toy.yaml", "--concurrency", "1")
		q := s.start(s.through("NSWEEP_TEST_MACHINE=b"), "run", "toy.yaml", "--concurrency", "1")
		s.heldBy(p)
		s.heldBy(q)
		s.proxy.Refuse()
		sleep(s.t, max(s.short(5*time.Second), 2*time.Second)) // longer than the pause between its looks
		s.heal()
		d := s.resumed()
		s.ended(p)
		s.ended(q)
		return d
	}},
	{name: "Redis gone for 45 s", perCell: 2 * time.Second, goal: 15 * time.Second, blameless: true,
		play: outage(func(s *scene) { s.proxy.Refuse() }, 45*time.Second, (*scene).heal)},
	{name: "cable out for 45 s", perCell: 2 * time.Second, goal: 15 * time.Second, blameless: true,
		play: outage(func(s *scene) { s.proxy.Blackhole() }, 45*time.Second, (*scene).heal)},
}

// playFault plays a fault in a scene of its own and returns how long recovery
// took and what was lost.
func playFault(t *testing.T, f aFault, speed int) (time.Duration, outcome) {
	s := newScene(t, speed, f.perCell, f.redis...)
	took := f.play(s)
	o := s.complete()
	t.Logf("%s: work went on after %s; %d values lost, %d doubled, at most %d deaths counted", f.name, took.Round(time.Millisecond), o.lost, o.doubled, o.deaths)
	// With short intervals a busy machine may well let a worker fall silent, and
	// takes its time.
	if f.blameless && o.deaths > 0 && speed == 1 {
		t.Errorf("%d deaths were counted, though no worker died", o.deaths)
	}
	if f.goal > 0 && took > f.goal && speed == 1 {
		t.Errorf("work went on after %s, the goal is %s", took, f.goal)
	}
	return took, o
}

func TestFaults(t *testing.T) {
	for _, f := range slices.Concat(connectionFaults, processFaults, serverFaults) {
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			playFault(t, f, 10)
		})
	}
}
