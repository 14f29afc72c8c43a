package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// groupsKind plots a fact about the computation instead of the values: the
// stopping group t(n) of the hopping game, which is computed, not stored.
const groupsKind = "groups"

// plotOptions are the flags of plot.
type plotOptions struct {
	out, kind, ranges string
	dark, force       bool
}

func (a *app) plotCmd() *cobra.Command {
	var o plotOptions
	var doc strings.Builder
	for _, k := range report.PlotKinds {
		fmt.Fprintf(&doc, "  %-10s %s\n", k.Kind, k.Doc)
	}
	fmt.Fprintf(&doc, "  %-10s %s", groupsKind, "t(n), the group at which the hopping recursion stops (computed now)")
	c := &cobra.Command{
		Use:   "plot RUN SWEEP",
		Short: "Draw stored values as SVG or PNG",
		Long:  "Draws a picture of a sweep's stored values. Millions of points are counted in the\npixels they fall into, so that no peak is lost. Kinds:\n\n" + doc.String(),
		Example: `  nsweep plot euler hopping -o m.svg
  nsweep plot euler hopping --kind cubes -o cubes.png
  nsweep plot overnight bezout --kind deviation -o w.png --range 1000..1e6`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plotFile(cmd.Context(), args[0], args[1], o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "output", "o", "", "the `file`, ending in .svg or .png")
	f.StringVar(&o.kind, "kind", "value", "what to show, a `kind` of the above")
	f.StringVar(&o.ranges, "range", "", "only these `n`, such as 1..500 (default all)")
	f.BoolVar(&o.dark, "dark", false, "light on dark")
	f.BoolVar(&o.force, "force", false, "overwrite")
	c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kindNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) plotFile(ctx context.Context, name, sweep string, o plotOptions) (err error) {
	if o.out == "" {
		return usagef("plot: --output FILE is missing, such as -o m.svg")
	}
	image, err := report.ImageOf(o.out)
	if err != nil {
		return usagef("--output: %v", err)
	}
	if !slices.Contains(kindNames(), o.kind) {
		return usagef("--kind %s: want one of %s", o.kind, strings.Join(kindNames(), ", "))
	}
	st, run, err := a.openFor(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	src, err := a.openSource(ctx, st, run, sweep, o.ranges)
	if err != nil {
		return err
	}
	err = report.WriteFile(o.out, o.force, func(w io.Writer) error { return a.draw(ctx, w, src, drawing{kind: o.kind, image: image, dark: o.dark}) })
	if err := occupied(o.out, err); err != nil {
		return err
	}
	return err
}

// kindNames returns the names of all kinds, in the order of the help.
func kindNames() []string {
	var names []string
	for _, k := range report.PlotKinds {
		names = append(names, string(k.Kind))
	}
	return append(names, groupsKind)
}

// drawing is what to draw of a source, and in which format.
type drawing struct {
	kind, image string
	dark        bool
	// quick leaves out n where each takes time.
	quick bool
}

// draw writes the picture of a source.
func (a *app) draw(ctx context.Context, w io.Writer, src source, d drawing) error {
	kind, image, dark := d.kind, d.image, d.dark
	p := src.provenance(a.reg)
	o := report.PlotOptions{Kind: report.PlotKind(kind), Image: image, Lo: src.lo, Hi: src.hi, Symbol: p.Symbol, Dark: dark,
		LogX: !src.sweep.Set.Dense()}
	foot := fmt.Sprintf("run %s, sweep %s, %s", src.run.ID.Name, src.sweep.Name, p.N)
	if p.Tree != "" {
		foot += ", tree digest " + p.Tree[:16]
	}
	o.Footer = []string{foot}
	values := src.values
	if kind == groupsKind {
		eng, err := a.reg.Get(src.sweep.Engine)
		if err != nil {
			return err
		}
		o.Kind, o.Symbol, o.Title = report.PlotValue, "t(n)", "t(n), the group at which the recursion stops"
		every := int64(1)
		if d.quick {
			every = groupStep(src.lo, src.hi)
		}
		if every > 1 {
			o.Footer[0] += fmt.Sprintf(", 1 n in %s", group(every))
		}
		values = groups(ctx, eng, src, every)
	}
	return report.Plot(w, values, o)
}

// groupStep returns of how many n one is shown where a viewer waits. One takes
// some 80 µs of a core at n = 10^4 and 0.2 s at 10^7, so that this takes about ten seconds.
func groupStep(lo, hi int64) int64 {
	most := min(1000, max(20, 500_000_000/hi))
	return (hi - lo + most - 1) / most
}

// groups computes the stopping group at one n in every of the source.
func groups(ctx context.Context, eng engine.Engine, src source, every int64) report.Values {
	return func(yield func(engine.Piece, error) bool) {
		d, ok := eng.(engine.Detailer)
		if !ok || eng.Info().Name != "hopping" {
			yield(engine.Piece{}, usagef("engine %s has no stopping groups to plot", eng.Info().Name))
			return
		}
		for p, err := range src.values {
			if err != nil {
				yield(p, err)
				return
			}
			for i := range p.Len() {
				n := p.Lo + int64(i)
				if every > 1 && (n-src.lo)%every != 0 {
					continue
				}
				t, err := stoppingGroup(ctx, eng, d, src.sweep, n)
				if err != nil {
					yield(engine.Piece{}, err)
					return
				}
				if !yield(engine.Piece{Lo: n, Narrow: []int64{t}}, nil) {
					return
				}
			}
		}
	}
}

func stoppingGroup(ctx context.Context, eng engine.Engine, d engine.Detailer, s jobs.Sweep, n int64) (int64, error) {
	w, err := eng.Resolve(engine.Work{Params: s.Params, Lo: n, Hi: n + 1})
	if err != nil {
		return 0, err
	}
	_, facts, err := d.Detail(ctx, w, nil)
	if err != nil {
		return 0, err
	}
	for _, f := range facts {
		if f.Name == "stopping group" {
			return parseN(f.Value)
		}
	}
	return 0, fmt.Errorf("engine %s tells no stopping group", s.Engine)
}

// plotFor draws for the dashboard.
func (a *app) plotFor(st *opened) func(ctx context.Context, w io.Writer, run, sweep, kind, format string, lo, hi int64) error {
	return func(ctx context.Context, w io.Writer, name, sweep, kind, format string, lo, hi int64) error {
		run, err := st.Run(ctx, name)
		if err != nil {
			return err
		}
		src, err := a.openSource(ctx, st, run, sweep, "")
		if err != nil {
			return err
		}
		src.lo, src.hi = max(lo, src.sweep.Set.First()), min(hi, src.sweep.Set.Last()+1)
		l, err := st.Ledger(ctx, run.ID, src.sweep)
		if err != nil {
			return err
		}
		src.values = aggregator.Scan(ctx, st.Store, run.ID, src.sweep, l, src.lo, src.hi)
		return a.draw(ctx, w, src, drawing{kind: kind, image: format, quick: true})
	}
}
