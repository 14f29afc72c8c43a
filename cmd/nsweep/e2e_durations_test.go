package main

import (
	"slices"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/engine/bezout"
	"github.com/nsweep/nsweep/engine/hopping"
)

const durationsYAML = `name: durations
sweeps:
  - {name: hopping, engine: hopping, n: {from: 1, to: 20_000}}
  - {name: bezout, engine: bezout, n: {from: 1, to: 100_000_000}, keep: sums}
`

// spread is the median of a sweep's task durations and how far they lie apart.
type spread struct {
	tasks          int
	median         time.Duration
	took, perCosts float64 // p95/p5 of the durations, and of duration by cost
}

// spreadOf reads how long the tasks of a sweep took beside what they are
// estimated to cost. Towards its end a sweep is cut into ever smaller tasks, so
// that it is the second that tells how true the estimates are.
func spreadOf(t *testing.T, p provenance, sweep string, eng engine.Engine) spread {
	t.Helper()
	var took, per []float64
	for _, x := range p.Tasks {
		if x.Sweep != sweep {
			continue
		}
		w, err := eng.Resolve(engine.Work{Algorithm: x.Algorithm, Lo: int64(x.Lo), Hi: int64(x.Hi)})
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, float64(x.TookMs))
		per = append(per, float64(x.TookMs)/eng.Cost(w).Total())
	}
	n := len(took)
	if n < 5 {
		t.Fatalf("sweep %s: %d tasks", sweep, n)
	}
	slices.Sort(took)
	slices.Sort(per)
	ratio := func(v []float64) float64 { return v[n*95/100] / max(v[n*5/100], 1e-12) }
	return spread{n, time.Duration(took[n/2] * 1e6), ratio(took), ratio(per)}
}

// TestTaskDurations runs both engines over ranges on one core and holds how long
// tasks took, by what they were estimated to cost, to a factor of 2. The least
// of some runs counts: other work on the machine stretches single tasks.
func TestTaskDurations(t *testing.T) {
	if !soak() {
		t.Skip("measures time: set NSWEEP_SOAK=1")
	}
	engines := map[string]engine.Engine{"hopping": hopping.New(), "bezout": bezout.New()}
	best := map[string]spread{}
	worst := func() float64 { return max(best["hopping"].perCosts, best["bezout"].perCosts) }
	for round := 0; round == 0 || round < 10 && worst() > 2; round++ {
		dir := t.TempDir()
		write(t, dir, "durations.yaml", durationsYAML)
		call(t, dir, nil, codeDone, "run", "durations.yaml", "--concurrency", "1")
		p := provenanceIn(t, dir, nil, "report", "durations", "--json")
		for name, e := range engines {
			if s := spreadOf(t, p, name, e); round == 0 || s.perCosts < best[name].perCosts {
				best[name] = s
			}
		}
	}
	for name, s := range best {
		t.Logf("%s: %d tasks, median %s, p95/p5 %.1f, by cost %.2f", name, s.tasks, s.median, s.took, s.perCosts)
		if s.perCosts > 2 {
			t.Errorf("%s: tasks took between 1 and %.1f of their cost", name, s.perCosts)
		}
	}
}
