package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"
	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// fakeStore takes commits in memory.
type fakeStore struct {
	mu      sync.Mutex
	cells   map[int64]jobs.CellValues
	points  map[int64]jobs.PointValue
	beats   []jobs.Beat
	state   jobs.State
	fenced  bool
	refuse  int // the next so many commits fail
	commits int
	live    bool
	skew    time.Duration
	hellos  int
	byes    int
	saved   map[string][]byte
	down    bool  // every call fails
	lasting error // of every commit
	expels  bool  // what Expelled answers
	banned  bool  // beats answer that the worker is quarantined
	batches []jobs.Commit
}

var errDown = errors.New("connection refused")

func (f *fakeStore) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// beatsOf returns the beats about a task.
func (f *fakeStore) beatsOf(t jobs.Task) (beats []jobs.Beat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.beats {
		if b.Task == t.ID() {
			beats = append(beats, b)
		}
	}
	return beats
}

func newFakeStore() *fakeStore {
	return &fakeStore{cells: map[int64]jobs.CellValues{}, points: map[int64]jobs.PointValue{}, state: jobs.Running, live: true, saved: map[string][]byte{}}
}

func (f *fakeStore) Time(ctx context.Context) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(f.skew), ctx.Err()
}

func (f *fakeStore) Commit(_ context.Context, c jobs.Commit) (jobs.Committed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	switch {
	case f.down:
		return jobs.Committed{}, errDown
	case f.lasting != nil:
		return jobs.Committed{}, fmt.Errorf("commit: %w", f.lasting)
	case f.fenced:
		return jobs.Committed{}, fmt.Errorf("commit: %w", jobs.ErrFenced)
	case !f.state.Accepts():
		return jobs.Committed{}, &jobs.StateError{State: f.state}
	case f.refuse > 0:
		f.refuse--
		return jobs.Committed{}, errors.New("connection reset")
	}
	f.batches = append(f.batches, c)
	for _, x := range c.Cells {
		x.Data = bytes.Clone(x.Data)
		f.cells[x.Cell.Index] = x
	}
	for _, p := range c.Points {
		f.points[p.N] = p
	}
	return jobs.Committed{Stored: len(c.Cells) + len(c.Points)}, nil
}

func (f *fakeStore) Beat(_ context.Context, _ jobs.RunID, b jobs.Beat) (jobs.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return "", errDown
	}
	if f.fenced {
		return "", jobs.ErrFenced
	}
	f.beats = append(f.beats, b)
	if f.banned {
		return "", jobs.ErrQuarantined
	}
	return f.state, nil
}

func (f *fakeStore) Outstanding(context.Context, jobs.RunID, string) (bool, error) {
	return f.live, nil
}

func (f *fakeStore) SaveState(_ context.Context, _ jobs.RunID, key string, b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.saved[key] = bytes.Clone(b)
	return nil
}

func (f *fakeStore) LoadState(_ context.Context, _ jobs.RunID, key string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.saved[key], nil
}

func (f *fakeStore) DropState(_ context.Context, _ jobs.RunID, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.saved, key)
	return nil
}

func (f *fakeStore) Expelled(context.Context, jobs.RunID, string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.expels, nil
}

func (f *fakeStore) Hello(context.Context, jobs.Worker) error { f.hellos++; return nil }
func (f *fakeStore) Goodbye(context.Context, string) error    { f.byes++; return nil }

func (f *fakeStore) last() jobs.Beat {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.beats) == 0 {
		return jobs.Beat{}
	}
	return f.beats[len(f.beats)-1]
}

func task(lo, hi int64) jobs.Task {
	return jobs.Task{Run: jobs.RunID{Name: "r", Epoch: "e"}, Sweep: "s", Engine: "toy", Version: 1, Grid: 1, Keep: jobs.KeepValues, Lo: lo, Hi: hi}
}

func newWorker(st Store, o testengine.Options) *Worker {
	return New(st, engine.NewRegistry(testengine.New(o)), Options{Self: jobs.Worker{ID: "w"}})
}

func process(w *Worker, t jobs.Task) error {
	return w.ProcessTask(context.Background(), asynq.NewTask(jobs.TaskKind, t.Encode()))
}

// checkCells compares the stored cells with the engine's formula.
func checkCells(t rapid.TB, f *fakeStore, lo, hi int64) {
	t.Helper()
	next := lo
	for _, i := range slices.Sorted(func(yield func(int64) bool) {
		for k := range f.cells {
			if !yield(k) {
				return
			}
		}
	}) {
		c := f.cells[i]
		if c.Cell.Lo != next || jobs.CRC(c.Data) != c.CRC {
			t.Fatalf("cell %v where n = %d was due, or a wrong CRC", c.Cell, next)
		}
		p, err := jobs.DecodeValues(engine.Piece{}, c.Cell.Lo, c.Width, c.Data)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range p.Narrow {
			if n := p.Lo + int64(k); v != testengine.Value(n, 1) {
				t.Fatalf("value at n = %d is %d, want %d", n, v, testengine.Value(n, 1))
			}
		}
		next = c.Cell.Hi
	}
	if next != hi {
		t.Fatalf("values end before n = %d, want %d", next, hi)
	}
}

