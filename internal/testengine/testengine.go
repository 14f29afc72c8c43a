// Package testengine is an engine for tests: its values cost nothing, its
// parameters and value version can be changed, and it can be told to be slow,
// deaf, wrong or deadly at one n. Release builds do not contain it.
//
// Package testengine imports engine.
package testengine

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/nsweep/nsweep/engine"
)

// Options change what the engine is and how it behaves.
type Options struct {
	// Version is the value version, 1 when 0.
	Version int
	// Cell is the cell size, 50 when 0.
	Cell int64
	// PerCell is how long 50 values take.
	PerCell time.Duration
	// Hurry is a file: once it is there, values take no time any more. A test
	// makes a run last for as long as it needs, however slow the machine is.
	Hurry string
	// Deaf makes it ignore its context.
	Deaf bool
	// FailAt, PanicAt and KillAt are the n at which it returns an error, panics,
	// or kills its process; 0 for none.
	FailAt, PanicAt, KillAt int64
	// FailEvery makes every so manieth n fail.
	FailEvery int64
	// Ballast is how many bytes of memory it holds and has touched.
	Ballast int64
	// WrongEvery makes every so manieth value wrong.
	WrongEvery int64
	// Unfit makes its self-test fail.
	Unfit bool
}

// Beyond prompt no 50 values take longer than promptDelay, so that calibration
// does not wait for an engine that was told to be very slow.
const (
	prompt      = 999_999_000
	promptDelay = 20 * time.Millisecond
)

// Engine is the test engine, called "toy".
type Engine struct {
	o       Options
	ballast []byte
}

// New returns the engine.
func New(o Options) *Engine {
	if o.Version == 0 {
		o.Version = 1
	}
	if o.Cell == 0 {
		o.Cell = 50
	}
	e := &Engine{o: o, ballast: make([]byte, o.Ballast)}
	for i := 0; i < len(e.ballast); i += 1024 {
		e.ballast[i] = 1 // a page that was never written is not in RAM
	}
	return e
}

// Value is f(n) = (7n² + 3n) mod 1000003 times the parameter factor. For n up
// to 10^9 and |factor| up to 10^6 nothing overflows: 7n² + 3n < 2^63.
func Value(n, factor int64) int64 { return (7*n*n + 3*n) % 1_000_003 * factor }

// Info describes the engine.
func (e *Engine) Info() engine.Info {
	return engine.Info{
		Name: "toy", Version: e.o.Version, Doc: "a test engine", Symbol: "f(n)",
		Params:     []engine.Param{{Name: "factor", Default: 1, Doc: "multiplies every value"}},
		Algorithms: []engine.Algorithm{{Name: "plain", Doc: "the formula", Reach: 1_000_000_000}, {Name: "again", Doc: "the same", Reach: 1_000_000_000}},
		Grid: engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: e.o.Cell}},
			Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 8}}},
		Probe: engine.Work{Lo: prompt + 1, Hi: prompt + 51},
	}
}

// Resolve accepts any factor up to a million.
func (e *Engine) Resolve(w engine.Work) (engine.Work, error) {
	return engine.ResolveBasics(e.Info(), w, func(engine.Work) string { return "plain" }, func(_ string, v int64) error {
		if v < -1_000_000 || v > 1_000_000 {
			return fmt.Errorf("is %d, want at most a million", v)
		}
		return nil
	})
}

// Cost is exact, also beyond prompt, so that the calibration finds 1 and tasks
// are cut by their true time.
func (e *Engine) Cost(w engine.Work) engine.Cost {
	return engine.Cost{Run: float64(w.Len()) * max(10, float64(e.perCell(w.Lo).Nanoseconds())/50)}
}

// perCell is how long 50 values from n on take.
func (e *Engine) perCell(n int64) time.Duration {
	if n > prompt {
		return min(e.o.PerCell, promptDelay)
	}
	return e.o.PerCell
}

// Compute emits the values in pieces of up to 50.
func (e *Engine) Compute(ctx context.Context, w engine.Work, s engine.Sink) error {
	buf := make([]int64, 0, 50)
	for n := w.Lo; n < w.Hi; {
		buf = buf[:0]
		lo := n
		for ; n < w.Hi && len(buf) < cap(buf); n++ {
			switch n {
			case e.o.FailAt:
				return fmt.Errorf("told to fail at n = %d", n)
			case e.o.PanicAt:
				panic(fmt.Sprintf("told to panic at n = %d", n))
			case e.o.KillAt:
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			if e.o.FailEvery > 0 && n <= prompt && n%e.o.FailEvery == 0 {
				return fmt.Errorf("told to fail at n = %d", n)
			}
			v := Value(n, w.Params["factor"])
			if e.o.WrongEvery > 0 && n%e.o.WrongEvery == 0 {
				v++
			}
			buf = append(buf, v)
		}
		e.pause(ctx, e.perCell(lo)*time.Duration(len(buf))/50)
		if !e.o.Deaf && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.Emit(engine.Piece{Lo: lo, Narrow: buf}); err != nil && !e.o.Deaf {
			return err
		}
		if s.Progress != nil {
			s.Progress(float64(n-w.Lo) / float64(w.Len()))
		}
	}
	return nil
}

// hurryLook is the pace of looking for the file Hurry.
const hurryLook = 20 * time.Millisecond

// pause lets a duration pass, until ctx ends unless the engine is deaf, or there
// is reason to hurry.
func (e *Engine) pause(ctx context.Context, d time.Duration) {
	done := ctx.Done()
	if e.o.Deaf {
		done = nil
	}
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if e.o.Hurry != "" {
			if _, err := os.Stat(e.o.Hurry); err == nil {
				return
			}
			left = min(left, hurryLook)
		}
		if left <= 0 {
			return
		}
		t := time.NewTimer(left)
		select {
		case <-done:
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// SelfTest passes, unless the engine is unfit or the ballast was lost.
func (e *Engine) SelfTest(context.Context) error {
	if e.o.Unfit {
		return fmt.Errorf("told to be unfit")
	}
	if int64(len(e.ballast)) != e.o.Ballast {
		return fmt.Errorf("the ballast has %d bytes", len(e.ballast))
	}
	return nil
}
