package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// sweepStatus is one sweep in the JSON of status and runs.
type sweepStatus struct {
	Name     string         `json:"name"`
	Engine   string         `json:"engine"`
	N        string         `json:"n"`
	Values   aggregator.Int `json:"values"`
	Total    aggregator.Int `json:"total"`
	Cells    int64          `json:"cells"`
	Cellsof  int64          `json:"cells_total"`
	Repeated int64          `json:"repeated"`
	Disputed int64          `json:"disputed"`
	// Confirmed counts cells that a second computation confirmed, ToConfirm those
	// that the run needs.
	Confirmed int64 `json:"confirmed"`
	ToConfirm int64 `json:"to_confirm"`
}

// runStatus is one run in the JSON of status and runs.
type runStatus struct {
	Run      string         `json:"run"`
	Epoch    string         `json:"epoch"`
	Number   int            `json:"number"`
	State    jobs.State     `json:"state"`
	Priority string         `json:"priority"`
	Reason   string         `json:"reason,omitempty"`
	Created  string         `json:"created"`
	Sweeps   []sweepStatus  `json:"sweeps"`
	Failures []jobs.Failure `json:"failures,omitempty"`
	// Quarantine lists the workers from which nothing is taken any more,
	// Verification what was confirmed, by whom and how.
	Quarantine   []jobs.Quarantine `json:"quarantine,omitempty"`
	Verification *verification     `json:"verification,omitempty"`
	Workers      []jobs.Worker     `json:"workers,omitempty"`
	Tasks        []jobs.Beat       `json:"tasks,omitempty"`
	Leader       string            `json:"leader,omitempty"`
	// Provenance is there when it was asked for.
	Provenance *provenance `json:"provenance,omitempty"`
}

// stateDamaged stands for a state that cannot be read.
const stateDamaged jobs.State = "damaged"

func newRunStatus(run jobs.Run, counts map[string]jobs.Counts) runStatus {
	s := runStatus{Run: run.ID.Name, Epoch: run.ID.Epoch, Number: run.Number, State: run.State, Reason: run.Reason,
		Created: time.UnixMilli(run.CreatedMs).UTC().Format(time.RFC3339)}
	for _, w := range run.Sweeps {
		c := counts[w.Name]
		s.Priority = w.Priority.String()
		s.Sweeps = append(s.Sweeps, sweepStatus{Name: w.Name, Engine: jobs.QueueName(w.Engine, w.Version, jobs.Normal), N: w.Set.String(), Values: aggregator.Int(c.Values),
			Total: aggregator.Int(w.Set.Count()), Cells: c.Cells, Cellsof: w.CellCount(), Repeated: c.Repeated, Disputed: c.Disputed,
			Confirmed: c.Confirmed, ToConfirm: w.CheckCount(run.Verify)})
	}
	return s
}

// percent returns the share of values that are stored.
func (s runStatus) percent() float64 {
	have, total := int64(0), int64(0)
	for _, w := range s.Sweeps {
		have += int64(w.Values)
		total += int64(w.Total)
	}
	return 100 * float64(have) / float64(max(total, 1))
}

