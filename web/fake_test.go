package web

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/leaks"
	"github.com/nsweep/nsweep/jobs"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// hang bounds the wait for what must come about.
const hang = 2 * time.Minute

// patient waits for others as long as a machine with other work may need.
var patient = waits{detail: hang, poll: hang, header: hang, read: hang, write: hang, message: hang, drain: usualWaits.drain}

// fakeStore is a store in memory that tests move on by hand.
type fakeStore struct {
	mu       sync.Mutex
	clock    func() time.Time
	err      error // what every call returns when set
	runs     []*fakeRun
	workers  []jobs.Worker
	reads    int // of ledgers
	updates  int
	entered  chan struct{} // told of each Runs call when set
	before   func()        // called before a state is set
	slowness time.Duration
}

type fakeRun struct {
	jobs.Run
	done       map[string]map[int64]bool // sweep → grid index
	points     map[string]map[int64]bool
	tasks      []jobs.Task
	beats      []jobs.Beat
	failures   []jobs.Failure
	disputes   map[string][]jobs.Dispute
	leader     string
	quarantine []jobs.Quarantine
	damaged    map[int64]bool // cells with a wrong CRC
	confirmed  int            // of the first cells
	illegible  error
}

var errNotThere = errors.New("connection refused")

// newFake returns a store whose clock stands still, so that nothing that it holds
// grows old however long a test takes.
func newFake() *fakeStore {
	now := time.Now()
	return &fakeStore{clock: func() time.Time { return now }}
}

// toyGrid cuts n into cells of one size, values of 8 bytes.
func toyGrid(cell int64) engine.Grid {
	return engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: cell}}, Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 8}}}
}

// toy is the function of the fake's sweeps.
func toy(n int64) int64 { return (7*(n%1000)*(n%1000) + 3*n) % 997 }

// toySweep returns a sweep of the n in [lo, hi) and points. Its checkpoints
// hold: a value and the sum of squares up to a fifth and up to the end.
func toySweep(t testing.TB, name string, cell, lo, hi int64, points ...int64) jobs.Sweep {
	t.Helper()
	set, err := jobs.NewSet(lo, hi, points)
	if err != nil {
		t.Fatal(err)
	}
	s := jobs.Sweep{Name: name, Engine: "toy", Version: 1, Keep: jobs.KeepValues, Set: set, Grid: toyGrid(cell), Sums: []int{2}}
	if set.Dense() && hi-lo <= 100_000 && len(points) == 0 {
		for _, n := range []int64{lo + (hi-lo)/5, hi - 1} {
			sum := new(big.Int)
			for i := lo; i <= n; i++ {
				sum.Add(sum, big.NewInt(toy(i)*toy(i)))
			}
			s.Checkpoints = append(s.Checkpoints, jobs.Checkpoint{N: n, Want: big.NewInt(toy(n))}, jobs.Checkpoint{N: n, Power: 2, Want: sum})
		}
	}
	return s
}

// add creates a run.
func (f *fakeStore) add(name string, sweeps ...jobs.Sweep) *fakeRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &fakeRun{done: map[string]map[int64]bool{}, points: map[string]map[int64]bool{}, disputes: map[string][]jobs.Dispute{}, damaged: map[int64]bool{}}
	r.Manifest = jobs.Manifest{Format: jobs.ManifestFormat, ID: jobs.RunID{Name: name, Epoch: jobs.NewEpoch()}, Number: 1,
		CreatedMs: f.clock().UnixMilli(), Sweeps: sweeps}
	r.State = jobs.Running
	for _, s := range sweeps {
		r.done[s.Name], r.points[s.Name] = map[int64]bool{}, map[int64]bool{}
	}
	f.runs = append(f.runs, r)
	return r
}

// change lets a test change the store.
func (f *fakeStore) change(c func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c()
}

// finish marks the cells with grid indices [first, last) of a sweep as done.
func (r *fakeRun) finish(sweep string, first, last int64) {
	for i := first; i < last; i++ {
		r.done[sweep][i] = true
	}
}

// give has a worker hold the n in [lo, hi).
func (r *fakeRun) give(f *fakeStore, worker, sweep string, lo, hi int64, fraction float64, attempt int) jobs.Task {
	t := jobs.Task{Run: r.ID, Rev: r.Rev, Sweep: sweep, Engine: "toy", Version: 1, Keep: jobs.KeepValues, Grid: 1, Lo: lo, Hi: hi, Attempt: attempt}
	r.tasks = append(r.tasks, t)
	if worker != "" {
		now := f.clock().UnixMilli()
		r.beats = append(r.beats, jobs.Beat{Task: t.ID(), Worker: worker, Fraction: fraction, StartedMs: now - 4000, AtMs: now})
	}
	return t
}

func (f *fakeStore) worker(id string, slots int) jobs.Worker {
	now := f.clock().UnixMilli()
	host, _, _ := strings.Cut(id, ":")
	w := jobs.Worker{ID: id, Host: host, PID: 4711, Slots: slots, Queues: []string{"toy@1"}, StartedMs: now - 60_000, AtMs: now}
	f.workers = append(f.workers, w)
	return w
}