// TestAnyTaskGivesTheSameCells: however a range is cut into tasks at cell
// borders, the same cells with the same bytes are committed.
func TestAnyTaskGivesTheSameCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(1, 500).Draw(t, "lo")
		hi := lo + rapid.Int64Range(1, 2000).Draw(t, "len")
		f := newFakeStore()
		w := newWorker(f, testengine.Options{})
		grid := testengine.New(testengine.Options{}).Info().Grid
		for a := lo; a < hi; {
			b := min(hi, grid.CellAt(min(hi-1, a+rapid.Int64Range(0, 700).Draw(t, "task"))).Hi)
			if err := process(w, task(a, b)); err != nil {
				t.Fatal(err)
			}
			a = b
		}
		for _, c := range f.cells {
			if whole := c.Cell == grid.Cell(c.Cell.Index); whole != c.Whole {
				t.Fatalf("cell %v is marked whole = %v", c.Cell, c.Whole)
			}
		}
		checkCells(t, f, lo, hi)
	})
}

func TestPoints(t *testing.T) {
	f := newFakeStore()
	tk := task(0, 0)
	tk.Points = []int64{3, 7, 1_000_000}
	if err := process(newWorker(f, testengine.Options{}), tk); err != nil {
		t.Fatal(err)
	}
	for _, n := range tk.Points {
		if got := f.points[n]; got != jobs.NewPoint(n, engine.Int128From(testengine.Value(n, 1))) {
			t.Errorf("point %d is %+v", n, got)
		}
	}
	if b := f.last(); !b.Ended || b.Error != "" || b.Fraction != 1 {
		t.Errorf("last beat %+v", b)
	}
}

func TestMalformedPayloadIsArchived(t *testing.T) {
	w := newWorker(newFakeStore(), testengine.Options{})
	for _, payload := range []string{"", "{}", `{"v":2}`, `{"v":1,"run":{"name":"../x"}}`, `{"v":1,"shell":"rm"}`} {
		err := w.ProcessTask(context.Background(), asynq.NewTask(jobs.TaskKind, []byte(payload)))
		if !errors.Is(err, asynq.SkipRetry) {
			t.Errorf("payload %q: %v, want SkipRetry", payload, err)
		}
	}
}

// TestFailuresAreTold: whatever the engine does wrong ends in the beat, and
// what was finished before is committed.
func TestFailuresAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		o    testengine.Options
		t    func(*jobs.Task)
		want string
		upto int64
	}{
		"error":            {o: testengine.Options{FailAt: 777}, want: "told to fail at n = 777", upto: 751},
		"panic":            {o: testengine.Options{PanicAt: 777}, want: "panicked: told to panic", upto: 751},
		"stack of a panic": {o: testengine.Options{PanicAt: 777}, want: "testengine.(*Engine).Compute", upto: 751},
		"other version":    {o: testengine.Options{Version: 2}, want: "value version 2", upto: 1},
		"other grid":       {t: func(t *jobs.Task) { t.Grid = 9 }, want: "the task wants 1 and 9", upto: 1},
		"unknown engine":   {t: func(t *jobs.Task) { t.Engine = "x" }, want: `unknown engine "x"`, upto: 1},
		"out of reach":     {t: func(t *jobs.Task) { t.Lo, t.Hi = 2_000_000_001, 2_000_000_051 }, want: "reaches n = 1000000000", upto: 1},
		"wrong parameter":  {t: func(t *jobs.Task) { t.Params = engine.Params{"x": 1} }, want: "unknown parameter", upto: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeStore()
			tk := task(1, 2001)
			if c.t != nil {
				c.t(&tk)
			}
			if err := process(newWorker(f, c.o), tk); err != nil {
				t.Fatal(err)
			}
			if b := f.last(); !b.Ended || !strings.Contains(b.Error, c.want) {
				t.Errorf("last beat %+v, want %q", b, c.want)
			}
			if c.upto > 1 {
				checkCells(t, f, 1, c.upto)
			}
		})
	}
}

// TestCommitsAreRepeated: a store that comes back loses nothing.
func TestCommitsAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.refuse = 12
		if err := process(newWorker(f, testengine.Options{}), task(1, 2001)); err != nil {
			t.Fatal(err)
		}
		checkCells(t, f, 1, 2001)
		if b := f.last(); !b.Ended || b.Error != "" {
			t.Errorf("last beat %+v", b)
		}
	})
}

