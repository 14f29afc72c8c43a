package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

func (a *app) diffCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the values of two runs, or of a run and a file",
		Long: `Compares two sequences of values and shows the first n at which they differ. A and
B are RUN/SWEEP of the store, or files: b-files or CSV with n and value; a file of
that name wins. Both are read once, side by side. Exit code 3 when they differ, 2 when
a file is no list of values.`,
		Example: `  nsweep diff euler/hopping overnight/hopping
  nsweep diff euler/hopping b000001.txt
  nsweep diff --json before.csv euler/hopping`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diff(cmd.Context(), args[0], args[1], asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (a *app) diff(ctx context.Context, one, other string, asJSON bool) (err error) {
	x, closeX, err := a.values(ctx, one)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeX()) }()
	y, closeY, err := a.values(ctx, other)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeY()) }()
	d, err := report.Compare(x, y)
	var bad *codedError
	if errors.As(err, &bad) {
		return bad // names the file
	}
	if err != nil {
		return fmt.Errorf("compare %s and %s: %w", one, other, err)
	}
	if asJSON {
		if err := writeJSON(a.out, diffOf(one, other, d)); err != nil {
			return err
		}
	} else {
		printDiff(a.out, one, other, d)
	}
	if !d.Equal() {
		return coded(codeMismatch, fmt.Errorf("%s and %s differ", one, other))
	}
	return nil
}

// diffResult is the JSON of diff. Counts are numbers of n.
type diffResult struct {
	A         string         `json:"a"`
	B         string         `json:"b"`
	Equal     bool           `json:"equal"`
	Same      aggregator.Int `json:"same"`
	Different aggregator.Int `json:"different"`
	OnlyA     aggregator.Int `json:"only_a"`
	OnlyB     aggregator.Int `json:"only_b"`
	// First is the first n with two values, FirstOnly the first with one.
	First     *diffAt `json:"first,omitempty"`
	FirstOnly *diffAt `json:"first_only,omitempty"`
}

// diffAt is an n with the values of both sides, where there are such.
type diffAt struct {
	N aggregator.Int `json:"n"`
	A string         `json:"a,omitempty"`
	B string         `json:"b,omitempty"`
}

func diffOf(one, other string, d report.Diff) diffResult {
	at := func(x *report.Difference) *diffAt {
		if x == nil {
			return nil
		}
		out := &diffAt{N: aggregator.Int(x.N)}
		if x.A != nil {
			out.A = x.A.String()
		}
		if x.B != nil {
			out.B = x.B.String()
		}
		return out
	}
	return diffResult{A: one, B: other, Equal: d.Equal(), Same: aggregator.Int(d.Same), Different: aggregator.Int(d.Different),
		OnlyA: aggregator.Int(d.OnlyA), OnlyB: aggregator.Int(d.OnlyB), First: at(d.First), FirstOnly: at(d.FirstOnly)}
}

// printDiff says for people what differs, first of all how much.
func printDiff(out io.Writer, one, other string, d report.Diff) {
	if d.Equal() {
		fmt.Fprintf(out, "%s and %s have the same values at the same %s n\n", one, other, group(d.Same))
		return
	}
	fmt.Fprintf(out, "same value at %s n, another at %s; %s n only in %s, %s only in %s\n",
		group(d.Same), group(d.Different), group(d.OnlyA), one, group(d.OnlyB), other)
	if f := d.First; f != nil {
		fmt.Fprintf(out, "first at n = %d: %s in %s, %s in %s\n", f.N, f.A, one, f.B, other)
	}
	if f := d.FirstOnly; f != nil && f.A != nil {
		fmt.Fprintf(out, "first in one alone at n = %d: %s in %s\n", f.N, f.A, one)
	} else if f != nil {
		fmt.Fprintf(out, "first in one alone at n = %d: %s in %s\n", f.N, f.B, other)
	}
}

// values opens RUN/SWEEP or a file. A file that exists wins.
func (a *app) values(ctx context.Context, arg string) (report.Values, func() error, error) {
	if info, err := os.Stat(arg); err == nil {
		if info.IsDir() {
			return nil, nil, usagef("%s: is a folder; want a file in it, a b-file or CSV with n and value", arg)
		}
		f, err := os.Open(arg)
		if err != nil {
			return nil, nil, err
		}
		return valuesOf(arg, f), f.Close, nil
	}
	name, sweep, ok := strings.Cut(arg, "/")
	if !ok || !jobs.NamePattern.MatchString(name) {
		return nil, nil, usagef("%s is no file, and no RUN/SWEEP", arg)
	}
	st, run, err := a.openFor(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	src, err := a.openSource(ctx, st, run, sweep, "")
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return src.values, st.Close, nil
}

// valuesOf reads a file of that name. That it is no list of values, or an empty
// one, is bad usage; that it cannot be read is a failure, in r's own words.
func valuesOf(path string, r io.Reader) report.Values {
	return func(yield func(engine.Piece, error) bool) {
		any := false
		for p, err := range report.ReadValues(r) {
			var bad *report.MalformedError
			if errors.As(err, &bad) {
				err = usagef("%s: %w", path, err)
			}
			any = true
			if !yield(p, err) {
				return
			}
		}
		if !any {
			yield(engine.Piece{}, usagef("%s: holds no values; want lines of an integer n and an integer value", path))
		}
	}
}
