package engine

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// MaxN is the largest n that any engine may accept. Ranges are half-open
// [Lo, Hi) in int64, so Hi = MaxN+1 is far from the end of the type and sums
// of a few such numbers cannot wrap.
const MaxN = int64(1_000_000_000_000_000_000)

// Params are an engine's named integer parameters, in canonical form once
// [Engine.Resolve] has filled in the defaults. They are part of the identity of
// every stored value.
type Params map[string]int64

// String returns the parameters as "a=1 b=2" in the order of their names.
func (p Params) String() string {
	names := make([]string, 0, len(p))
	for k := range p {
		names = append(names, k)
	}
	sort.Strings(names)
	var b strings.Builder
	for i, k := range names {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%d", k, p[k])
	}
	return b.String()
}

// Param documents one parameter.
type Param struct {
	Name    string
	Default int64
	Doc     string
}

// Algorithm documents one way to compute the function.
type Algorithm struct {
	Name string
	Doc  string
	// Reach is the largest n that the algorithm accepts.
	Reach int64
}

// Info is the fixed description of an engine.
type Info struct {
	// Name is how experiments and queues call the engine.
	Name string
	// Version is the value version. It is raised only when a value can differ
	// from what an earlier version stored, never for speed.
	Version int
	// Doc says in one line what the function is.
	Doc string
	// Symbol is how the function is written, such as "M(n)".
	Symbol     string
	Params     []Param
	Algorithms []Algorithm
	Grid       Grid
	// Probe is a work of roughly 20 ms. Its measured time divided by its Cost
	// calibrates the cost model to a machine.
	Probe Work
}

// Algorithm returns the description of the named algorithm.
func (i Info) Algorithm(name string) (Algorithm, bool) {
	k := slices.IndexFunc(i.Algorithms, func(a Algorithm) bool { return a.Name == name })
	if k < 0 {
		return Algorithm{}, false
	}
	return i.Algorithms[k], true
}

// AlgorithmNames returns the names of all algorithms, in the engine's order.
func (i Info) AlgorithmNames() []string {
	names := make([]string, len(i.Algorithms))
	for k, a := range i.Algorithms {
		names[k] = a.Name
	}
	return names
}

// Queue is the name of the queue whose workers can compute this engine's
// values: "name@version".
func (i Info) Queue() string { return fmt.Sprintf("%s@%d", i.Name, i.Version) }

// Work is what is to be computed: the values at n in [Lo, Hi), 1 ≤ Lo < Hi.
type Work struct {
	// Algorithm names one of Info.Algorithms, or is empty for the engine's
	// choice by the shape of the range.
	Algorithm string
	Params    Params
	Lo, Hi    int64
}

// Len returns the number of n in the work.
func (w Work) Len() int64 { return w.Hi - w.Lo }

// Cost is an estimate in nanoseconds of one core of the reference machine.
// Start is paid once for a work, Run is the sum over its n.
type Cost struct {
	Start, Run float64
}

// Total returns Start + Run.
func (c Cost) Total() float64 { return c.Start + c.Run }

// Piece is the values at n = Lo, Lo+1, …; exactly one of Narrow and Wide is
// set. Its slices belong to the engine and are valid only during Emit.
type Piece struct {
	Lo     int64
	Narrow []int64
	Wide   []Int128
}

// Len returns the number of values.
func (p Piece) Len() int { return len(p.Narrow) + len(p.Wide) }

// At returns value i of the piece, 0 ≤ i < Len.
func (p Piece) At(i int) Int128 {
	if p.Wide != nil {
		return p.Wide[i]
	}
	return Int128From(p.Narrow[i])
}

// Slice returns the piece's values [i, j).
func (p Piece) Slice(i, j int) Piece {
	q := Piece{Lo: p.Lo + int64(i)}
	if p.Wide != nil {
		q.Wide = p.Wide[i:j]
	} else {
		q.Narrow = p.Narrow[i:j]
	}
	return q
}

