package report

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// cell is one field of a text table.
type cell struct {
	text  string
	right bool
	style style
}

// style is the escape sequence that switches a colour on, or empty.
type style string

const (
	noStyle style = ""
	bold    style = "\x1b[1m"
	dim     style = "\x1b[2m"
	red     style = "\x1b[31m"
	green   style = "\x1b[32m"
	reset         = "\x1b[0m"
)

// painter writes text in colours where the reader can show them.
type painter struct {
	color bool
}

func (p painter) paint(s string, st style) string {
	if !p.color || st == noStyle || s == "" {
		return s
	}
	return string(st) + s + reset
}

// width is the number of columns of s: every character that this package
// writes takes one.
func width(s string) int { return utf8.RuneCountInString(s) }

// table writes rows of cells in columns two blanks apart, a rule below the
// first. Nothing is ever cut.
func (p painter) table(w io.Writer, rows [][]cell) error {
	widths := columns(rows)
	var b bytes.Buffer
	line := func(row []cell) {
		start := b.Len()
		for i, c := range row {
			s := c.text
			pad := strings.Repeat(" ", widths[i]-width(s))
			if c.right {
				s = pad + p.paint(s, c.style)
			} else {
				s = p.paint(s, c.style) + pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(s)
		}
		trimmed := bytes.TrimRight(b.Bytes()[start:], " ")
		b.Truncate(start + len(trimmed))
		b.WriteByte('\n')
	}
	for i, row := range rows {
		line(row)
		if i == 0 {
			rule := make([]cell, len(row))
			for k := range row {
				rule[k] = cell{text: strings.Repeat("─", widths[k]), style: dim}
			}
			line(rule)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// columns returns the width of each column.
func columns(rows [][]cell) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(c.text))
		}
	}
	return widths
}

// tableWidth is the width of what table writes.
func tableWidth(rows [][]cell) int {
	total := -2
	for _, x := range columns(rows) {
		total += x + 2
	}
	return total
}