func (a *app) statusCmd() *cobra.Command {
	var asJSON, watch, tasks bool
	c := &cobra.Command{
		Use:   "status RUN",
		Short: "Show how a run stands",
		Long: `Shows how far a run is, what failed or is disputed, who computes and who leads.
Of an error it shows the first line; --json has the engine's stack, when it panicked,
and the last log lines of the task.

--watch redraws that once a second until the run has ended: bars and the time that
is left go by the estimated cost of what is open, and each worker has its values a
second over the last 15 s. Where the output is no terminal it prints a line for
each sweep every ten seconds instead. Ctrl-C ends the watching, not the run.`,
		Example: `  nsweep status euler
  nsweep status euler --watch
  nsweep status euler --tasks         who computed what, when and how
  nsweep status euler --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return a.watch(cmd.Context(), args[0])
			}
			return a.status(cmd.Context(), args[0], asJSON, tasks)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	c.Flags().BoolVar(&watch, "watch", false, "redraw once a second until the run has ended")
	c.Flags().BoolVar(&tasks, "tasks", false, "list the tasks under way, and those that stored values with their workers")
	exclusive(c, "json", "watch")
	exclusive(c, "tasks", "watch")
	return c
}

func (a *app) status(ctx context.Context, name string, asJSON, tasks bool) (err error) {
	st, run, err := a.openFor(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s, err := a.fullStatus(ctx, st, run)
	if err != nil {
		return err
	}
	if s.confirmed() {
		if s.Verification, err = verificationOf(ctx, st, run); err != nil {
			return err
		}
	}
	if asJSON {
		if tasks {
			p, err := provenanceOf(ctx, st, run.ID, -1)
			if err != nil {
				return err
			}
			s.Provenance = &p
		}
		return writeJSON(a.out, s)
	}
	s.print(a.out)
	if tasks {
		return s.tasks(ctx, a.out, st, run.ID)
	}
	return nil
}

// fullStatus reads everything that status shows.
func (a *app) fullStatus(ctx context.Context, st *opened, run jobs.Run) (runStatus, error) {
	counts, err := st.Counts(ctx, run.ID)
	if err != nil {
		return runStatus{}, err
	}
	s := newRunStatus(run, counts)
	if s.Failures, err = st.Failures(ctx, run.ID); err != nil {
		return runStatus{}, err
	}
	if s.Quarantine, err = st.Quarantines(ctx, run.Manifest); err != nil {
		return runStatus{}, err
	}
	workers, err := st.Workers(ctx)
	if err != nil {
		return runStatus{}, err
	}
	for _, w := range workers {
		if slices.ContainsFunc(run.Sweeps, func(x jobs.Sweep) bool { return slices.Contains(w.Queues, x.Queue()) }) {
			s.Workers = append(s.Workers, w)
		}
	}
	beats, now, err := st.Beats(ctx, run.ID)
	if err != nil {
		return runStatus{}, err
	}
	for _, b := range beats {
		// What a worker that is gone was at is not under way any more.
		if !b.Ended && now.UnixMilli()-b.AtMs <= intervals().silence.Milliseconds() {
			s.Tasks = append(s.Tasks, b)
		}
	}
	slices.SortFunc(s.Tasks, func(x, y jobs.Beat) int { return int(x.StartedMs - y.StartedMs) })
	s.Leader, err = st.Leader(ctx, run.ID)
	return s, err
}

// confirmed reports whether the run has or wants cells that are confirmed.
func (s runStatus) confirmed() bool {
	return slices.ContainsFunc(s.Sweeps, func(x sweepStatus) bool { return x.Confirmed > 0 || x.ToConfirm > 0 })
}

// atHand returns the workers that are not in quarantine.
func (s runStatus) atHand() []jobs.Worker {
	return slices.DeleteFunc(slices.Clone(s.Workers), func(w jobs.Worker) bool {
		return slices.ContainsFunc(s.Quarantine, func(q jobs.Quarantine) bool { return q.Worker == w.ID })
	})
}

func (s runStatus) print(out io.Writer) {
	fmt.Fprintf(out, "run %s (start %d, %s): %s", s.Run, s.Number, s.Created, s.State)
	if s.State != jobs.Complete {
		fmt.Fprintf(out, ", %.1f %%", s.percent())
	}
	if s.Priority != jobs.Normal.String() {
		fmt.Fprintf(out, ", %s priority", s.Priority)
	}
	fmt.Fprintln(out)
	if s.Reason != "" {
		fmt.Fprintf(out, "reason: %s\n", s.Reason)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "sweep\tn\tvalues\tof\tcells\tof")
	for _, x := range s.Sweeps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", x.Name, x.N, group(int64(x.Values)), group(int64(x.Total)), group(x.Cells), group(x.Cellsof))
	}
	w.Flush()
	for _, x := range s.Sweeps {
		if x.Disputed > 0 {
			fmt.Fprintf(out, "sweep %s: %s disputed\n", x.Name, report.Plural(x.Disputed, "cell"))
		}
	}
	for _, f := range s.Failures {
		fmt.Fprintf(out, "failed: sweep %s, %s: %s\n", f.Sweep, failedN(f), firstLine(f.Error))
	}
	if s.Verification != nil {
		s.Verification.print(out)
	} else {
		printQuarantine(out, s.Quarantine)
	}
	slots, atHand := 0, s.atHand()
	for _, x := range atHand {
		slots += x.Slots
	}
	if s.State == jobs.Running || s.State == jobs.Paused {
		leader := s.Leader
		if leader == "" {
			leader = "nobody"
		}
		fmt.Fprintf(out, "led by %s; %s with %s; %s under way\n", leader, report.Plural(len(atHand), "worker"), report.Plural(slots, "slot"), report.Plural(len(s.Tasks), "task"))
		if len(atHand) == 0 && len(s.Quarantine) > 0 {
			fmt.Fprintln(out, "no worker is at hand but those in quarantine: start one on another machine")
		}
	}
}

// failedN names the n of a failure.
func failedN(f jobs.Failure) string {
	switch {
	case f.Hi == f.Lo+1:
		return fmt.Sprintf("n = %d", f.Lo)
	case len(f.Points) == 1:
		return fmt.Sprintf("n = %d", f.Points[0])
	case f.Hi > f.Lo:
		return fmt.Sprintf("n = %d…%d", f.Lo, f.Hi-1)
	}
	return fmt.Sprintf("n in %v", f.Points)
}

func (a *app) runsCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs of a store",
		Long: `Lists the runs of a store with their state and how much of them is stored. A run
that cannot be read is damaged; what is wrong with it is said on standard error.`,
		Example: `  nsweep runs
  nsweep runs --redis redis://redis.lan:6379/0 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runs(cmd.Context(), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (a *app) runs(ctx context.Context, asJSON bool) (err error) {
	st, err := a.openLook(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	all, err := st.Runs(ctx)
	damaged, err := jobs.Damaged(err)
	if err != nil {
		return err
	}
	list := []runStatus{}
	for _, run := range all {
		counts, err := st.Counts(ctx, run.ID)
		if err != nil {
			return err
		}
		list = append(list, newRunStatus(run, counts))
	}
	for _, d := range damaged {
		list = append(list, runStatus{Run: d.ID.Name, Epoch: d.ID.Epoch, State: stateDamaged, Reason: d.Err.Error(), Sweeps: []sweepStatus{}})
	}
	if asJSON {
		return writeJSON(a.out, list)
	}
	if len(list) == 0 {
		fmt.Fprintf(a.out, "no runs in %s\n", st.where)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "run\tstate\tdone\tsweeps\tcreated")
	for _, s := range list {
		if s.State == stateDamaged {
			fmt.Fprintf(w, "%s\t%s\t–\t–\t–\n", s.Run, s.State)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f %%\t%d\t%s\n", s.Run, s.State, s.percent(), len(s.Sweeps), s.Created)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, d := range damaged {
		a.warn(d.Error() + "; nsweep delete " + d.ID.Name + " --yes removes it")
	}
	return nil
}

// runArgs completes the names of runs, and of a run's sweeps where a command
// takes one.
func (a *app) runArgs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 || len(args) == 1 && !strings.Contains(cmd.Use, " SWEEP") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	st, err := a.openLook(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer st.Close()
	var names []string
	if len(args) == 1 {
		run, _ := st.find(ctx, args[0]) // none has no sweeps
		for _, s := range run.Sweeps {
			names = append(names, s.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := st.Runs(ctx)
	for _, r := range all { // also beside an error: those that can be read
		names = append(names, r.ID.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
