package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// fakeStore keeps one run in memory and lets a test play the workers.
type fakeStore struct {
	mu         sync.Mutex
	run        jobs.Run
	ledgers    map[string]*jobs.Ledger
	counts     map[string]jobs.Counts
	tasks      map[string]jobs.Task
	beats      map[string]jobs.Beat
	failures   []jobs.Failure
	disputes   map[string][]jobs.Dispute
	origins    []jobs.Origin // of the first sweep
	marks      map[string]*jobs.Marks
	hands      []jobs.Hand
	quarantine []jobs.Quarantine
	onExpel    func() error
	workers    map[string]jobs.Worker
	leader     string
	down       bool // every call fails
	full       bool // every write fails
	server     string
	damage     error // of every ledger
	gone       bool  // the run was deleted
	beside     error // of another run
	onResult   func()
	given      []jobs.Task
	result     []byte
}

var errDown = errors.New("connection refused")

func newFakeStore(sweeps ...jobs.Sweep) *fakeStore {
	f := &fakeStore{ledgers: map[string]*jobs.Ledger{}, counts: map[string]jobs.Counts{}, tasks: map[string]jobs.Task{},
		beats: map[string]jobs.Beat{}, workers: map[string]jobs.Worker{}}
	f.run = jobs.Run{State: jobs.Running, Manifest: jobs.Manifest{ID: jobs.RunID{Name: "r", Epoch: "e"}, Sweeps: sweeps}}
	f.marks = map[string]*jobs.Marks{}
	for _, s := range sweeps {
		f.ledgers[s.Name] = jobs.NewLedger(s.Cells())
	}
	return f
}

func (f *fakeStore) lock() (func(), error) {
	f.mu.Lock()
	if f.down {
		f.mu.Unlock()
		return func() {}, errDown
	}
	return f.mu.Unlock, nil
}

var errFull = errors.New("OOM command not allowed")

// write is lock for a call that writes.
func (f *fakeStore) write() (func(), error) {
	unlock, err := f.lock()
	if err == nil && f.full {
		unlock()
		return func() {}, errFull
	}
	return unlock, err
}

func (f *fakeStore) Run(context.Context, string) (jobs.Run, error) {
	unlock, err := f.lock()
	defer unlock()
	return f.run, err
}

func (f *fakeStore) Runs(ctx context.Context) ([]jobs.Run, error) {
	r, err := f.Run(ctx, "")
	if err == nil && f.beside != nil {
		err = &jobs.DamagedError{Runs: []jobs.DamagedRun{{ID: jobs.RunID{Name: "a"}, Err: f.beside}}}
	}
	return []jobs.Run{r}, err
}

func (f *fakeStore) Status(context.Context, jobs.RunID) (jobs.State, int64, error) {
	unlock, err := f.lock()
	defer unlock()
	if f.gone && err == nil {
		err = jobs.ErrFenced
	}
	return f.run.State, f.run.Rev, err
}

func (f *fakeStore) SetState(_ context.Context, id jobs.RunID, from []jobs.State, to jobs.State, reason string) error {
	unlock, err := f.write()
	defer unlock()
	if err != nil {
		return err
	}
	if !slices.Contains(from, f.run.State) {
		return &jobs.StateError{Run: id, State: f.run.State}
	}
	f.run.State, f.run.Reason = to, reason
	return nil
}

func (f *fakeStore) SetResult(_ context.Context, _ jobs.RunID, _ int64, b []byte) error {
	unlock, err := f.write()
	defer unlock()
	if err == nil {
		f.result = b
		if f.onResult != nil {
			f.onResult()
		}
	}
	return err
}

func (f *fakeStore) Ledger(_ context.Context, _ jobs.RunID, s jobs.Sweep) (*jobs.Ledger, error) {
	unlock, err := f.lock()
	defer unlock()
	if err != nil || f.damage != nil {
		return nil, errors.Join(err, f.damage)
	}
	// A copy, as the real store gives.
	l := jobs.NewLedger(s.Cells())
	first, last := s.Cells()
	for i := first; i < last; i++ {
		if f.ledgers[s.Name].Done(i) {
			l.Mark(i)
		}
	}
	for _, n := range s.Set.Points {
		if f.ledgers[s.Name].PointDone(n) {
			l.MarkPoint(n)
		}
	}
	return l, nil
}

func (f *fakeStore) Counts(context.Context, jobs.RunID) (map[string]jobs.Counts, error) {
	unlock, err := f.lock()
	defer unlock()
	out := map[string]jobs.Counts{}
	for k, v := range f.counts {
		out[k] = v
	}
	return out, err
}

func (f *fakeStore) PutTasks(_ context.Context, _ jobs.RunID, tasks []jobs.Task) error {
	unlock, err := f.write()
	defer unlock()
	if err != nil {
		return err
	}
	for _, t := range tasks {
		f.tasks[t.ID()] = t
		f.given = append(f.given, t)
	}
	return nil
}

func (f *fakeStore) DropTasks(_ context.Context, _ jobs.RunID, ids ...string) error {
	unlock, err := f.lock()
	defer unlock()
	for _, id := range ids {
		delete(f.tasks, id)
	}
	return err
}

