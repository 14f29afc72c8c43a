package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSeats: never more than there are, all for one that asks for all, and in
// the order of asking.
func TestSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(3)
		var used, worst atomic.Int64
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 12 {
			n := s.want(i%4 == 3)
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // they ask in this order
				if err := s.take(t.Context(), n); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				now := used.Add(int64(n))
				worst.Store(max(worst.Load(), now))
				time.Sleep(time.Second)
				used.Add(-int64(n))
				s.give(n)
			})
		}
		begin := time.Now()
		all.Wait()
		// Three at a time, then one alone, three times over.
		if took := time.Since(begin); took < 6*time.Second || took > 6100*time.Millisecond {
			t.Errorf("took %s, want six rounds of a second", took)
		}
		if worst.Load() != 3 {
			t.Errorf("%d seats were taken at once, there are 3", worst.Load())
		}
		for i := range 3 {
			if order[4*i+3] != 4*i+3 {
				t.Errorf("order %v: a task that needs all seats was overtaken", order)
			}
		}
	})
}

// TestSeatsGivenUp: whoever stops waiting takes no seat and keeps nobody.
func TestSeatsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(2)
		if !s.try(1) || s.try(2) {
			t.Fatal("one seat of two is free")
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- s.take(ctx, 2) }()
		synctest.Wait()
		got := make(chan error, 1)
		go func() { got <- s.take(t.Context(), 1) }()
		synctest.Wait()
		if s.try(1) || len(got) > 0 {
			t.Fatal("somebody overtook the one in line")
		}
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("take gives %v", err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		s.give(1)
		s.give(1)
		if !s.try(2) {
			t.Error("a seat is lost")
		}
	})
}
