package worker

import (
	"context"
	"sync"
)

// seats limits what computes at a time: a task takes one seat, a task that must
// be alone takes all. asynq keeps to the number of slots as well, but it frees
// a slot whose lease it lost while the task still computes. Whoever comes first
// is seated first, so a task that needs all seats is not starved.
type seats struct {
	mu    sync.Mutex
	total int
	free  int
	queue []*waiting
}

// waiting is one task in line.
type waiting struct {
	want   int
	seated chan struct{}
}

func newSeats(total int) *seats { return &seats{total: total, free: total} }

// want returns how many seats a task takes.
func (s *seats) want(alone bool) int {
	if alone {
		return s.total
	}
	return 1
}

// try takes seats if they are free and nobody is in line.
func (s *seats) try(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 || s.free < n {
		return false
	}
	s.free -= n
	return true
}

// take waits for seats. On an error, that of ctx, it has none.
func (s *seats) take(ctx context.Context, n int) error {
	if s.try(n) {
		return nil
	}
	w := &waiting{n, make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, w)
	s.seat()
	s.mu.Unlock()
	select {
	case <-w.seated:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.seated: // in the last moment
		s.free += n
	default:
		for i, x := range s.queue {
			if x == w {
				s.queue = append(s.queue[:i], s.queue[i+1:]...)
				break
			}
		}
	}
	s.seat()
	return ctx.Err()
}

// give returns seats.
func (s *seats) give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	s.seat()
}

// seat lets those in line take what is free. The caller holds the lock.
func (s *seats) seat() {
	for len(s.queue) > 0 && s.queue[0].want <= s.free {
		s.free -= s.queue[0].want
		close(s.queue[0].seated)
		s.queue = s.queue[1:]
	}
}