func (f *fakeStore) Tasks(context.Context, jobs.RunID) ([]jobs.Task, error) {
	unlock, err := f.lock()
	defer unlock()
	var out []jobs.Task
	for _, t := range f.tasks {
		out = append(out, t)
	}
	return out, err
}

func (f *fakeStore) Beats(context.Context, jobs.RunID) ([]jobs.Beat, time.Time, error) {
	unlock, err := f.lock()
	defer unlock()
	var out []jobs.Beat
	for _, b := range f.beats {
		out = append(out, b)
	}
	return out, time.Now(), err
}

func (f *fakeStore) DropBeats(_ context.Context, _ jobs.RunID, ids ...string) error {
	unlock, err := f.lock()
	defer unlock()
	for _, id := range ids {
		delete(f.beats, id)
	}
	return err
}

func (f *fakeStore) AddFailure(_ context.Context, _ jobs.RunID, x jobs.Failure) error {
	unlock, err := f.write()
	defer unlock()
	if err == nil {
		f.failures = append(f.failures, x)
	}
	return err
}

func (f *fakeStore) Failures(context.Context, jobs.RunID) ([]jobs.Failure, error) {
	unlock, err := f.lock()
	defer unlock()
	return slices.Clone(f.failures), err
}

func (f *fakeStore) Disputes(_ context.Context, _ jobs.RunID, s jobs.Sweep) ([]jobs.Dispute, error) {
	unlock, err := f.lock()
	defer unlock()
	return slices.Clone(f.disputes[s.Name]), err
}

func (f *fakeStore) Provenance(_ context.Context, _ jobs.RunID, g func(string, jobs.Origin) error) error {
	unlock, err := f.lock()
	defer unlock()
	for _, o := range f.origins {
		if err == nil {
			err = g(f.run.Sweeps[0].Name, o)
		}
	}
	return err
}

func (f *fakeStore) Workers(context.Context) ([]jobs.Worker, error) {
	unlock, err := f.lock()
	defer unlock()
	var out []jobs.Worker
	for _, w := range f.workers {
		out = append(out, w)
	}
	return out, err
}

func (f *fakeStore) Lead(_ context.Context, _ jobs.RunID, owner string, _ time.Duration) (bool, error) {
	unlock, err := f.write()
	defer unlock()
	if err != nil || (f.leader != "" && f.leader != owner) {
		return false, err
	}
	f.leader = owner
	return true, nil
}

func (f *fakeStore) Resign(_ context.Context, _ jobs.RunID, owner string) error {
	unlock, err := f.lock()
	defer unlock()
	if f.leader == owner {
		f.leader = ""
	}
	return err
}

func (f *fakeStore) Leader(context.Context, jobs.RunID) (string, error) {
	unlock, err := f.lock()
	defer unlock()
	return f.leader, err
}

func (f *fakeStore) Incarnation(context.Context) (string, error) {
	unlock, err := f.lock()
	defer unlock()
	return f.server, err
}

func (f *fakeStore) ClearFailures(context.Context, jobs.RunID) error {
	unlock, err := f.lock()
	defer unlock()
	f.failures = nil
	return err
}

// set changes the store under its lock.
func (f *fakeStore) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// join registers a worker.
func (f *fakeStore) join(id string, s jobs.Sweep) {
	f.set(func() { f.workers[id] = jobs.Worker{ID: id, Slots: 1, Queues: []string{s.Queue()}} })
}

// beat plays a heartbeat of a worker.
func (f *fakeStore) beat(worker string, t jobs.Task, b jobs.Beat) {
	f.set(func() {
		b.Task, b.Worker, b.AtMs = t.ID(), worker, time.Now().UnixMilli()
		f.beats[b.Task] = b
	})
}

// commit marks everything in the task as done.
func (f *fakeStore) commit(s jobs.Sweep, t jobs.Task) {
	f.set(func() {
		c := f.counts[s.Name]
		if t.Hi > t.Lo {
			first, last := s.Grid.Range(t.Lo, t.Hi)
			for i := first; i < last; i++ {
				f.ledgers[s.Name].Mark(i)
				c.Cells++
			}
		}
		for _, n := range t.Points {
			f.ledgers[s.Name].MarkPoint(n)
			c.Cells++
		}
		f.counts[s.Name] = c
	})
}

// fakeQueue is asynq as the scheduler sees it.
type fakeQueue struct {
	mu    sync.Mutex
	state map[string]jobs.QueueState
	queue []jobs.Task
	lose  int // the next so many enqueues succeed in vain
}

func newFakeQueue() *fakeQueue { return &fakeQueue{state: map[string]jobs.QueueState{}} }

func (q *fakeQueue) Enqueue(_ context.Context, t jobs.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lose > 0 {
		q.lose--
		return nil
	}
	if q.state[t.ID()] == jobs.NotQueued {
		q.state[t.ID()] = jobs.Waiting
		q.queue = append(q.queue, t)
	}
	return nil
}

