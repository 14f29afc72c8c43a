package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/engine"
)

// benchRow is one computation that bench times. Rows of one work follow each
// other, the baseline first.
type benchRow struct {
	engine, algorithm, work string
	lo, hi                  int64
	baseline                bool
	// long rows take more than a few seconds and need --full.
	long bool
	// bound is what limits the speed, as far as profiles tell.
	bound string
}

// benchRows are the works of the documentation's tables.
var benchRows = []benchRow{
	{"hopping", "table", "n = 1…1000", 1, 1001, true, false, "loads and stores of tables in the second-level cache"},
	{"hopping", "classes", "n = 1…1000", 1, 1001, false, false, "instructions and load ports"},
	{"hopping", "table", "n = 10^5", 100_000, 100_001, true, false, "cache misses of tables"},
	{"hopping", "classes", "n = 10^5", 100_000, 100_001, false, false, "instructions and load ports"},
	{"hopping", "table", "n = 1…10^4", 1, 10_001, true, true, "loads and stores of tables in the second-level cache"},
	{"hopping", "classes", "n = 1…10^4", 1, 10_001, false, true, "instructions and load ports"},
	{"bezout", "formula", "n = 10^9", 1_000_000_000, 1_000_000_001, true, false, "divisions and look-ups of a table of μ"},
	{"bezout", "sum", "n = 10^9", 1_000_000_000, 1_000_000_001, false, false, "byte additions in the first-level cache"},
	{"bezout", "formula", "n = 10^10", 10_000_000_000, 10_000_000_001, true, true, "divisions and look-ups of a table of μ"},
	{"bezout", "sum", "n = 10^10", 10_000_000_000, 10_000_000_001, false, true, "byte additions in the first-level cache"},
	{"bezout", "linear", "n = 1…10^7", 1, 10_000_001, true, false, "memory bandwidth"},
	{"bezout", "steps", "n = 1…10^7", 1, 10_000_001, false, false, "instructions; tables in the second-level cache"},
	{"bezout", "linear", "n = 1…10^8", 1, 100_000_001, true, true, "memory bandwidth"},
	{"bezout", "steps", "n = 1…10^8", 1, 100_000_001, false, true, "instructions; tables in the second-level cache"},
}

// benchResult is one row in the JSON of bench.
type benchResult struct {
	Engine      string  `json:"engine"`
	Algorithm   string  `json:"algorithm"`
	Work        string  `json:"work"`
	Repeated    int     `json:"repeated"`
	Seconds     float64 `json:"seconds"`
	Ratio       float64 `json:"ratio"`
	Evaluations int64   `json:"evaluations,omitempty"`
	Unit        string  `json:"unit"`
	NsEach      float64 `json:"ns_each"`
	Bound       string  `json:"bound"`
}