// TestUnwantedTaskEnds: a run that was deleted or cancelled in mid-task ends
// the computation, silently.
func TestUnwantedTaskEnds(t *testing.T) {
	for name, change := range map[string]func(*fakeStore){
		"deleted":   func(f *fakeStore) { f.fenced = true },
		"cancelled": func(f *fakeStore) { f.state = jobs.Cancelled },
		"halted":    func(f *fakeStore) { f.state = jobs.Halted },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeStore()
				done := make(chan error, 1)
				w := newWorker(f, testengine.Options{PerCell: time.Second})
				go func() { done <- process(w, task(1, 50_001)) }()
				time.Sleep(10 * time.Second)
				f.mu.Lock()
				change(f)
				n := len(f.cells)
				f.mu.Unlock()
				begin := time.Now()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > 6*time.Second {
					t.Errorf("ended after %s, want within a heartbeat", took)
				}
				if len(f.cells) != n || n == 0 {
					t.Errorf("%d cells, then %d", n, len(f.cells))
				}
			})
		})
	}
}

// TestDrainKeepsWhatIsDone: a draining worker commits its finished cells,
// says that it let go, and ends at once.
func TestDrainKeepsWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		w := newWorker(f, testengine.Options{PerCell: time.Second})
		done := make(chan error, 1)
		go func() { done <- process(w, task(1, 50_001)) }()
		time.Sleep(20*time.Second + 300*time.Millisecond)
		begin := time.Now()
		w.Drain()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("ended after %s", took)
		}
		checkCells(t, f, 1, 1001)
		if b := f.last(); !b.Ended || b.Error != "" {
			t.Errorf("last beat %+v", b)
		}
		if err := process(w, task(1, 51)); err != nil || f.last().Task != task(1, 50_001).ID() {
			t.Errorf("a draining worker took another task: %v", err)
		}
	})
}

// TestSkipsWhatNobodyWaitsFor: a task that the scheduler gave up is not
// computed.
func TestSkipsWhatNobodyWaitsFor(t *testing.T) {
	f := newFakeStore()
	f.live = false
	if err := process(newWorker(f, testengine.Options{}), task(1, 51)); err != nil {
		t.Fatal(err)
	}
	if len(f.beats) != 0 || f.commits != 0 {
		t.Errorf("%d beats, %d commits", len(f.beats), f.commits)
	}
}

// TestHeartbeat: every five seconds, with a fraction that rises.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		if err := process(newWorker(f, testengine.Options{PerCell: time.Second}), task(1, 3001)); err != nil {
			t.Fatal(err)
		}
		if k := len(f.beats); k < 12 || k > 14 {
			t.Fatalf("%d beats in a minute", k)
		}
		for i := 1; i < len(f.beats); i++ {
			if f.beats[i].Fraction < f.beats[i-1].Fraction {
				t.Errorf("fraction falls from %g to %g", f.beats[i-1].Fraction, f.beats[i].Fraction)
			}
		}
	})
}

// fakeServer hands over nothing.
type fakeServer struct{ started, stopped, shut int }

func (s *fakeServer) Start(asynq.Handler) error { s.started++; return nil }
func (s *fakeServer) Stop()                     { s.stopped++ }
func (s *fakeServer) Shutdown()                 { s.shut++ }

func TestRunGreetsAndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, srv := newFakeStore(), &fakeServer{}
		ctx, cancel := context.WithTimeout(t.Context(), 22*time.Second)
		defer cancel()
		if err := newWorker(f, testengine.Options{}).Run(ctx, srv); err != nil {
			t.Fatal(err)
		}
		if f.hellos != 5 || f.byes != 1 || *srv != (fakeServer{1, 1, 1}) {
			t.Errorf("%d hellos, %d goodbyes, server %+v", f.hellos, f.byes, srv)
		}
	})
}

// TestStoppedAtOnce: a worker that is told to stop before it has begun leaves as
// one that had nothing to do, as in a run that ends at once.
func TestStoppedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, srv := newFakeStore(), &fakeServer{}
	if err := newWorker(f, testengine.Options{}).Run(ctx, srv); err != nil || f.byes != 1 || *srv != (fakeServer{}) {
		t.Errorf("%v, %d goodbyes, server %+v", err, f.byes, srv)
	}
}

func TestClockOff(t *testing.T) {
	for _, skew := range []time.Duration{-time.Minute, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeStore()
			f.skew = skew
			if err := newWorker(f, testengine.Options{}).Run(t.Context(), &fakeServer{}); !errors.Is(err, ErrSkew) {
				t.Errorf("clock off by %s: %v", skew, err)
			}
			// In mid-work the worker drains.
			f.skew = 0
			go func() {
				time.Sleep(3 * time.Minute)
				f.mu.Lock()
				defer f.mu.Unlock()
				f.skew = skew
			}()
			begin := time.Now()
			if err := newWorker(f, testengine.Options{}).Run(t.Context(), &fakeServer{}); !errors.Is(err, ErrSkew) {
				t.Errorf("clock running off by %s: %v", skew, err)
			}
			if took := time.Since(begin); took > 5*time.Minute {
				t.Errorf("noticed after %s", took)
			}
		})
	}
}
