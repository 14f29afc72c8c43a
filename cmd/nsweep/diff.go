package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

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
B are RUN/SWEEP of the store, or files: b-files or CSV with n and value. Exit code 3
when they differ, 2 when a file is no list of values.`,
		Example: `  nsweep diff euler/hopping overnight/hopping
  nsweep diff euler/hopping b000001.txt`,
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
		if err := writeJSON(a.out, d); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.out, "same values at %s n, different at %s, only in %s %s, only in %s %s\n",
			group(d.Same), group(d.Different), one, group(d.OnlyA), other, group(d.OnlyB))
		for _, f := range []*report.Difference{d.First, d.FirstOnly} {
			if f != nil {
				fmt.Fprintf(a.out, "first at %s\n", f)
			}
		}
	}
	if !d.Equal() {
		return coded(codeMismatch, fmt.Errorf("%s and %s differ", one, other))
	}
	return nil
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