func (q *fakeQueue) State(t jobs.Task) (jobs.QueueState, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state[t.ID()], nil
}

func (q *fakeQueue) Withdraw(t jobs.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state[t.ID()] != jobs.Active {
		delete(q.state, t.ID())
		q.queue = slices.DeleteFunc(q.queue, func(x jobs.Task) bool { return x.ID() == t.ID() })
	}
	return nil
}

// take plays a worker that takes the next task.
func (q *fakeQueue) take() (jobs.Task, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return jobs.Task{}, false
	}
	t := q.queue[0]
	q.queue = q.queue[1:]
	q.state[t.ID()] = jobs.Active
	return t, true
}

// done plays asynq's end of a task.
func (q *fakeQueue) done(t jobs.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.state, t.ID())
}

// fakeChecker is content with anything, or halts at will.
type fakeChecker struct {
	halt     error
	finished int
	closed   int
}

func (c *fakeChecker) Close() { c.closed++ }

func (c *fakeChecker) Advance(context.Context, string, *jobs.Ledger) error {
	if c.halt != nil {
		return &jobs.HaltError{Err: c.halt}
	}
	return nil
}

func (c *fakeChecker) Finish(context.Context, map[string]*jobs.Ledger) ([]byte, error) {
	c.finished++
	return []byte("result"), nil
}

// Marks returns a copy with the hands known so far.
func (f *fakeStore) Marks(_ context.Context, _ jobs.RunID, s jobs.Sweep) (*jobs.Marks, error) {
	unlock, err := f.lock()
	defer unlock()
	first, last := s.Cells()
	m := jobs.NewMarks(first, last, slices.Clone(f.hands))
	if was := f.marks[s.Name]; was != nil {
		for i := first; i < last; i++ {
			by, chk := was.Cell(i)
			m.Set(i, by, chk)
		}
		for _, n := range s.Set.Points {
			by, chk := was.Point(n)
			m.SetPoint(n, by, chk)
		}
	}
	return m, err
}

// hand returns the number of a worker; the store is locked.
func (f *fakeStore) hand(worker string) uint16 {
	k := slices.IndexFunc(f.hands, func(h jobs.Hand) bool { return h.Worker == worker })
	if k < 0 {
		f.hands = append(f.hands, jobs.Hand{Worker: worker, Algorithm: "plain"})
		k = len(f.hands) - 1
	}
	return uint16(k + 1)
}

// commitBy commits a task by a worker: it stores, or confirms.
func (f *fakeStore) commitBy(worker string, s jobs.Sweep, t jobs.Task) {
	if t.Check == 0 {
		defer f.commit(s, t) // a cell is finished when everything about it is there
	}
	f.set(func() {
		m := f.marks[s.Name]
		if m == nil {
			first, last := s.Cells()
			m = jobs.NewMarks(first, last, nil)
			f.marks[s.Name] = m
		}
		h, c := f.hand(worker), f.counts[s.Name]
		note := func(by, chk uint16) (uint16, uint16) {
			if t.Check == 0 {
				return h, chk
			}
			if chk == 0 {
				c.Confirmed++
				chk = h
			}
			return by, chk
		}
		for _, p := range t.Parts(s.Grid) {
			first, last := s.Grid.Range(p.Lo, p.Hi)
			for i := first; i < last; i++ {
				by, chk := note(m.Cell(i))
				m.Set(i, by, chk)
			}
		}
		for _, n := range t.Points {
			by, chk := note(m.Point(n))
			m.SetPoint(n, by, chk)
		}
		f.counts[s.Name] = c
	})
}

func (f *fakeStore) Quarantines(context.Context, jobs.Manifest) ([]jobs.Quarantine, error) {
	unlock, err := f.lock()
	defer unlock()
	return slices.Clone(f.quarantine), err
}

// Expel opens what is from the worker and confirmed by nobody else.
func (f *fakeStore) Expel(_ context.Context, m jobs.Manifest, worker string) (n int64, err error) {
	unlock, err := f.write()
	defer unlock()
	if err != nil {
		return 0, err
	}
	if f.onExpel != nil {
		if err := f.onExpel(); err != nil {
			return 0, err
		}
	}
	bad := f.hand(worker)
	for _, s := range m.Sweeps {
		marks, old := f.marks[s.Name], f.ledgers[s.Name]
		first, last := s.Cells()
		if marks == nil {
			marks = jobs.NewMarks(first, last, nil)
		}
		end := old.First + old.Count // what is outside of the plan stays
		l := jobs.NewLedger(old.First, end)
		for i := old.NextDone(old.First); i < end; i = old.NextDone(i + 1) {
			if by, chk := marks.Cell(i); i < first || i >= last || by != bad || (chk != 0 && chk != bad) {
				l.Mark(i)
			} else {
				marks.Set(i, 0, 0)
				n++
			}
		}
		f.ledgers[s.Name] = l
	}
	for i, q := range f.quarantine {
		if q.Worker == worker {
			f.quarantine[i].Pending, f.quarantine[i].Reopened = f.run.Rev != m.Rev, q.Reopened+n
		}
	}
	f.run.Rev++
	return n, nil
}
