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

// letter returns the name of the function out of a symbol such as "M(n)".
func letter(symbol string) string {
	name, _, _ := strings.Cut(symbol, "(")
	return name
}

// sumName writes a sum of powers: "Σ M³".
func sumName(symbol string, power int) string {
	if power == 1 {
		return "Σ " + letter(symbol)
	}
	return "Σ " + letter(symbol) + superscript(power)
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

// plural writes "1 checkpoint", "2 checkpoints".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
