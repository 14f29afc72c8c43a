package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

func (a *app) reportCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Print a run's sums, checkpoints and digests",
		Long: `Prints what a run has found. For a complete run this is the result that was
proven at its end; otherwise everything that is stored is read and summed up now.
What was confirmed by a second computation follows, by whom and how, and which
workers are in quarantine because they computed a wrong value.
Exit code 3 when a checkpoint does not hold. --json adds which workers computed
the values: machine, build, processor, and up to 10,000 of their tasks one by one.`,
		Example: `  nsweep report euler
  nsweep report euler --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runArgs,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.report(cmd.Context(), args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (a *app) report(ctx context.Context, name string, asJSON bool) (err error) {
	st, run, err := a.openFor(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	var result aggregator.Result
	if run.State == jobs.Complete && len(run.Result) > 0 {
		result, err = aggregator.Decode(run.Result)
	} else {
		result, err = a.prove(ctx, st, run)
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = a.writeReport(ctx, st, run, result)
	} else {
		err = a.showResult(result, run.State, false)
		if err == nil {
			var v *verification
			if v, err = verificationOf(ctx, st, run); err == nil {
				v.print(a.out)
			}
		}
	}
	if err != nil {
		return err
	}
	if run.State == jobs.Halted {
		return endError(run)
	}
	for _, s := range result.Sweeps {
		if _, bad, _ := s.Checks(); bad > 0 {
			return coded(codeMismatch, fmt.Errorf("sweep %s: %d checkpoints do not hold", s.Name, bad))
		}
	}
	return nil
}

// showResult prints a result on standard output.
func (a *app) showResult(r aggregator.Result, state jobs.State, asJSON bool) error {
	if asJSON {
		return report.WriteJSON(a.out, r)
	}
	symbols := map[string]string{}
	for _, e := range a.reg.All() {
		symbols[e.Info().Name] = e.Info().Symbol
	}
	opts := []report.TableOption{report.Symbols(symbols)}
	if state != jobs.Complete {
		opts = append(opts, report.Note(string(state)))
	}
	if terminal(a.out) && os.Getenv("NO_COLOR") == "" {
		opts = append(opts, report.Color())
	}
	return report.WriteTable(a.out, r, opts...)
}
