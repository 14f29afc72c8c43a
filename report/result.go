package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nsweep/nsweep/aggregator"
)

// maxTable is the widest table, in columns, that carries the sums as well. They
// stand below it in any case.
const maxTable = 100

// maxChecks is how many checkpoints of a sweep are listed one by one, and how
// many that are not met when there are more.
const maxChecks = 20

// TableOption changes how WriteTable writes.
type TableOption func(*tableOptions)

type tableOptions struct {
	painter
	symbols map[string]string
	note    string
}

// Color has the table written with the escape sequences of terminals.
func Color() TableOption { return func(o *tableOptions) { o.color = true } }

// Symbols names the functions by their engines' names, as in "hopping": "M(n)".
// Without it a function is called f(n).
func Symbols(symbols map[string]string) TableOption {
	return func(o *tableOptions) { o.symbols = symbols }
}

// Note adds to the first line how the run stands, as in "halted".
func Note(s string) TableOption { return func(o *tableOptions) { o.note = s } }

// WriteJSON writes the result as indented JSON. Values and sums are strings,
// other integers numbers up to 2^53.
func WriteJSON(w io.Writer, r aggregator.Result) error {
	var b bytes.Buffer
	if err := json.Indent(&b, r.Encode(), "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(w)
	return err
}

// WriteTable writes the result for people: one line for the run, a table with a
// row for each sweep, and for each sweep its numbers and digests in full. It is
// readable in 80 to 100 columns; numbers are never cut, so long ones can go
// beyond.
func WriteTable(w io.Writer, r aggregator.Result, options ...TableOption) error {
	var o tableOptions
	for _, set := range options {
		set(&o)
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, o.headline(r))
	if len(r.Sweeps) > 0 {
		b.WriteByte('\n')
		rows := o.rows(r, true)
		if tableWidth(rows) > maxTable {
			rows = o.rows(r, false)
		}
		if err := o.table(&b, rows); err != nil {
			return err
		}
	}
	for _, s := range r.Sweeps {
		b.WriteByte('\n')
		o.details(&b, s)
	}
	_, err := b.WriteTo(w)
	return err
}

func (o tableOptions) symbol(engine string) string {
	if s := o.symbols[engine]; s != "" {
		return s
	}
	return "f(n)"
}

func (o tableOptions) headline(r aggregator.Result) string {
	ok, bad, pending := 0, 0, 0
	for _, s := range r.Sweeps {
		a, b, c := s.Checks()
		ok, bad, pending = ok+a, bad+b, pending+c
	}
	line := o.paint("run "+r.Run, bold)
	if r.Number > 0 {
		line += fmt.Sprintf(" (start %d, epoch %s)", r.Number, r.Epoch)
	}
	if o.note != "" {
		line += ", " + o.note
	}
	if r.Complete {
		line += ": complete, every n exactly once"
	} else {
		line += ": not complete"
	}
	switch {
	case bad > 0:
		line += ", " + o.paint(fmt.Sprintf("%s NOT met", Plural(bad, "checkpoint")), red)
	case ok > 0 && pending == 0:
		line += ", " + o.paint(fmt.Sprintf("%s met", Plural(ok, "checkpoint")), green)
	case pending > 0:
		line += fmt.Sprintf(", %d of %s met", ok, Plural(ok+pending, "checkpoint"))
	}
	if r.ElapsedMs > 0 {
		line += ", " + Duration(time.Duration(r.ElapsedMs)*time.Millisecond)
	}
	return line
}

func (o tableOptions) rows(r aggregator.Result, sums bool) [][]cell {
	timed := false
	for _, s := range r.Sweeps {
		timed = timed || s.ElapsedMs > 0
	}
	head := []string{"sweep", "n", "values", "checks"}
	if sums {
		head = append(head, "sums")
	}
	head = append(head, "text", "tree")
	if timed {
		head = append(head, "time")
	}
	rows := [][]cell{nil}
	for _, h := range head {
		rows[0] = append(rows[0], cell{text: h, style: bold, right: h == "values" || h == "time"})
	}
	for _, s := range r.Sweeps {
		values := fmt.Sprint(s.Count)
		if !s.Complete {
			values = fmt.Sprintf("%d of %d", s.Done, s.Count)
		}
		row := []cell{{text: s.Name}, {text: s.N}, {text: values, right: true}, o.checks(s)}
		if sums {
			var all []string
			for _, p := range s.Sums {
				all = append(all, SumName(o.symbol(s.Engine), p.Power)+" = "+p.Value)
			}
			row = append(row, cell{text: strings.Join(all, ", ")})
		}
		row = append(row, cell{text: short(s.Text)}, cell{text: short(s.Tree)})
		if timed {
			c := cell{right: true}
			if s.ElapsedMs > 0 {
				c.text = Duration(time.Duration(s.ElapsedMs) * time.Millisecond)
			}
			row = append(row, c)
		}
		rows = append(rows, row)
	}
	return rows
}

// checks writes how a sweep's checkpoints stand: "5 ✓", "4 ✓ 1 ✗ 2 ·".
func (o tableOptions) checks(s aggregator.SweepResult) cell {
	ok, bad, pending := s.Checks()
	var parts []string
	if ok > 0 {
		parts = append(parts, fmt.Sprintf("%d ✓", ok))
	}
	if bad > 0 {
		parts = append(parts, fmt.Sprintf("%d ✗", bad))
	}
	if pending > 0 {
		parts = append(parts, fmt.Sprintf("%d ·", pending))
	}
	c := cell{text: strings.Join(parts, " ")}
	switch {
	case bad > 0:
		c.style = red
	case ok > 0 && pending == 0:
		c.style = green
	}
	return c
}

// short is the beginning of a digest; the whole of it stands below the table.
func short(digest string) string { return digest[:min(8, len(digest))] }

// details writes all that is known of one sweep.
func (o tableOptions) details(b *bytes.Buffer, s aggregator.SweepResult) {
	symbol := o.symbol(s.Engine)
	about := []string{symbol, fmt.Sprintf("engine %s version %d", s.Engine, s.Version)}
	if p := s.Params.String(); p != "" {
		about = append(about, p)
	}
	if s.Algorithm != "" {
		about = append(about, "algorithm "+s.Algorithm)
	}
	fmt.Fprintf(b, "%s  %s\n", o.paint(s.Name, bold), strings.Join(about, ", "))
	line := func(label, text string, st style) {
		fmt.Fprintf(b, "  %-13s  %s\n", label, o.paint(text, st))
	}
	at := func(v *aggregator.ValueAt) string { return fmt.Sprintf("%s(%d) = %s", Letter(symbol), v.N, v.Value) }
	for _, p := range s.Sums {
		name := SumName(symbol, p.Power)
		if !s.Complete && s.Last != nil {
			name += fmt.Sprintf(" (n ≤ %d)", s.Last.N)
		}
		line("sum", name+" = "+p.Value, noStyle)
	}
	if s.First != nil {
		line("first, last", at(s.First)+", "+at(s.Last), noStyle)
		line("least, most", at(s.Min)+", "+at(s.Max), noStyle)
	}
	o.listChecks(s, line)
	if s.Text != "" {
		line("text SHA-256", s.Text, noStyle)
	}
	if s.Tree != "" {
		line("tree SHA-256", s.Tree, noStyle)
	}
}

// listChecks writes all checkpoints, or of very many those that are not met.
func (o tableOptions) listChecks(s aggregator.SweepResult, line func(label, text string, st style)) {
	symbol := o.symbol(s.Engine)
	all := len(s.Checkpoints) <= maxChecks
	listed, left := 0, 0
	for _, c := range s.Checkpoints {
		if !all && (c.Status != aggregator.Mismatch || listed == maxChecks) {
			left++
			continue
		}
		listed++
		what := fmt.Sprintf("%s(%d)", Letter(symbol), c.N)
		if c.Power > 0 {
			what = fmt.Sprintf("%s (n ≤ %d)", SumName(symbol, c.Power), c.N)
		}
		switch c.Status {
		case aggregator.OK:
			line("checkpoint", "✓ "+what+" = "+c.Want, green)
		case aggregator.Mismatch:
			line("checkpoint", "✗ "+what+": expected "+c.Want+", found "+c.Got, red)
		default:
			line("checkpoint", "· "+what+" = "+c.Want+", not reached yet", dim)
		}
	}
	if left > 0 {
		ok, bad, pending := s.Checks()
		line("checkpoints", fmt.Sprintf("%d more: %d met, %d not met, %d not reached yet", left, ok, bad-listed, pending), noStyle)
	}
}
