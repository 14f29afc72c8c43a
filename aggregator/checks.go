package aggregator

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// check is a checkpoint and what was found; got is nil while it is pending.
type check struct {
	jobs.Checkpoint
	got *big.Int
}

func (c *check) status() Status {
	switch {
	case c.got == nil:
		return Pending
	case c.got.Cmp(c.Want) == 0:
		return OK
	}
	return Mismatch
}

// checklist holds the checkpoints of a sweep.
type checklist struct {
	all    []*check // as in the sweep
	order  []*check // rising by N
	next   int      // the first of order that the fold has not passed
	early  []*check // value checks, rising, not yet found out of order
	failed []*check // mismatches not yet reported
}

func newChecklist(s jobs.Sweep) (checklist, error) {
	var l checklist
	for _, c := range s.Checkpoints {
		k := &check{Checkpoint: c}
		switch {
		case c.Want == nil:
			return l, fmt.Errorf("sweep %s: checkpoint without a number: %s", s.Name, c)
		case c.Power < 0 || c.Power > jobs.MaxPower:
			return l, fmt.Errorf("sweep %s: checkpoint with power %d, want 0 to %d", s.Name, c.Power, jobs.MaxPower)
		case c.Power == 0 && !s.Set.Contains(c.N):
			return l, fmt.Errorf("sweep %s: checkpoint at n = %d, which is not in %s", s.Name, c.N, s.Set)
		case c.Power == 0:
			l.early = append(l.early, k)
		}
		l.all = append(l.all, k)
	}
	byN := func(a, b *check) int {
		switch {
		case a.N < b.N:
			return -1
		case a.N > b.N:
			return 1
		}
		return 0
	}
	l.order = slices.Clone(l.all)
	slices.SortStableFunc(l.order, byN)
	slices.SortStableFunc(l.early, byN)
	return l, nil
}

// stop returns the n of the next checkpoint that the fold meets, or MaxN+1.
func (l *checklist) stop() int64 {
	if l.next < len(l.order) {
		return l.order[l.next].N
	}
	return engine.MaxN + 1
}

// found notes what a checkpoint turned out to be. A mismatch is queued to be
// reported, once for the same number.
func (l *checklist) found(c *check, got *big.Int) {
	again := c.got != nil && c.got.Cmp(got) == 0
	c.got = got
	if !again && c.status() == Mismatch {
		l.failed = append(l.failed, c)
	}
}

// take returns the next unreported mismatch as an error, or nil.
func (l *checklist) take(sweep string) error {
	if len(l.failed) == 0 {
		return nil
	}
	c := l.failed[0]
	l.failed = l.failed[1:]
	return &MismatchError{Sweep: sweep, Checkpoint: c.Checkpoint, Got: new(big.Int).Set(c.got)}
}
