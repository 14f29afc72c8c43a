package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
)

// checker folds a run's finished cells for the scheduler. Only the scheduler's
// check loop advances it; partial may be called from elsewhere.
type checker struct {
	reader aggregator.Reader
	run    jobs.Run
	folds  map[string]*aggregator.Fold
	gone   func() // called by Close, if set
	// spent returns the time that workers spent on each sweep, if set.
	spent func(context.Context, jobs.RunID) map[string]time.Duration

	mu      sync.Mutex
	results map[string]aggregator.SweepResult
}

func newChecker(r aggregator.Reader, run jobs.Run) *checker {
	c := &checker{reader: r, run: run, folds: map[string]*aggregator.Fold{}, results: map[string]aggregator.SweepResult{}}
	for _, s := range run.Sweeps {
		c.folds[s.Name] = aggregator.NewFold(run.ID, s)
	}
	return c
}

// checkSlice is how long a fold goes on before it tells how far it is.
const checkSlice = time.Second

// Advance folds on, telling how far it is now and then. What can never come
// right again halts the run.
func (c *checker) Advance(ctx context.Context, sweep string, l *jobs.Ledger) error {
	f := c.folds[sweep]
	if f == nil {
		return nil
	}
	for {
		err := f.Advance(ctx, &pausing{Reader: c.reader, end: time.Now().Add(checkSlice)}, l)
		c.mu.Lock()
		c.results[sweep] = f.Result()
		c.mu.Unlock()
		if !errors.Is(err, errPause) {
			return halting(err)
		}
	}
}

// errPause interrupts a fold, which goes on from there when it is called again.
var errPause = errors.New("pause")

// pausing is a reader that, after its time, refuses to read more than the first
// batch. The fold asks for one batch at a time.
type pausing struct {
	aggregator.Reader
	end  time.Time
	read bool
}

func (p *pausing) pause() error {
	if p.read && time.Now().After(p.end) {
		return errPause
	}
	p.read = true
	return nil
}

// ReadCells reads a batch of cells.
func (p *pausing) ReadCells(ctx context.Context, id jobs.RunID, s jobs.Sweep, first, last int64) ([]jobs.CellValues, error) {
	if err := p.pause(); err != nil {
		return nil, err
	}
	return p.Reader.ReadCells(ctx, id, s, first, last)
}

// ReadPoints reads a batch of points.
func (p *pausing) ReadPoints(ctx context.Context, id jobs.RunID, sweep string, ns []int64) ([]jobs.PointValue, error) {
	if err := p.pause(); err != nil {
		return nil, err
	}
	return p.Reader.ReadPoints(ctx, id, sweep, ns)
}

// Close has the sums forgotten: nobody goes on with them.
func (c *checker) Close() {
	if c.gone != nil {
		c.gone()
	}
}

// halting marks the errors after which a run must not go on.
func halting(err error) error {
	var miss *aggregator.MismatchError
	var rot *aggregator.CorruptError
	var lack *aggregator.LackError
	if errors.As(err, &miss) || errors.As(err, &rot) || errors.As(err, &lack) {
		return &jobs.HaltError{Err: err}
	}
	return err
}

// Finish returns the encoded result once all sweeps are folded to their end.
func (c *checker) Finish(ctx context.Context, ledgers map[string]*jobs.Ledger) ([]byte, error) {
	for _, s := range c.run.Sweeps {
		if err := c.Advance(ctx, s.Name, ledgers[s.Name]); err != nil {
			return nil, err
		}
		if f := c.folds[s.Name]; !f.Complete() {
			return nil, fmt.Errorf("sweep %s: the ledger is full but the fold is not", s.Name)
		}
	}
	r := c.partial()
	r.Complete = true
	r.ElapsedMs = time.Now().UnixMilli() - c.run.CreatedMs
	if c.spent != nil {
		timeSweeps(&r, c.spent(ctx, c.run.ID))
	}
	return r.Encode(), nil
}

// partial returns what is known so far.
func (c *checker) partial() aggregator.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := aggregator.Result{Format: aggregator.ResultFormat, Run: c.run.ID.Name, Epoch: c.run.ID.Epoch, Number: c.run.Number, Rev: c.run.Rev}
	for _, s := range c.run.Sweeps {
		if got, ok := c.results[s.Name]; ok {
			r.Sweeps = append(r.Sweeps, got)
		} else {
			r.Sweeps = append(r.Sweeps, aggregator.NewFold(c.run.ID, s).Result())
		}
	}
	return r
}