func (a *app) benchCmd() *cobra.Command {
	var asJSON, full bool
	var atLeast time.Duration
	c := &cobra.Command{
		Use:   "bench",
		Short: "Time the engines against their own plain algorithms",
		Long: `Times each algorithm on one core beside the plain one for the same work, in the same
run, and prints the ratio. Work that takes less than --time is repeated until it
fills it. The values of both are compared on the way.`,
		Example: `  nsweep bench
  nsweep bench --full --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bench(cmd.Context(), full, atLeast, asJSON) },
	}
	f := c.Flags()
	f.BoolVar(&full, "full", false, "the long works too, about a minute more")
	f.DurationVar(&atLeast, "time", time.Second, "shortest `time` of a measurement")
	f.BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (a *app) bench(ctx context.Context, full bool, atLeast time.Duration, asJSON bool) error {
	if atLeast <= 0 || atLeast > time.Hour {
		return usagef("--time %s: want more than nothing and at most an hour", atLeast)
	}
	var out []benchResult
	var base benchResult
	var baseSum string
	for _, r := range benchRows {
		if r.long && !full {
			continue
		}
		fmt.Fprintf(a.err, "%s %s, %s …\n", r.engine, r.algorithm, r.work)
		res, sum, err := a.timeRow(ctx, r, atLeast)
		if err != nil {
			return err
		}
		switch {
		case r.baseline:
			base, baseSum = res, sum
		case sum != baseSum:
			return coded(codeMismatch, fmt.Errorf("%s, %s: algorithm %s sums to %s, %s to %s", r.engine, r.work, r.algorithm, sum, base.Algorithm, baseSum))
		}
		res.Ratio = base.Seconds / res.Seconds
		out = append(out, res)
	}
	if asJSON {
		return writeJSON(a.out, out)
	}
	return printBench(a.out, out)
}

// timeRow repeats a work until it fills the time and returns its best time,
// which noise of the machine disturbs least, and the sum of its values.
func (a *app) timeRow(ctx context.Context, r benchRow, atLeast time.Duration) (benchResult, string, error) {
	eng, err := a.reg.Get(r.engine)
	if err != nil {
		return benchResult{}, "", err
	}
	w, err := eng.Resolve(engine.Work{Algorithm: r.algorithm, Lo: r.lo, Hi: r.hi})
	if err != nil {
		return benchResult{}, "", err
	}
	res := benchResult{Engine: r.engine, Algorithm: r.algorithm, Work: r.work, Bound: r.bound}
	best := time.Duration(1<<63 - 1)
	var values string
	for total := time.Duration(0); total < atLeast || res.Repeated == 0; res.Repeated++ {
		runtime.GC() // the last round's garbage is not this one's cost
		sum := engine.NewPowerSum(1)
		begin := time.Now()
		err := eng.Compute(ctx, w, engine.Sink{Emit: func(p engine.Piece) error {
			least, greatest := p.Extremes()
			sum.Add(p, engine.Size(least, greatest))
			return nil
		}})
		took := time.Since(begin)
		if err != nil {
			return benchResult{}, "", err
		}
		total += took
		best = min(best, took)
		values = sum.Value().String()
	}
	res.Seconds = best.Seconds()
	res.Evaluations, res.Unit = a.evaluations(ctx, eng, w)
	if res.Evaluations == 0 {
		res.Evaluations, res.Unit = w.Len(), "values"
		if res.Evaluations == 1 {
			res.Unit = "value"
		}
	}
	res.NsEach = float64(best.Nanoseconds()) / float64(res.Evaluations)
	return res, values, nil
}

// stepFacts are the facts that count elementary steps, and what a step is.
var stepFacts = map[string]string{"evaluations": "evaluations", "updates": "updates", "sieved to": "numbers sieved"}

// evaluations asks an engine how many elementary steps a work takes, where it
// can tell and asking is cheap beside the work.
func (a *app) evaluations(ctx context.Context, eng engine.Engine, w engine.Work) (int64, string) {
	d, ok := eng.(engine.Detailer)
	if !ok || w.Len() > 1000 {
		return 0, ""
	}
	total := int64(0)
	unit := ""
	for n := w.Lo; n < w.Hi; n++ {
		one := w
		one.Lo, one.Hi = n, n+1
		_, facts, err := d.Detail(ctx, one, nil)
		if err != nil {
			return 0, ""
		}
		for _, f := range facts {
			if name, counted := stepFacts[f.Name]; counted {
				k, err := strconv.ParseInt(f.Value, 10, 64)
				if err != nil {
					return 0, ""
				}
				total += k
				unit = name
			}
		}
	}
	return total, unit
}

func printBench(out io.Writer, rows []benchResult) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "engine\talgorithm\twork\ttime\tratio\tsteps\tns each\tbound by")
	for _, r := range rows {
		each := fmt.Sprintf("%.2f", r.NsEach)
		if r.Evaluations == 1 {
			each = "" // the time itself
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f×\t%s %s\t%s\t%s\n", r.Engine, r.Algorithm, r.Work, shortTime(r.Seconds), r.Ratio,
			group(r.Evaluations), r.Unit, each, r.Bound)
	}
	return w.Flush()
}

// shortTime writes seconds with three digits.
func shortTime(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}
