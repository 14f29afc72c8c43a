package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/report"
	"github.com/nsweep/nsweep/scheduler"
)

// planRow is one sweep in the JSON of plan.
type planRow struct {
	Sweep       string  `json:"sweep"`
	N           string  `json:"n"`
	Values      int64   `json:"values"`
	Cells       int64   `json:"cells"`
	Tasks       int64   `json:"tasks"`
	CoreSeconds float64 `json:"core_seconds"`
	Seconds     float64 `json:"seconds"`
	Shortest    float64 `json:"shortest_task_seconds"`
	Longest     float64 `json:"longest_task_seconds"`
	Bytes       int64   `json:"redis_bytes"`
	// Of second computations. core_seconds and seconds count them too, and what it
	// takes to store and sum up the values; task seconds do not.
	Checks           int64   `json:"checks,omitempty"`
	CheckTasks       int64   `json:"check_tasks,omitempty"`
	CheckCoreSeconds float64 `json:"check_core_seconds,omitempty"`
}

func (a *app) planCmd() *cobra.Command {
	var o runOptions
	var asJSON bool
	var n int
	c := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Show cells, tasks, cost, time and memory of an experiment",
		Long: `Checks an experiment and shows what it would take: cells, tasks, time of one core,
time with the given slots, the time of a task, and memory in Redis. It touches no
store. The first two times include storing and summing up the values, which for
dense ranges of W(n) takes longer than to compute them. Costs are calibrated by a
measurement of a quarter of a second for each engine.`,
		Example: `  nsweep plan overnight
  nsweep plan my.yaml --slots 40
  nsweep plan --set sweeps.hopping.n.to=1e5 --json`,
		Args:              oneFile,
		ValidArgsFunction: experimentArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plan(cmd.Context(), first(args), o.sets, n, asJSON)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.sets, "set", nil, "change the experiment, `PATH=VALUE` (may be repeated)")
	f.BoolVar(&asJSON, "json", false, "as JSON")
	f.IntVar(&n, "slots", 0, "slots of all workers together (default: the cores of this machine)")
	return c
}

func (a *app) plan(ctx context.Context, file string, sets []string, n int, asJSON bool) error {
	e, sweeps, err := a.load(file, sets)
	if err != nil {
		return err
	}
	switch {
	case n < 0:
		return usagef("--slots %d: want a positive number", n)
	case n == 0:
		n = slots(e.Workers)
	}
	model := scheduler.NewModel(a.reg, a.calibrate(engineNames(sweeps)...))
	var rows []planRow
	sum, summing := planRow{Sweep: "all"}, 0.0
	for _, s := range sweeps {
		p, err := model.Plan(ctx, s, n, e.Verify, e.VerifySame)
		if err != nil {
			return err
		}
		r := planRow{Sweep: p.Sweep, N: p.N, Values: p.Values, Cells: p.Cells, Tasks: p.Tasks, CoreSeconds: (p.Cost + p.CheckCost + p.Keeping).Seconds(),
			// No sweep ends before its longest task, and before all is summed up.
			Seconds:  max((p.Cost+p.CheckCost+p.Keeping).Seconds()/float64(n), p.Longest.Seconds(), p.Summing.Seconds()),
			Shortest: p.Shortest.Seconds(), Longest: p.Longest.Seconds(), Bytes: p.Bytes,
			Checks: p.Checks, CheckTasks: p.CheckTasks, CheckCoreSeconds: p.CheckCost.Seconds()}
		rows = append(rows, r)
		summing += p.Summing.Seconds()
		sum.Values += r.Values
		sum.Cells += r.Cells
		sum.Tasks += r.Tasks
		sum.CoreSeconds += r.CoreSeconds
		sum.Longest = max(sum.Longest, r.Longest)
		sum.Bytes += r.Bytes
		sum.Checks += r.Checks
		sum.CheckTasks += r.CheckTasks
		sum.CheckCoreSeconds += r.CheckCoreSeconds
	}
	sum.Seconds = max(sum.CoreSeconds/float64(n), sum.Longest, summing)
	if asJSON {
		return writeJSON(a.out, struct {
			Run   string    `json:"run"`
			Slots int       `json:"slots"`
			Rows  []planRow `json:"sweeps"`
			All   planRow   `json:"all"`
		}{e.Name, n, rows, sum})
	}
	fmt.Fprintf(a.out, "experiment %s with %d slots\n", e.Name, n)
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "sweep\tn\tvalues\tcells\ttasks\tone core\ttime\ttask\tRedis")
	sec := func(x float64) string { return report.Span(time.Duration(min(x, 9e9) * 1e9)) }
	for _, r := range append(rows, sum) {
		task := sec(r.Shortest) + " to " + sec(r.Longest)
		if r.Sweep == "all" {
			task = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Sweep, r.N, group(r.Values), group(r.Cells), group(r.Tasks),
			sec(r.CoreSeconds), sec(r.Seconds), task, bytesText(r.Bytes))
	}
	if err := w.Flush(); err != nil || e.Verify == 0 {
		return err
	}
	fmt.Fprintf(a.out, "a second computation confirms %s of the %s cells in %s tasks, %s of the time of one core\n",
		group(sum.Checks), group(sum.Cells), group(sum.CheckTasks), sec(sum.CheckCoreSeconds))
	return nil
}

// bytesText writes a size in the unit that leaves two or three digits.
func bytesText(n int64) string {
	v, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; v >= 1000 && i < len(units)-1; i++ {
		v /= 1024
	}
	if v < 10 && i > 0 {
		return fmt.Sprintf("%.1f %s", v, units[i])
	}
	return fmt.Sprintf("%.0f %s", v, units[i])
}