// Sink receives what a computation produces. Only Emit is required. All its
// functions are called from the goroutine that called Compute.
type Sink struct {
	// Emit takes the next values. An error from it ends the computation and
	// is returned by Compute as it is.
	Emit func(Piece) error
	// Progress reports the fraction of the work that is done, in [0, 1], at
	// least once a second where the engine works long on one value.
	Progress func(fraction float64)
	// Load returns a state that Save was given for the same work earlier, or
	// nil. The engine checks it and starts anew when it does not fit.
	Load func() []byte
	// Save offers a state from which the computation can go on. The engine
	// calls it at moments when the state is small; the caller decides what to
	// keep.
	Save func(state []byte)
	// Warn takes one line about something the user should know, such as a
	// damaged saved state that was discarded.
	Warn func(msg string)
}

// Engine evaluates one function of n. Implementations are safe for concurrent
// use.
type Engine interface {
	Info() Info
	// Resolve checks the work and returns it with the algorithm and all
	// parameters filled in. The error says what is wrong and what would be
	// right; it is a *LimitError when the range is beyond the reach.
	Resolve(Work) (Work, error)
	// Cost estimates a resolved work.
	Cost(Work) Cost
	// Compute evaluates a resolved work. It emits every n of [Lo, Hi) once, in
	// order, in pieces of at most 65536 values, looks at ctx at least every
	// 50 ms and returns ctx's error when it ends.
	Compute(context.Context, Work, Sink) error
	// SelfTest recomputes a few values that are known beforehand, in less than
	// a second, and returns an error that names the first difference.
	SelfTest(context.Context) error
}

// Fact is one named result beside the value, such as a stopping group.
type Fact struct {
	Name, Value string
}

// Detailer is an engine that can explain how it computed a single n.
type Detailer interface {
	// Detail returns the value at w.Lo and facts about its computation. progress,
	// which may be nil, is told like the one of a Sink.
	Detail(ctx context.Context, w Work, progress func(fraction float64)) (Int128, []Fact, error)
}

// LimitError reports an n beyond what an algorithm can do.
type LimitError struct {
	Engine, Algorithm string
	N, Reach          int64
	// Hint names what would do, or is empty.
	Hint string
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("%s: algorithm %s reaches n = %d, not %d", e.Engine, e.Algorithm, e.Reach, e.N)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// ResolveBasics does the part of Resolve that is the same for all engines: it
// checks the range, that the algorithm is known (or empty, when choose picks
// one) and reaches Hi−1, and fills in parameters. Only the default value of a
// parameter is accepted unless allow says otherwise.
func ResolveBasics(info Info, w Work, choose func(Work) string, allow func(name string, value int64) error) (Work, error) {
	if w.Lo < 1 || w.Hi <= w.Lo {
		return w, fmt.Errorf("%s: range %d…%d is empty or starts below 1", info.Name, w.Lo, w.Hi-1)
	}
	params := Params{}
	for _, p := range info.Params {
		params[p.Name] = p.Default
	}
	for name, v := range w.Params {
		def, known := params[name]
		if !known {
			return w, fmt.Errorf("%s: unknown parameter %q, want %s", info.Name, name, paramNames(info))
		}
		if v != def {
			if allow == nil {
				return w, fmt.Errorf("%s: parameter %s is %d, only %d is supported", info.Name, name, v, def)
			}
			if err := allow(name, v); err != nil {
				return w, fmt.Errorf("%s: parameter %s: %w", info.Name, name, err)
			}
		}
		params[name] = v
	}
	w.Params = params
	if w.Algorithm == "" {
		w.Algorithm = choose(w)
	}
	a, ok := info.Algorithm(w.Algorithm)
	if !ok {
		return w, fmt.Errorf("%s: unknown algorithm %q, want one of %s", info.Name, w.Algorithm, strings.Join(info.AlgorithmNames(), ", "))
	}
	if w.Hi-1 > a.Reach {
		e := &LimitError{Engine: info.Name, Algorithm: a.Name, N: w.Hi - 1, Reach: a.Reach}
		for _, b := range info.Algorithms {
			if b.Reach >= w.Hi-1 {
				e.Hint = "algorithm " + b.Name + " reaches " + fmt.Sprint(b.Reach)
				break
			}
		}
		return w, e
	}
	return w, nil
}

func paramNames(info Info) string {
	if len(info.Params) == 0 {
		return "none"
	}
	names := make([]string, len(info.Params))
	for i, p := range info.Params {
		names[i] = p.Name
	}
	return "one of " + strings.Join(names, ", ")
}
