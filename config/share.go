package config

import (
	"fmt"
	"strconv"
	"strings"
)

// allShare is the share of everything, in millionths.
const allShare = 1_000_000

// ParseShare reads a share: "all", or a percentage such as "2%" or "0.5%" with at
// most four digits after the point. It returns millionths, 0 … 1000000, exactly.
func ParseShare(text string) (int64, error) {
	const percent = allShare / 100
	bad := fmt.Errorf("%q is no share; want all, or a percentage such as 2%% or 0.5%% up to 100%%", text)
	if text == "all" {
		return allShare, nil
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

// shareText writes a share so that ParseShare reads it.
func shareText(millionths int64) string {
	if millionths == allShare {
		return "all"
	}
	text := fmt.Sprintf("%d.%04d", millionths/10_000, millionths%10_000)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
}

// verify decodes the share of the cells that is to be computed a second time, and
// whether by the same algorithm.
func (d *decoder) verify(n *node) (share int64, same bool) {
	if n == nil {
		return 0, false
	}
	const form = "want all, or a percentage such as 2% or 0.5%"
	var algorithm string
	if d.text(n.get("algorithm"), "verify.algorithm", &algorithm); algorithm != "" && algorithm != "same" && algorithm != "other" {
		d.refuse(n.get("algorithm"), "verify.algorithm", quote(algorithm)+" is not a way to verify", "want same or other")
	}
	same = algorithm == "same"
	sample := n.get("sample")
	if sample == nil {
		if !n.dropped {
			d.refuse(n, "verify.sample", "is missing", form)
		}
		return 0, same
	}
	share, err := ParseShare(sample.text)
	switch {
	case err != nil:
		d.refuse(sample, "verify.sample", quote(sample.text)+" is not a share of the cells", form)
	case share == 0:
		d.refuse(sample, "verify.sample", quote(sample.text)+" verifies nothing", form+", or no verify at all")
	}
	return share, same
}
