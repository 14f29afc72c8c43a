package hopping

import "context"

// solver is one algorithm with its scratch memory. It serves one goroutine.
type solver interface {
	// solve returns M(n) for 1 ≤ n ≤ the algorithm's reach, or the context's
	// error when p reports it.
	solve(n int, p *poller) (result, error)
}

// result is M(n) and how it was found.
type result struct {
	value int
	// group is the stopping group t(n), 0 for algorithms without groups and where
	// late columns leave it unknown.
	group int
	// work counts the algorithm's own unit: positions, steps, updates or
	// evaluations.
	work int64
}

// pollUnits is how many units of work pass between two looks at the context.
// A unit is at most a few nanoseconds, so that is every few milliseconds.
const pollUnits = 1 << 20

// poller looks at a context from time to time.
type poller struct {
	ctx  context.Context
	left int
	// within, if not nil, is told the fraction of the value in work that is
	// done whenever a solver knows it.
	within func(fraction float64)
}

func newPoller(ctx context.Context) *poller { return &poller{ctx: ctx, left: pollUnits} }

// spend counts units of work done and returns the context's error if it is time
// to look and the context has ended.
func (p *poller) spend(units int) error {
	if p.left -= units; p.left > 0 {
		return nil
	}
	p.left = pollUnits
	return p.ctx.Err()
}

// grow returns s with length n, allocating when its capacity is too small. The
// contents are unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]T, n)
}
