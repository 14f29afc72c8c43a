package web

import (
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// costs estimates what is left by the engines' own models, in nanoseconds of
// the reference machine; how fast this or another machine is cancels out when
// the time left follows from the pace.
type costs struct{ reg *engine.Registry }

// of estimates the values at n in [lo, hi). Where the engine is unknown or
// cannot say, each n counts the same.
func (c costs) of(s jobs.Sweep, lo, hi int64) float64 {
	if c.reg != nil {
		if e, err := c.reg.Get(s.Engine); err == nil {
			if w, err := e.Resolve(engine.Work{Algorithm: s.Algorithm, Params: s.Params, Lo: lo, Hi: hi}); err == nil {
				if t := e.Cost(w).Total(); t > 0 {
					return t
				}
			}
		}
	}
	return 1e6 * float64(hi-lo)
}

// whole estimates a sweep from nothing.
func (c costs) whole(s jobs.Sweep) float64 {
	t := 0.0
	if s.Set.Dense() {
		t = c.of(s, s.Set.Lo, s.Set.Hi)
	}
	for _, n := range s.Set.Points {
		t += c.of(s, n, n+1)
	}
	return t
}

// open estimates what the ledger has open.
func (c costs) open(l layout, led *jobs.Ledger) float64 {
	t := 0.0
	from, to := l.dense()
	l.stretches(led, 0, l.count(), false, func(a, b int64) {
		lo, _ := l.ns(a)
		hi := lo + 1
		if a >= from && a < to {
			_, hi = l.ns(b - 1)
		}
		t += c.of(l.s, lo, hi)
	})
	return t
}

// begun estimates what running tasks have computed of points that are not
// finished: a point shows in the ledger only when it is.
func (c costs) begun(l layout, led *jobs.Ledger, tasks []TaskView) float64 {
	t := 0.0
	for _, k := range tasks {
		if k.Sweep != l.s.Name || len(k.Points) == 0 || k.Waiting {
			continue
		}
		did := k.Fraction * float64(len(k.Points))
		for i, n := range k.Points {
			if f := min(1, did-float64(i)); f > 0 && !led.PointDone(n) {
				t += f * c.of(l.s, n, n+1)
			}
		}
	}
	return t
}

// symbol is how the sweep's function is written, "f(n)" when that is unknown.
func (c costs) symbol(s jobs.Sweep) string {
	if c.reg != nil {
		if e, err := c.reg.Get(s.Engine); err == nil && e.Info().Symbol != "" {
			return e.Info().Symbol
		}
	}
	return "f(n)"
}
