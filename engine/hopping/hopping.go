package hopping

import (
	"context"
	"fmt"
	"sync"

	"github.com/nsweep/nsweep/engine"
)

// method is one algorithm: its description, its cost and its solvers.
type method struct {
	engine.Algorithm
	// unit names what result.work counts.
	unit string
	// cost estimates one value in nanoseconds on the reference machine.
	cost func(n float64) float64
	// solvers keeps solvers with their scratch memory between computations.
	solvers *sync.Pool
	// exact, if not nil, makes solvers that always find the stopping group, at
	// some cost.
	exact *sync.Pool
}

type game struct {
	info    engine.Info
	methods map[string]*method
	fastest string
	// buffers keeps the slices that pieces are emitted from.
	buffers sync.Pool
}

var (
	_ engine.Engine   = (*game)(nil)
	_ engine.Detailer = (*game)(nil)
)

// New returns the engine of the hopping game's M(n). Its algorithms are
//
//	labels   win or loss for each of the 2^(n+1) − 1 positions, n ≤ 20
//	grundy   Sprague–Grundy values of the same positions, n ≤ 20
//	walk     the walk of 2^(n+1) − 1 steps, n ≤ 28
//	table    the recursion on groups of full tables, (n+1)·t(t+1)/2 updates
//	classes  the recursion on classes of slacks, 8·n to 10·n evaluations; default
//
// and all agree wherever two of them reach.
func New() engine.Engine {
	g := &game{methods: map[string]*method{}, fastest: "classes"}
	g.info = engine.Info{
		Name:    "hopping",
		Version: 1,
		Doc:     "highest winning opening move of the hopping game on the sums of binary weights, 0 if none",
		Symbol:  "M(n)",
		Params:  []engine.Param{{Name: "base", Default: 2, Doc: "number base of the digit sums"}},
		Grid: engine.Grid{
			Version: 1,
			Bands:   []engine.Band{{Upto: 1_000_000, Cell: 50}, {Upto: 10_000_000, Cell: 10}, {Upto: engine.MaxN, Cell: 1}},
			// Values are at most n, and every reach is below 2^31.
			Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 4}},
		},
	}
	for _, m := range methods() {
		g.info.Algorithms = append(g.info.Algorithms, m.Algorithm)
		g.methods[m.Name] = m
	}
	g.info.Probe = g.must(engine.Work{Lo: 1500, Hi: 3000})
	g.buffers.New = func() any { return new([pieceLen]int64) }
	return g
}

// must resolves a work that is known to be valid.
func (g *game) must(w engine.Work) engine.Work {
	w, err := g.Resolve(w)
	if err != nil {
		panic(err)
	}
	return w
}

func methods() []*method {
	pool := func(f func() solver) *sync.Pool { return &sync.Pool{New: func() any { return f() }} }
	return []*method{
		{
			Algorithm: engine.Algorithm{Name: "labels", Doc: "win or loss for every position, by the rule of the game", Reach: plainReach},
			unit:      "positions", cost: labelsCost, solvers: pool(func() solver { return new(labels) }),
		},
		{
			Algorithm: engine.Algorithm{Name: "grundy", Doc: "Sprague–Grundy value of every position", Reach: plainReach},
			unit:      "positions", cost: grundyCost, solvers: pool(func() solver { return new(grundy) }),
		},
		{
			Algorithm: engine.Algorithm{Name: "walk", Doc: "distance to the next losing value, position by position", Reach: walkReach},
			unit:      "steps", cost: walkCost, solvers: pool(func() solver { return walk{} }),
		},
		{
			Algorithm: engine.Algorithm{Name: "table", Doc: "recursion on groups of full tables", Reach: tableReach},
			unit:      "updates", cost: tableCost, solvers: pool(func() solver { return new(table) }),
		},
		{
			Algorithm: engine.Algorithm{Name: "classes", Doc: "recursion on groups by the step at which a walk first resets", Reach: classesReach},
			unit:      "evaluations", cost: classesCost, solvers: pool(func() solver { return newClasses() }),
			exact: pool(func() solver { return newExactClasses() }),
		},
	}
}

// Info returns the engine's description.
func (g *game) Info() engine.Info { return g.info }

// Resolve fills in the algorithm and the parameter base, of which only 2 is
// known.
func (g *game) Resolve(w engine.Work) (engine.Work, error) {
	return engine.ResolveBasics(g.info, w, func(engine.Work) string { return g.fastest }, nil)
}

// Cost estimates a resolved work. There is no start cost: every value is
// computed by itself.
func (g *game) Cost(w engine.Work) engine.Cost {
	return engine.Cost{Run: sumCost(g.methods[w.Algorithm].cost, w.Lo, w.Hi)}
}

const (
	// pieceLen is the most values in one piece.
	pieceLen = 4096
	// pieceCost is the estimated work after which a shorter piece is emitted,
	// in nanoseconds: dear values reach the caller some ten times a second.
	pieceCost = 1e8
)

// Compute emits M(n) for lo ≤ n < hi. Once its scratch memory has grown to the
// largest n it allocates nothing more for each n.
func (g *game) Compute(ctx context.Context, w engine.Work, sink engine.Sink) error {
	m := g.methods[w.Algorithm]
	sv := m.solvers.Get().(solver)
	defer m.solvers.Put(sv)
	buf := g.buffers.Get().(*[pieceLen]int64)
	defer g.buffers.Put(buf)

	p := newPoller(ctx)
	total, done, since, cost := g.Cost(w).Run, 0.0, 0.0, 0.0
	within := func(f float64) { sink.Progress(min((done+f*cost)/total, 1)) }
	k := 0
	for n := w.Lo; n < w.Hi; n++ {
		cost = m.cost(float64(n))
		if sink.Progress != nil && cost > pieceCost/10 {
			p.within = within
		}
		r, err := sv.solve(int(n), p)
		if err != nil {
			return err
		}
		buf[k] = int64(r.value)
		k++
		done += cost
		since += cost
		if k < pieceLen && since < pieceCost && n+1 < w.Hi {
			continue
		}
		if err := sink.Emit(engine.Piece{Lo: n + 1 - int64(k), Narrow: buf[:k]}); err != nil {
			return err
		}
		k, since = 0, 0
		if sink.Progress != nil {
			sink.Progress(min(done/total, 1))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Detail returns M(w.Lo), the stopping group where the algorithm has groups,
// and how much work the value took. Where that work leaves the group unknown
// it is found by more, which is not counted.
func (g *game) Detail(ctx context.Context, w engine.Work, progress func(float64)) (engine.Int128, []engine.Fact, error) {
	m := g.methods[w.Algorithm]
	sv := m.solvers.Get().(solver)
	defer m.solvers.Put(sv)
	p := newPoller(ctx)
	p.within = progress
	r, err := sv.solve(int(w.Lo), p)
	if err == nil && r.group == 0 && m.exact != nil {
		exact := m.exact.Get().(solver)
		defer m.exact.Put(exact)
		var e result
		e, err = exact.solve(int(w.Lo), newPoller(ctx))
		r.group = e.group
	}
	if err != nil {
		return engine.Int128{}, nil, err
	}
	var facts []engine.Fact
	if r.group > 0 {
		facts = append(facts, engine.Fact{Name: "stopping group", Value: fmt.Sprint(r.group)})
	}
	facts = append(facts, engine.Fact{Name: m.unit, Value: fmt.Sprint(r.work)})
	return engine.Int128From(int64(r.value)), facts, nil
}
