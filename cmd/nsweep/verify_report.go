package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// verifyReport is what verify found, and its JSON.
type verifyReport struct {
	Run   string     `json:"run"`
	Epoch string     `json:"epoch"`
	State jobs.State `json:"state"`
	// Complete says that everything is there and proven.
	Complete bool           `json:"complete"`
	Sample   string         `json:"sample"`
	Seed     uint64         `json:"seed"`
	Sweeps   []*verifySweep `json:"sweeps"`
	// Reopened says that cells were opened, or that the run is open again.
	Reopened bool `json:"reopened"`
}

// verifySweep is what verify found in one sweep.
type verifySweep struct {
	Name       string         `json:"name"`
	N          string         `json:"n"`
	Count      aggregator.Int `json:"count"`
	Complete   bool           `json:"complete"`
	Cells      int64          `json:"cells"`
	CellsTotal int64          `json:"cells_total"`
	// Missing is the number of n that are not finished. Lost says that the run
	// was complete with them once.
	Missing aggregator.Int `json:"missing,omitempty"`
	Lost    bool           `json:"lost,omitempty"`
	// Damaged cells do not hold what was computed, different ones came out
	// different.
	Damaged   []finding `json:"damaged,omitempty"`
	Different []finding `json:"different,omitempty"`
	Checked   []checked `json:"checked,omitempty"`
	// Checkpoints holds those that are not met.
	Checkpoints []aggregator.CheckResult `json:"checkpoints,omitempty"`
	Text        string                   `json:"text,omitempty"`
	Tree        string                   `json:"tree,omitempty"`
	// WasTree is the digest with which the run ended, where it is another one.
	WasTree string `json:"was_tree,omitempty"`

	cells, points []int64 // to be opened
}

// checked counts what was computed again by one algorithm.
type checked struct {
	Algorithm string         `json:"algorithm"`
	Other     bool           `json:"other"` // not the run's own
	Cells     int64          `json:"cells"`
	Values    aggregator.Int `json:"values"`
}

// finding is one cell or point that does not hold.
type finding struct {
	Lo  aggregator.Int `json:"lo"`
	Hi  aggregator.Int `json:"hi"` // the last n
	N   aggregator.Int `json:"point,omitempty"`
	Why string         `json:"why"`
	// At is the first n at which another value was computed.
	At       aggregator.Int `json:"at,omitempty"`
	Stored   string         `json:"stored,omitempty"`
	Computed string         `json:"computed,omitempty"`

	cell int64 // grid index
}

// newFinding is about the point n, or the cell when n is 0.
func newFinding(c engine.Cell, n int64, why string) finding {
	f := finding{Lo: aggregator.Int(c.Lo), Hi: aggregator.Int(c.Hi - 1), Why: why, cell: c.Index}
	if n != 0 {
		f.Lo, f.Hi, f.N = aggregator.Int(n), aggregator.Int(n), aggregator.Int(n)
	}
	return f
}

func (f *finding) differs(n int64, stored, computed engine.Int128, algorithm string) {
	f.At, f.Stored, f.Computed = aggregator.Int(n), stored.String(), computed.String()
	f.Why = fmt.Sprintf("%s is stored at n = %d, %s computes %s", f.Stored, n, algorithm, f.Computed)
}

func (f finding) where() string {
	if f.Lo == f.Hi {
		return fmt.Sprintf("n = %d", f.Lo)
	}
	return fmt.Sprintf("n = %d…%d", f.Lo, f.Hi)
}

// wrong returns the number of cells and points that do not hold.
func (sv *verifySweep) wrong() int { return len(sv.Damaged) + len(sv.Different) }

// shownFindings is how many lines of findings are printed for a sweep; the JSON
// has all.
const shownFindings = 50

func (r *verifyReport) print(out io.Writer) error {
	fmt.Fprintf(out, "verify %s: %s of the cells computed again, seed %d\n", r.Run, r.Sample, r.Seed)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "sweep\tn\tcells\tof\tdamaged\tcomputed again\tdifferent\tlost n\tdigest")
	for _, s := range r.Sweeps {
		digest := "-"
		if s.Tree != "" {
			digest = s.Tree[:16] + "…"
		}
		if s.WasTree != "" {
			digest += " was " + s.WasTree[:16] + "…"
		}
		lost := int64(0)
		if s.Lost {
			lost = int64(s.Missing)
		}
		again := int64(0)
		for _, c := range s.Checked {
			again += c.Cells
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\n", s.Name, s.N, group(s.Cells), group(s.CellsTotal), len(s.Damaged), group(again), len(s.Different), group(lost), digest)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range r.Sweeps {
		for _, c := range s.Checked {
			how := "by " + c.Algorithm
			if !c.Other {
				how += ", the run's own algorithm, from a start of its own"
			}
			fmt.Fprintf(out, "%s: %s with %s computed again %s\n", s.Name, report.Plural(c.Cells, "cell"), report.Plural(int64(c.Values), "value"), how)
		}
		shown := 0
		for _, list := range [][]finding{s.Damaged, s.Different} {
			for _, f := range list {
				if shown++; shown <= shownFindings {
					fmt.Fprintf(out, "✗ %s %s: %s\n", s.Name, f.where(), f.Why)
				}
			}
		}
		if shown > shownFindings {
			fmt.Fprintf(out, "✗ %s: %d more, see --json\n", s.Name, shown-shownFindings)
		}
		for _, c := range s.Checkpoints {
			what := "value"
			if c.Power > 0 {
				what = fmt.Sprintf("sum of power %d", c.Power)
			}
			fmt.Fprintf(out, "✗ %s: checkpoint not met: %s at n = %d is %s, want %s\n", s.Name, what, c.N, c.Got, c.Want)
		}
		if s.WasTree != "" {
			fmt.Fprintf(out, "✗ %s: the run ended with other values than are stored now, though their CRCs fit\n", s.Name)
		}
	}
	return nil
}

// outcome returns the error that the exit code stands for.
func (r *verifyReport) outcome() error {
	cells, lost, other := 0, int64(0), false
	for _, s := range r.Sweeps {
		cells += s.wrong()
		other = other || len(s.Checkpoints) > 0 || s.WasTree != ""
		if s.Lost {
			lost += int64(s.Missing)
		}
	}
	var wrong []string
	if cells > 0 {
		do := "do"
		if cells == 1 {
			do = "does"
		}
		wrong = append(wrong, fmt.Sprintf("%s %s not hold", report.Plural(cells, "cell"), do))
	}
	if lost > 0 {
		are := "are"
		if lost == 1 {
			are = "is"
		}
		wrong = append(wrong, fmt.Sprintf("%s n %s lost", group(lost), are))
	}
	again := ""
	if r.Reopened {
		again = "; run the experiment again to compute what is open now"
	}
	switch {
	case len(wrong) > 0:
		return coded(codeMismatch, fmt.Errorf("run %s: %s%s", r.Run, strings.Join(wrong, " and "), again))
	case other:
		return coded(codeMismatch, fmt.Errorf("run %s does not hold; --sample all finds the cells", r.Run))
	case !r.Complete:
		return coded(codeStopped, fmt.Errorf("run %s holds as far as it goes, but is not complete", r.Run))
	}
	return nil
}
