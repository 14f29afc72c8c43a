package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// exportOptions are the flags of export.
type exportOptions struct {
	format, out, bundle, ranges, anumber, author string
	partial, force, oeis                         bool
}

func (a *app) exportCmd() *cobra.Command {
	var o exportOptions
	formats := make([]string, len(report.Formats))
	for i, f := range report.Formats {
		formats[i] = string(f)
	}
	c := &cobra.Command{
		Use:   "export RUN SWEEP",
		Short: "Write stored values as b-file, CSV, JSON lines or Parquet",
		Long: `Writes the values of a sweep, each checked against its CRC on the way. A file is
written as FILE.part and renamed when it is whole; an existing file is kept unless
--force is given. Values that are missing are an error unless --allow-partial is.

A b-file holds consecutive n; with --allow-partial it ends at the first gap. --oeis
prints the lines that the OEIS wants beside it. --bundle writes a folder with experiment, values,
provenance and SHA256SUMS instead of one file.`,
		Example: `  nsweep export euler hopping --format bfile --anumber A000001
  nsweep export euler hopping --format csv -o m.csv --range 1..500
  nsweep export overnight bezout --format parquet -o w.parquet
  nsweep export euler hopping --bundle euler-hopping
  nsweep export euler hopping --oeis --anumber A000001 --author J.Roe`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.export(cmd.Context(), args[0], args[1], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "", "`format` bfile, csv, jsonl or parquet (default by the name of the file, else csv)")
	f.StringVarP(&o.out, "output", "o", "", "the `file`, or - for standard output (default -, for a b-file its OEIS name)")
	f.StringVar(&o.ranges, "range", "", "only these `n`, such as 1..500 (default all)")
	f.StringVar(&o.anumber, "anumber", "", "`A-number` of the sequence, which names the b-file")
	f.StringVar(&o.author, "author", "", "`name` of who computed the b-file, for --oeis")
	f.StringVar(&o.bundle, "bundle", "", "write a `folder` with everything needed to check the values")
	f.BoolVar(&o.oeis, "oeis", false, "print the LINKS and DATA lines for the OEIS")
	f.BoolVar(&o.partial, "allow-partial", false, "accept that values are missing")
	f.BoolVar(&o.force, "force", false, "overwrite")
	exclusive(c, "bundle", "output")
	exclusive(c, "oeis", "output")
	exclusive(c, "oeis", "bundle")
	needs(c, "author", "oeis")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// source is a sweep's stored values with what export and diff need to know.
type source struct {
	run    jobs.Run
	sweep  jobs.Sweep
	lo, hi int64
	values report.Values
	result aggregator.Result // of the complete run, or zero
}

// openSource reads a sweep's values at n in [lo, hi) of the open store.
func (a *app) openSource(ctx context.Context, st *opened, run jobs.Run, sweep, ranges string) (source, error) {
	s, err := findSweep(run, sweep)
	if err != nil {
		return source{}, err
	}
	src := source{run: run, sweep: s, lo: s.Set.First(), hi: s.Set.Last() + 1}
	if ranges != "" {
		if src.lo, src.hi, err = parseRange(ranges); err != nil {
			return source{}, fmt.Errorf("--range: %w", err)
		}
		if !src.any() {
			return source{}, usagef("--range %s: holds no n of sweep %s (%s)", ranges, s.Name, s.Set)
		}
	}
	l, err := st.Ledger(ctx, run.ID, s)
	if err != nil {
		return source{}, err
	}
	src.values = aggregator.Scan(ctx, st.Store, run.ID, s, l, src.lo, src.hi)
	if run.State == jobs.Complete && len(run.Result) > 0 {
		if src.result, err = aggregator.Decode(run.Result); err != nil {
			return source{}, err
		}
	}
	return src, nil
}

// findSweep returns the named sweep, or bad usage that lists what there is.
func findSweep(run jobs.Run, name string) (jobs.Sweep, error) {
	s, ok := run.Sweep(name)
	if !ok {
		var names []string
		for _, x := range run.Sweeps {
			names = append(names, x.Name)
		}
		return s, usagef("run %s has no sweep %q, want one of %s", run.ID.Name, name, strings.Join(names, ", "))
	}
	return s, nil
}

// wanted returns the n that the source should hold.
func (s source) wanted() report.Wanted {
	w := report.Wanted{Lo: max(s.lo, s.sweep.Set.Lo), Hi: min(s.hi, s.sweep.Set.Hi)}
	if w.Hi <= w.Lo {
		w.Lo, w.Hi = 0, 0
	}
	for _, n := range s.sweep.Set.Points {
		if n >= s.lo && n < s.hi {
			w.Points = append(w.Points, n)
		}
	}
	return w
}

// any reports whether the sweep has an n in the range.
func (s source) any() bool {
	w := s.wanted()
	return w.Hi > w.Lo || len(w.Points) > 0
}

// provenance says where the values come from, the same on every machine.
func (s source) provenance(reg *engine.Registry) report.Provenance {
	p := report.Provenance{Engine: s.sweep.Engine, Version: s.sweep.Version, Params: s.sweep.Params, N: s.sweep.Set.String(), Program: "nsweep"}
	if e, err := reg.Get(s.sweep.Engine); err == nil {
		p.Symbol = e.Info().Symbol
	}
	if r, ok := s.result.Sweep(s.sweep.Name); ok {
		p.Tree = r.Tree
		if s.lo <= s.sweep.Set.First() && s.hi > s.sweep.Set.Last() {
			p.Text = r.Text
		} else {
			p.N = fmt.Sprintf("%d..%d of %s", s.lo, s.hi-1, p.N)
		}
	}
	return p
}

func (a *app) export(ctx context.Context, name, sweep string, o exportOptions) (err error) {
	if err := o.complete(); err != nil {
		return err
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
	switch {
	case o.oeis:
		return a.oeis(src, o)
	case o.bundle != "":
		v, err := sweepVerificationOf(ctx, st, run, src.sweep)
		if err != nil {
			return err
		}
		return a.bundle(src, v, o)
	case o.out == "-" && o.format == string(report.Parquet) && terminal(a.out):
		return usagef("--format parquet is not for a terminal; want -o FILE, or a pipe")
	case o.out == "-":
		_, err = a.exportTo(a.out, src, o)
		return partial(src.sweep, err)
	}
	var sum report.Summary
	err = report.WriteFile(o.out, o.force, func(w io.Writer) error {
		sum, err = a.exportTo(w, src, o)
		return err
	})
	if err := occupied(o.out, err); err != nil {
		return err
	}
	if err != nil {
		return partial(src.sweep, err)
	}
	fmt.Fprintf(a.err, "%s: %s values, n = %d…%d\n", o.out, group(sum.Count), sum.First, sum.Last)
	return nil
}

// occupied explains why a file cannot be made where something is, or returns nil
// when err says something else.
func occupied(path string, err error) error {
	switch {
	case errors.Is(err, report.ErrSpecial):
		return usagef("--output %s: is not a regular file; want the name of a file", path)
	case errors.Is(err, os.ErrExist):
		return usagef("%w; --force overwrites it", err)
	}
	return nil
}

// partial explains missing values, and n that a b-file cannot have.
func partial(s jobs.Sweep, err error) error {
	var p *report.PartialError
	var gap *report.GapError
	switch {
	case errors.As(err, &gap):
		return gapped("--format bfile", s, gap, "--format csv, jsonl or parquet")
	case errors.As(err, &p) && p.Ends:
		return fmt.Errorf("%w; --allow-partial ends it before", err)
	case errors.As(err, &p):
		return fmt.Errorf("%w; --allow-partial writes what is there", err)
	}
	return err
}

// gapped says why the n of a sweep make no b-file, and what to do instead.
func gapped(flag string, s jobs.Sweep, gap *report.GapError, instead string) error {
	kind := ""
	if !s.Set.Dense() {
		kind = "single points, and "
	}
	if gap.Hi-gap.Lo > 1 {
		instead += fmt.Sprintf(", or --range %d..%d", gap.Lo, gap.Hi-1)
	}
	return usagef("%s: a b-file holds consecutive n; sweep %s has %snone between n = %d and n = %d: want %s",
		flag, s.Name, kind, gap.Last, gap.Next, instead)
}

// complete fills in format and file from each other.
func (o *exportOptions) complete() error {
	if o.format == "" {
		switch filepath.Ext(o.out) {
		case ".parquet":
			o.format = string(report.Parquet)
		case ".jsonl", ".ndjson":
			o.format = string(report.JSONL)
		case ".txt":
			o.format = string(report.BFile)
		default:
			o.format = string(report.CSV)
			if o.anumber != "" {
				o.format = string(report.BFile)
			}
		}
	}
	known := false
	for _, f := range report.Formats {
		known = known || string(f) == o.format
	}
	name, wrong := report.BFileName(o.anumber)
	switch {
	case !known:
		return usagef("--format %s: want bfile, csv, jsonl or parquet", o.format)
	case o.anumber != "" && wrong != nil:
		return usagef("--anumber: %v", wrong)
	case o.anumber != "" && !o.oeis && o.format != string(report.BFile):
		return usagef("--anumber %s: names a b-file; --format %s has no place for it", o.anumber, o.format)
	case o.oeis && o.anumber == "":
		return usagef("--oeis needs --anumber, such as A000788")
	case o.out == "" && o.format == string(report.BFile) && o.anumber != "":
		o.out = name
	case o.out == "":
		o.out = "-"
	}
	return nil
}

// exportTo writes the values in the chosen format.
func (a *app) exportTo(w io.Writer, src source, o exportOptions) (report.Summary, error) {
	opts := report.ExportOptions{Format: report.Format(o.format), Want: src.wanted(), AllowPartial: o.partial, Provenance: src.provenance(a.reg)}
	if opts.Format == report.Parquet {
		var err error
		if opts.Wide, err = src.wide(); err != nil {
			return report.Summary{}, err
		}
	}
	return report.Export(w, src.values, opts)
}

// wide reports whether some value does not fit 64 bits. Where the stored width
// says so already nothing is read.
func (s source) wide() (bool, error) {
	if len(s.sweep.Set.Points) == 0 && s.sweep.Set.Dense() && s.sweep.Grid.Width(s.sweep.Set.Last()) <= 8 {
		return false, nil
	}
	return report.IsWide(s.values)
}

// oeis prints what goes beside a b-file.
func (a *app) oeis(src source, o exportOptions) error {
	author := o.author
	if author == "" {
		author = "_Your Name_"
	}
	want := src.wanted()
	if gap := want.Gap(); gap != nil {
		return gapped("--oeis", src.sweep, gap, "a sweep without gaps")
	}
	first, last := want.Span()
	link, err := report.OEISLink(o.anumber, author, first, last)
	if err != nil {
		return usagef("--anumber: %v", err)
	}
	data, err := report.OEISData(src.values)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s\n%s\n", link, data)
	return nil
}

// bundle writes everything needed to check and reproduce the values.
func (a *app) bundle(src source, v sweepVerification, o exportOptions) error {
	name := "values." + map[string]string{"bfile": "txt", "csv": "csv", "jsonl": "jsonl", "parquet": "parquet"}[o.format]
	parts := []report.Part{
		{Name: name, Write: func(w io.Writer) error { _, err := a.exportTo(w, src, o); return err }},
		{Name: "experiment.yaml", Write: func(w io.Writer) error { _, err := w.Write(experimentOf(src.sweep).YAML()); return err }},
		{Name: "provenance.json", Write: func(w io.Writer) error { return writeJSON(w, src.provenance(a.reg)) }},
	}
	if r, ok := src.result.Sweep(src.sweep.Name); ok {
		r.ElapsedMs = 0 // differs from machine to machine
		parts = append(parts, report.Part{Name: "result.json", Write: func(w io.Writer) error { return writeJSON(w, r) }})
	}
	if v.Cells > 0 {
		parts = append(parts, report.Part{Name: "verification.json", Write: func(w io.Writer) error { return writeJSON(w, v) }})
	}
	err := report.WriteBundle(o.bundle, parts, o.force)
	if errors.Is(err, os.ErrExist) {
		return usagef("%v; --force overwrites it", err)
	}
	if err != nil {
		return partial(src.sweep, err)
	}
	fmt.Fprintf(a.err, "%s: %d files and SHA256SUMS\n", o.bundle, len(parts))
	return nil
}

// experimentOf returns an experiment that computes the sweep again.
func experimentOf(s jobs.Sweep) *config.Experiment {
	c := config.Sweep{Name: s.Name, Engine: s.Engine, Algorithm: s.Algorithm, Params: s.Params, Keep: string(s.Keep), Sums: s.Sums,
		N: config.N{Values: s.Set.Points}}
	if s.Set.Dense() {
		c.N.From, c.N.To = s.Set.Lo, s.Set.Hi-1
	}
	for _, k := range s.Checkpoints {
		x := config.Checkpoint{N: k.N, Power: k.Power}
		if k.Power == 0 {
			x.Value = k.Want
		} else {
			x.Equals = k.Want
		}
		c.Checkpoints = append(c.Checkpoints, x)
	}
	defaults, err := config.LoadSettings(nil, nil)
	if err != nil {
		panic(err) // the defaults of the program itself
	}
	return &config.Experiment{Name: s.Name, Settings: defaults, Sweeps: []config.Sweep{c}}
}
