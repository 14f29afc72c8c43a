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

// Advance folds on. What can never come right again halts the run.
func (c *checker) Advance(ctx context.Context, sweep string, l *jobs.Ledger) error {
	f := c.folds[sweep]
	if f == nil {
		return nil
	}
	err := f.Advance(ctx, c.reader, l)
	c.mu.Lock()
	c.results[sweep] = f.Result()
	c.mu.Unlock()
	return halting(err)
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
