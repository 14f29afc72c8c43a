package web

import (
	"fmt"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

var longNumber = regexp.MustCompile(`\d{4,}`)

// setText writes the n of a sweep with groups of digits.
func setText(s jobs.Set) string {
	return longNumber.ReplaceAllStringFunc(s.String(), func(digits string) string {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return digits
		}
		return report.Group(n)
	})
}

// digits marks groups of three digits so that the style sheet can set them
// apart, while what is copied stays the plain number. What is no number is
// escaped as it is.
func digits(s string) template.HTML {
	num := strings.TrimPrefix(s, "-")
	if num == "" || strings.Trim(num, "0123456789") != "" {
		return template.HTML(template.HTMLEscapeString(s))
	}
	var b strings.Builder
	b.WriteString(s[:len(s)-len(num)])
	head := (len(num)-1)%3 + 1
	b.WriteString(num[:head])
	for i := head; i < len(num); i += 3 {
		b.WriteString("<i>" + num[i:i+3] + "</i>")
	}
	return template.HTML(b.String())
}

// percent writes a share between 0 and 1 without ever rounding up to 100 %.
func percent(share float64) string {
	switch {
	case share >= 1:
		return "100 %"
	case share <= 0:
		return "0 %"
	case share < 0.001:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", math.Floor(1000*share)/10)
}

// width writes a share as a length for a picture.
func width(share float64) string { return fmt.Sprintf("%.2f%%", 100*min(1, max(0, share))) }

// rate writes values a second.
func rate(r float64) string {
	if r < 10 && r > 0 {
		return fmt.Sprintf("%.1f", r)
	}
	return report.Group(int64(math.Round(r)))
}

// left writes an estimate: one time where both views agree within a fifth, else
// both.
func (l Left) String() string {
	switch {
	case !l.Known && l.Idle > 0:
		return "stalled"
	case !l.Known:
		return "measuring…"
	case l.Most == 0:
		return "none"
	case l.Most < 2*time.Second:
		return "a moment"
	}
	a, b := report.Span(rough(l.Least)), report.Span(rough(l.Most))
	if l.Least > l.Most*4/5 || a == b {
		return "about " + b
	}
	return a + " to " + b
}

// rough drops the digits that an estimate cannot have.
func rough(d time.Duration) time.Duration {
	switch {
	case d > 5*time.Hour:
		return d.Round(10 * time.Minute)
	case d > time.Hour:
		return d.Round(5 * time.Minute)
	case d > 10*time.Minute:
		return d.Round(time.Minute)
	case d > time.Minute:
		return d.Round(10 * time.Second)
	}
	return d.Round(time.Second)
}

// checkName writes what a checkpoint is about.
func checkName(symbol string, c aggregator.CheckResult) string {
	if c.Power == 0 {
		return fmt.Sprintf("%s(%s)", report.Letter(symbol), report.Group(int64(c.N)))
	}
	return fmt.Sprintf("%s, n ≤ %s", report.SumName(symbol, c.Power), report.Group(int64(c.N)))
}

// short cuts a text to n characters.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// shortWorker drops the random part of a worker's name, which the title shows.
func shortWorker(id string) string {
	parts := strings.SplitN(id, ":", 3)
	if len(parts) < 3 {
		return id
	}
	return parts[0] + ":" + parts[1]
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return short(s, 200)
}

// sparkline writes the points of a line through the values, in a box of 100 by
// 24, the latest at the right.
func sparkline(values []float64) string {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	if len(values) < 6 || top == 0 {
		return ""
	}
	var b strings.Builder
	for i, v := range values {
		x := 100 - 100*float64(len(values)-1-i)/float64(sparkLen-1)
		fmt.Fprintf(&b, "%.1f,%.1f ", x, 23-22*v/top)
	}
	return strings.TrimSpace(b.String())
}

// slotsText sums up what workers have.
func slotsText(workers []WorkerView) string {
	slots, busy := 0, 0
	for _, w := range workers {
		slots += w.Slots
		busy += w.Busy
	}
	return fmt.Sprintf("%d of %s busy", busy, report.Plural(slots, "slot"))
}

// maxChecks is how many checkpoints of a sweep are listed: those not met
// first, then in their order.
const maxChecks = 24

func shownChecks(all []aggregator.CheckResult) []aggregator.CheckResult {
	if len(all) <= maxChecks {
		return all
	}
	var out []aggregator.CheckResult
	for _, bad := range []bool{true, false} {
		for _, c := range all {
			if (c.Status == aggregator.Mismatch) == bad && len(out) < maxChecks {
				out = append(out, c)
			}
		}
	}
	return out
}

func hiddenChecks(all []aggregator.CheckResult) string {
	if len(all) <= maxChecks {
		return ""
	}
	ok, bad, pending := aggregator.SweepResult{Checkpoints: all}.Checks()
	return fmt.Sprintf("%d in all: %d met, %d not met, %d not reached yet", len(all), ok, bad, pending)
}

func tick(s aggregator.Status) string {
	switch s {
	case aggregator.OK:
		return "✓"
	case aggregator.Mismatch:
		return "✗"
	}
	return "·"
}

func statusText(s aggregator.Status) string {
	switch s {
	case aggregator.OK:
		return "met"
	case aggregator.Mismatch:
		return "not met"
	}
	return "not reached yet"
}

// maxTail is how much of an error is shown: its end, where the log lines are.
const maxTail = 4000

func tail(s string) string {
	if len(s) <= maxTail {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxTail:], "")
}
