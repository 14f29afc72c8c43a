package config

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseShare reads a share: "all", or a percentage such as "2%" or "0.5%" with at
// most four digits after the point. It returns millionths, 0 … 1000000, exactly.
func ParseShare(text string) (int64, error) {
	const all, percent = 1_000_000, 10_000
	bad := fmt.Errorf("%q is no share; want all, or a percentage such as 2%% or 0.5%% up to 100%%", text)
	if text == "all" {
		return all, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	if !ok && text != "0" {
		return 0, bad
	}
	whole, fraction, point := strings.Cut(strings.TrimSpace(number), ".")
	if whole == "" || len(whole) > 3 || len(fraction) > 4 || (point && fraction == "") {
		return 0, bad
	}
	// At most 7 digits, so that the number fits.
	for _, c := range whole + fraction {
		if c < '0' || c > '9' {
			return 0, bad
		}
	}
	v, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 4-len(fraction)), 10, 64)
	if err != nil || v > 100*percent {
		return 0, bad
	}
	return v, nil
}
