package aggregator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nsweep/nsweep/jobs"
)

// Checker folds the sweeps of one run while it is going on, and tells when it
// must be halted. Advance and Finish are called from one goroutine at a time;
// Result may be called from any.
type Checker struct {
	r     Reader
	m     jobs.Manifest
	folds []*Fold
	byKey map[string]int

	mu   sync.Mutex
	last Result
}

// NewChecker returns a checker that has looked at nothing yet.
func NewChecker(r Reader, m jobs.Manifest) *Checker {
	c := &Checker{r: r, m: m, byKey: map[string]int{}}
	for i, s := range m.Sweeps {
		c.folds = append(c.folds, NewFold(m.ID, s))
		c.byKey[s.Name] = i
	}
	c.last = collect(m, c.folds)
	return c
}

// Advance folds a sweep on with a newer ledger. It returns a *[jobs.HaltError]
// for a checkpoint that is not met and for stored bytes that are damaged, also
// when they are read a second time; other errors may pass.
func (c *Checker) Advance(ctx context.Context, sweep string, l *jobs.Ledger) error {
	i, ok := c.byKey[sweep]
	if !ok {
		return fmt.Errorf("run %s has no sweep %q", c.m.ID.Name, sweep)
	}
	f := c.folds[i]
	before := f.done
	err := f.Advance(ctx, c.r, l)
	var (
		mismatch *MismatchError
		corrupt  *CorruptError
		lack     *LackError
	)
	if errors.As(err, &corrupt) {
		err = f.Advance(ctx, c.r, l)
	}
	if errors.As(err, &mismatch) || errors.As(err, &corrupt) || errors.As(err, &lack) {
		err = &jobs.HaltError{Err: err}
	}
	if err != nil || f.done != before {
		c.update(i)
	}
	return err
}

// Finish folds what is left and returns the encoded result. It fails with a
// *[GapError] when the ledgers, which go by the sweeps' names, are not complete,
// and otherwise as Advance does.
func (c *Checker) Finish(ctx context.Context, ledgers map[string]*jobs.Ledger) ([]byte, error) {
	for i, s := range c.m.Sweeps {
		if err := checkTiling(s); err != nil {
			return nil, err
		}
		l := ledgers[s.Name]
		if l == nil {
			l = jobs.NewLedger(s.Cells())
		}
		if err := c.Advance(ctx, s.Name, l); err != nil {
			return nil, err
		}
		if !c.folds[i].Complete() {
			return nil, gap(s, l)
		}
	}
	return c.Result().Encode(), nil
}

// Restart forgets what was folded of a sweep. It must be called when stored
// values that may have been folded were replaced.
func (c *Checker) Restart(sweep string) {
	if i, ok := c.byKey[sweep]; ok {
		c.folds[i] = NewFold(c.m.ID, c.m.Sweeps[i])
		c.update(i)
	}
}

// Result returns what was known after the last Advance. The caller must not
// change its slices.
func (c *Checker) Result() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *Checker) update(i int) {
	s := c.folds[i].Result()
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.last
	next.Sweeps = append([]SweepResult(nil), next.Sweeps...)
	next.Sweeps[i] = s
	next.Complete = true
	for _, s := range next.Sweeps {
		next.Complete = next.Complete && s.Complete
	}
	c.last = next
}
