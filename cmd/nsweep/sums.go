package main

import (
	"sync"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
)

// sums are the checkers of the runs that this process leads, so that a page in
// the same process need not sum up what they have. The zero value has none.
type sums struct {
	mu sync.Mutex
	by map[jobs.RunID]*checker
}

// add takes a checker in until it is closed.
func (s *sums) add(c *checker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[jobs.RunID]*checker{}
	}
	s.by[c.run.ID] = c
	c.gone = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.by[c.run.ID] == c {
			delete(s.by, c.run.ID)
		}
	}
}

// partial returns what is summed up of a run, if this process leads it.
func (s *sums) partial(id jobs.RunID) (aggregator.Result, bool) {
	s.mu.Lock()
	c := s.by[id]
	s.mu.Unlock()
	if c == nil {
		return aggregator.Result{}, false
	}
	return c.partial(), true
}