func (f *fakeStore) enter(ctx context.Context) error {
	if f.slowness > 0 {
		timer := time.NewTimer(f.slowness)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return f.err
}

func (f *fakeStore) find(id jobs.RunID) (*fakeRun, error) {
	for _, r := range f.runs {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, jobs.ErrFenced
}

func (f *fakeStore) Where() string { return "memory" }

func (f *fakeStore) Time(ctx context.Context) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock(), f.enter(ctx)
}

func (f *fakeStore) Runs(ctx context.Context) ([]jobs.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entered != nil {
		select {
		case f.entered <- struct{}{}:
		default:
		}
	}
	var out []jobs.Run
	var bad []jobs.DamagedRun
	for _, r := range f.runs {
		if r.illegible != nil {
			bad = append(bad, jobs.DamagedRun{ID: r.ID, Err: r.illegible})
		} else {
			out = append(out, r.Run)
		}
	}
	if len(bad) > 0 && f.err == nil {
		return out, &jobs.DamagedError{Runs: bad}
	}
	return out, f.enter(ctx)
}

func (f *fakeStore) Counts(ctx context.Context, id jobs.RunID) (map[string]jobs.Counts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return nil, err
	}
	out := map[string]jobs.Counts{}
	for _, s := range r.Sweeps {
		c := jobs.Counts{Cells: int64(len(r.done[s.Name]) + len(r.points[s.Name])), Disputed: int64(len(r.disputes[s.Name])), Confirmed: int64(r.confirmed)}
		c.Values = int64(len(r.points[s.Name]))
		for i := range r.done[s.Name] {
			cell, _ := s.Cell(i)
			c.Values += cell.Len()
		}
		out[s.Name] = c
	}
	return out, f.enter(ctx)
}

func (f *fakeStore) Ledger(ctx context.Context, id jobs.RunID, s jobs.Sweep) (*jobs.Ledger, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	r, err := f.find(id)
	if err != nil {
		return nil, err
	}
	l := jobs.NewLedger(s.Cells())
	for i := range r.done[s.Name] {
		l.Mark(i)
	}
	for n := range r.points[s.Name] {
		l.MarkPoint(n)
	}
	return l, f.enter(ctx)
}

func (f *fakeStore) Tasks(ctx context.Context, id jobs.RunID) ([]jobs.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.tasks), f.enter(ctx)
}

func (f *fakeStore) Beats(ctx context.Context, id jobs.RunID) ([]jobs.Beat, time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return nil, time.Time{}, err
	}
	return slices.Clone(r.beats), f.clock(), f.enter(ctx)
}

func (f *fakeStore) Workers(ctx context.Context) ([]jobs.Worker, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.workers), f.enter(ctx)
}

func (f *fakeStore) Quarantines(ctx context.Context, m jobs.Manifest) ([]jobs.Quarantine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(m.ID)
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.quarantine), f.enter(ctx)
}

func (f *fakeStore) Failures(ctx context.Context, id jobs.RunID) ([]jobs.Failure, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.failures), f.enter(ctx)
}

func (f *fakeStore) Disputes(ctx context.Context, id jobs.RunID, s jobs.Sweep) ([]jobs.Dispute, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.disputes[s.Name]), f.enter(ctx)
}

func (f *fakeStore) Leader(ctx context.Context, id jobs.RunID) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return "", err
	}
	return r.leader, f.enter(ctx)
}

func (f *fakeStore) ReadCells(ctx context.Context, id jobs.RunID, s jobs.Sweep, first, last int64) ([]jobs.CellValues, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return nil, err
	}
	var out []jobs.CellValues
	for i := first; i < last; i++ {
		c, whole := s.Cell(i)
		values := make([]int64, 0, c.Len())
		for n := c.Lo; n < c.Hi; n++ {
			values = append(values, toy(n))
		}
		data, err := jobs.AppendValues(nil, 8, engine.Piece{Lo: c.Lo, Narrow: values})
		if err != nil {
			return nil, err
		}
		v := jobs.CellValues{Cell: c, Whole: whole, Width: 8, Data: data, CRC: jobs.CRC(data)}
		if r.damaged[i] {
			v.CRC++
		}
		out = append(out, v)
	}
	return out, f.enter(ctx)
}

func (f *fakeStore) ReadPoints(ctx context.Context, id jobs.RunID, sweep string, ns []int64) ([]jobs.PointValue, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return nil, err
	}
	var out []jobs.PointValue
	for _, n := range ns {
		if r.points[sweep][n] {
			out = append(out, jobs.NewPoint(n, engine.Int128From(toy(n))))
		}
	}
	return out, f.enter(ctx)
}

func (f *fakeStore) SetState(ctx context.Context, id jobs.RunID, from []jobs.State, to jobs.State, reason string) error {
	if f.before != nil {
		f.before()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return err
	}
	if !slices.Contains(from, r.State) {
		return fmt.Errorf("set state: %w", &jobs.StateError{Run: id, State: r.State})
	}
	r.State, r.Reason = to, reason
	return f.enter(ctx)
}

func (f *fakeStore) ClearFailures(ctx context.Context, id jobs.RunID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(id)
	if err != nil {
		return err
	}
	r.failures = nil
	return f.enter(ctx)
}

func (f *fakeStore) Update(ctx context.Context, m jobs.Manifest) (jobs.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(m.ID)
	if err != nil {
		return jobs.Run{}, err
	}
	f.updates++
	r.Rev++
	r.State = jobs.Running
	return r.Run, f.enter(ctx)
}
