package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

// verification says what of a run was confirmed by a second computation, and
// which workers are in quarantine.
type verification struct {
	// Sample is the share of the cells that the run needs confirmed, or empty.
	Sample     string              `json:"sample,omitempty"`
	Sweeps     []sweepVerification `json:"sweeps"`
	Quarantine []jobs.Quarantine   `json:"quarantine"`
}

// sweepVerification counts what is stored and confirmed of one sweep. Share is
// the part of all n of the sweep, from 0 to 1.
type sweepVerification struct {
	Sweep  string         `json:"sweep"`
	Cells  int64          `json:"cells"`
	Of     int64          `json:"cells_total"`
	Values aggregator.Int `json:"values"`
	Share  float64        `json:"share"`
	// Missing counts the cells that the run needs confirmed and that are not.
	Missing int64        `json:"missing,omitempty"`
	By      []verifiedBy `json:"verified_by,omitempty"`
}

// verifiedBy counts what one worker has confirmed by one algorithm of what was
// stored by one algorithm. Own counts the cells that it had stored itself.
type verifiedBy struct {
	Worker    string         `json:"worker"`
	Algorithm string         `json:"algorithm"`
	Stored    string         `json:"stored_by_algorithm,omitempty"`
	Cells     int64          `json:"cells"`
	Values    aggregator.Int `json:"values"`
	Own       int64          `json:"own_cells,omitempty"`
}

// verificationOf reads it. It takes time in proportion to the number of cells.
func verificationOf(ctx context.Context, st *opened, run jobs.Run) (*verification, error) {
	v := &verification{Sweeps: []sweepVerification{}, Quarantine: []jobs.Quarantine{}}
	if run.Verify > 0 {
		v.Sample = jobs.Sample{Millionths: run.Verify}.String()
	}
	for _, s := range run.Sweeps {
		x, err := sweepVerificationOf(ctx, st, run, s)
		if err != nil {
			return nil, err
		}
		v.Sweeps = append(v.Sweeps, x)
	}
	list, err := st.Quarantines(ctx, run.Manifest)
	v.Quarantine = append(v.Quarantine, list...)
	return v, err
}

func sweepVerificationOf(ctx context.Context, st *opened, run jobs.Run, s jobs.Sweep) (sweepVerification, error) {
	v := sweepVerification{Sweep: s.Name, Of: s.CellCount()}
	l, err := st.Ledger(ctx, run.ID, s)
	if err != nil {
		return v, err
	}
	m, err := st.Marks(ctx, run.ID, s)
	if err != nil {
		return v, err
	}
	has := func(int64) bool { return false }
	if run.Verify > 0 {
		has = s.CheckSample(run.Verify).Of(s.Name)
	}
	type key struct{ by, chk uint16 }
	sum := map[key]*verifiedBy{}
	note := func(id int64, done bool, by, chk uint16, values int64) {
		if !done || chk == 0 {
			if has(id) {
				v.Missing++
			}
			return
		}
		x := sum[key{by, chk}]
		if x == nil {
			author, _ := m.Hand(by)
			checker, known := m.Hand(chk)
			if !known {
				checker = jobs.Hand{Worker: "unknown", Algorithm: "unknown"}
			}
			x = &verifiedBy{Worker: checker.Worker, Algorithm: checker.Algorithm, Stored: author.Algorithm}
			if author.Worker == checker.Worker {
				x.Own = -1 // to be counted
			}
			sum[key{by, chk}] = x
		}
		x.Cells++
		x.Values += aggregator.Int(values)
		v.Cells++
		v.Values += aggregator.Int(values)
	}
	first, last := s.Cells()
	for i := first; i < last; i++ {
		by, chk := m.Cell(i)
		c, _ := s.Cell(i)
		note(i, l.Done(i), by, chk, c.Len())
	}
	for _, n := range s.Set.Points {
		by, chk := m.Point(n)
		note(-n, l.PointDone(n), by, chk, 1)
	}
	v.Share = float64(v.Values) / float64(max(s.Set.Count(), 1))
	v.By = merged(sum)
	return v, nil
}

// merged adds up what has the same worker and algorithms, the most first.
func merged[K comparable](sum map[K]*verifiedBy) []verifiedBy {
	type key struct{ worker, algorithm, stored string }
	all := map[key]*verifiedBy{}
	for _, x := range sum {
		if x.Own != 0 {
			x.Own = x.Cells
		}
		k := key{x.Worker, x.Algorithm, x.Stored}
		if y := all[k]; y != nil {
			y.Cells, y.Values, y.Own = y.Cells+x.Cells, y.Values+x.Values, y.Own+x.Own
		} else {
			all[k] = x
		}
	}
	var out []verifiedBy
	for _, x := range all {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b verifiedBy) int {
		if a.Cells != b.Cells {
			return int(b.Cells - a.Cells)
		}
		return strings.Compare(a.Worker+a.Algorithm+a.Stored, b.Worker+b.Algorithm+b.Stored)
	})
	return out
}

// some reports whether there is anything to say.
func (v *verification) some() bool {
	return v.Sample != "" || len(v.Quarantine) > 0 || slices.ContainsFunc(v.Sweeps, func(s sweepVerification) bool { return s.Cells > 0 })
}

// shownHands is how many lines about workers are printed for a sweep; the JSON has
// all.
const shownHands = 20

// print writes it for people; nothing where there is nothing to say.
func (v *verification) print(out io.Writer) {
	if !v.some() {
		return
	}
	fmt.Fprintln(out, "\nconfirmed by a second computation"+map[bool]string{true: ", wanted: " + v.Sample}[v.Sample != ""])
	for _, s := range v.Sweeps {
		fmt.Fprintf(out, "  %s: %s of %s cells, %s n, %s of all", s.Sweep, group(s.Cells), group(s.Of), group(int64(s.Values)), percentText(s.Share))
		if s.Missing > 0 {
			fmt.Fprintf(out, "; %s are missing", group(s.Missing))
		}
		fmt.Fprintln(out)
		for i, x := range s.By {
			if i == shownHands {
				fmt.Fprintf(out, "    and %d more workers and algorithms\n", len(s.By)-i)
				break
			}
			how := "by " + x.Algorithm
			if x.Stored != "" && x.Stored != x.Algorithm {
				how += ", stored by " + x.Stored
			} else if x.Stored != "" {
				how += ", as they were stored, from a start of its own"
			}
			own := ""
			if x.Own > 0 {
				own = ", which had stored them itself"
			}
			fmt.Fprintf(out, "    %s %s, on %s%s\n", report.Plural(x.Cells, "cell"), how, x.Worker, own)
		}
	}
	printQuarantine(out, v.Quarantine)
}

// printQuarantine says who is in quarantine and why.
func printQuarantine(out io.Writer, list []jobs.Quarantine) {
	for _, q := range list {
		fmt.Fprintf(out, "in quarantine: worker %s, since %s: %s", q.Worker, momentText(q.AtMs), q.Why())
		switch {
		case q.Pending:
			fmt.Fprintln(out, "; its cells are about to be computed again")
		default:
			fmt.Fprintf(out, "; %s cells that only it had computed were opened again\n", group(q.Reopened))
		}
	}
}

// percentText writes a share with as many digits as it takes to see it.
func percentText(share float64) string {
	switch p := 100 * share; {
	case p >= 10 || p == 0:
		return fmt.Sprintf("%.4g %%", p)
	default:
		return fmt.Sprintf("%.2g %%", p)
	}
}
