package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// superscript writes k ≥ 0 in raised digits.
func superscript(k int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var b strings.Builder
	for _, c := range strconv.Itoa(k) {
		b.WriteRune(digits[c-'0'])
	}
	return b.String()
}

// Letter returns the name of the function out of a symbol such as "M(n)".
func Letter(symbol string) string {
	name, _, _ := strings.Cut(symbol, "(")
	return name
}

// SumName writes a sum of powers of a function with a symbol such as "M(n)": "Σ M³".
func SumName(symbol string, power int) string {
	if power == 1 {
		return "Σ " + Letter(symbol)
	}
	return "Σ " + Letter(symbol) + superscript(power)
}

// Duration writes a time span with about three digits: "4 ms", "12.3 s",
// "4 min 05 s", "2 h 03 min".
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		s := int64(d.Seconds())
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
	m := int64(d.Minutes())
	return fmt.Sprintf("%d h %02d min", m/60, m%60)
}

// Span writes a time that is planned, estimated or allowed, with about two digits
// below a minute, as [Duration] does above, and in days, years or centuries beyond
// two of the unit before: "1.5 s", "10 s", "2 h 03 min", "2.5 days".
func Span(d time.Duration) string {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	switch {
	case d > 100*year:
		return "centuries"
	case d > 2*year:
		return fmt.Sprintf("%.0f years", d.Hours()/24/365)
	case d > 2*day:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	case d >= time.Minute:
		return Duration(d.Round(time.Second))
	case d >= 9950*time.Millisecond:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return Duration(d)
}

// Group writes an integer with its digits in groups of three: "1,234,567".
func Group(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural writes a number of things, named in the singular: "1 task",
// "1,200 tasks", "2 stretches".
func Plural[T int | int64](n T, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "ch"):
		return Group(int64(n)) + " " + what + "es"
	}
	return Group(int64(n)) + " " + what + "s"
}
