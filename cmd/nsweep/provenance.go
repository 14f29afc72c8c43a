package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// reportTasks is how many tasks "report --json" lists one by one; "status
// --tasks" lists all.
const reportTasks = 10_000

// provenance says who computed what is stored.
type provenance struct {
	Workers []workerOrigin `json:"workers"`
	Tasks   []taskOrigin   `json:"tasks"`
	// Omitted counts the tasks that are in the workers' totals only.
	Omitted int64 `json:"tasks_omitted,omitempty"`
}

// workerOrigin is a worker with the totals of its tasks.
type workerOrigin struct {
	Worker string         `json:"worker"` // the name that tasks refer to
	ID     string         `json:"id"`
	Host   string         `json:"host,omitempty"`
	PID    int            `json:"pid,omitempty"`
	Slots  int            `json:"slots,omitempty"`
	Build  string         `json:"build,omitempty"`
	CPU    string         `json:"cpu,omitempty"`
	Tasks  int64          `json:"tasks"`
	Values aggregator.Int `json:"values"` // stored
	BusyMs int64          `json:"busy_ms"`
	First  string         `json:"first"` // start of its first task
	Last   string         `json:"last"`  // end of its last one

	firstMs, lastMs int64
}

// taskOrigin is a task that stored values: the range lo … hi−1, or that many
// points of which lo is the first and hi−1 the last. A second one has confirmed
// cells of that range.
type taskOrigin struct {
	Sweep     string         `json:"sweep"`
	Lo        aggregator.Int `json:"lo"`
	Hi        aggregator.Int `json:"hi"`
	Points    int64          `json:"points,omitempty"`
	Attempt   int            `json:"attempt"`
	Algorithm string         `json:"algorithm"`
	Second    bool           `json:"second,omitempty"`
	Worker    string         `json:"worker"`
	Started   string         `json:"started"`
	TookMs    int64          `json:"took_ms"`
}

// momentText writes milliseconds since 1970 as UTC.
func momentText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// provenanceOf reads a run's provenance with at most so many tasks; a negative
// number means all.
func provenanceOf(ctx context.Context, st *opened, id jobs.RunID, most int) (provenance, error) {
	p := provenance{Workers: []workerOrigin{}, Tasks: []taskOrigin{}}
	at := map[string]int{}
	err := st.Provenance(ctx, id, func(sweep string, o jobs.Origin) error {
		short := o.Worker.Short()
		i, known := at[short]
		if !known {
			i = len(p.Workers)
			at[short] = i
			w := o.Worker
			p.Workers = append(p.Workers, workerOrigin{Worker: short, ID: w.ID, Host: w.Host, PID: w.PID, Slots: w.Slots,
				Build: w.Build, CPU: w.CPU, firstMs: o.StartedMs})
		}
		took := o.Took.Milliseconds()
		w := &p.Workers[i]
		w.Tasks++
		if !o.Second {
			w.Values += aggregator.Int(o.Count())
		}
		w.BusyMs += took
		w.firstMs, w.lastMs = min(w.firstMs, o.StartedMs), max(w.lastMs, o.StartedMs+took)
		if most >= 0 && len(p.Tasks) >= most {
			p.Omitted++
			return nil
		}
		p.Tasks = append(p.Tasks, taskOrigin{Sweep: sweep, Lo: aggregator.Int(o.Lo), Hi: aggregator.Int(o.Hi), Points: o.Points,
			Attempt: o.Attempt, Algorithm: o.Algorithm, Second: o.Second, Worker: short, Started: momentText(o.StartedMs), TookMs: took})
		return nil
	})
	for i := range p.Workers {
		w := &p.Workers[i]
		w.First, w.Last = momentText(w.firstMs), momentText(w.lastMs)
	}
	slices.SortStableFunc(p.Workers, func(a, b workerOrigin) int { return int(a.firstMs - b.firstMs) })
	return p, err
}

// spent returns the time that workers have spent on what is stored of each
// sweep, all tasks added up; second computations are not counted. It decides
// nothing: when the notes cannot be read, the times are not known.
func (st *opened) spent(ctx context.Context, id jobs.RunID) map[string]time.Duration {
	m := map[string]time.Duration{}
	err := st.Provenance(ctx, id, func(sweep string, o jobs.Origin) error {
		if !o.Second {
			m[sweep] += o.Took
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return m
}

// timeSweeps enters the times into a result, in milliseconds, at least one.
func timeSweeps(r *aggregator.Result, spent map[string]time.Duration) {
	for i := range r.Sweeps {
		s := &r.Sweeps[i]
		if took, known := spent[s.Name]; known {
			s.ElapsedMs = max(1, took.Milliseconds())
		}
	}
}

// reported is the JSON of report: the result, and where it comes from.
type reported struct {
	aggregator.Result
	Provenance   provenance    `json:"provenance"`
	Verification *verification `json:"verification"`
}

// writeReport prints a result with its provenance as JSON.
func (a *app) writeReport(ctx context.Context, st *opened, run jobs.Run, r aggregator.Result) error {
	v, err := verificationOf(ctx, st, run)
	if err != nil {
		return err
	}
	p, err := provenanceOf(ctx, st, run.ID, reportTasks)
	if err != nil {
		return err
	}
	r.Format = aggregator.ResultFormat
	return writeJSON(a.out, reported{r, p, v})
}

// tasks prints the tasks under way and those that stored values, the latter by
// sweep and worker as they are read, so that millions of them take no memory.
func (s runStatus) tasks(ctx context.Context, out io.Writer, st *opened, id jobs.RunID) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	if len(s.Tasks) > 0 {
		fmt.Fprintln(out, "\nunder way")
		fmt.Fprintln(w, "  task\tworker\tstarted\tdone")
		for _, b := range s.Tasks {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%.0f %%\n", b.Task, b.Worker, momentText(b.StartedMs), 100*b.Fraction)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	const page = 1000 // rows that share the widths of their columns
	section, rows := "", 0
	err := st.Provenance(ctx, id, func(sweep string, o jobs.Origin) error {
		algorithm := o.Algorithm
		if o.Second {
			algorithm += " (confirms)"
		}
		if key := sweep + ":" + o.Worker.Short(); key != section {
			if err := w.Flush(); err != nil {
				return err
			}
			section, rows = key, 0
			fmt.Fprintf(out, "\nsweep %s, computed by %s\n", sweep, describeWorker(o.Worker))
			fmt.Fprintln(w, "  n\tattempt\talgorithm\tstarted\ttook")
		}
		fmt.Fprintf(w, "  %s\t%d\t%s\t%s\t%s\n", o.N(), o.Attempt, algorithm, momentText(o.StartedMs), report.Duration(o.Took))
		if rows++; rows%page == 0 {
			return w.Flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// describeWorker writes what is known of a worker in one line.
func describeWorker(w jobs.Worker) string {
	if w.Host == "" {
		return "worker " + w.ID + ", whose description was lost"
	}
	text := fmt.Sprintf("%s:%d (%s", w.Host, w.PID, w.Short())
	if w.Build != "" {
		text += ", " + w.Build
	}
	if w.CPU != "" {
		text += ", " + w.CPU
	}
	return text + ")"
}
