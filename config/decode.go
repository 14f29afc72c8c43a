package config

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// maxText is the longest text value, in bytes.
const maxText = 4096

// decoder takes values out of a tree that fits the schema. A node whose scalar
// is refused becomes bad, and so do the nodes above it up to the sweep.
type decoder struct {
	p *problems
}

func (d *decoder) refuse(n *node, key, problem, want string) {
	d.p.add(n.at, key, problem, want)
	n.bad = true
}

// textProblem says why s cannot be the text of a setting, or nothing.
func textProblem(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty"
	case len(s) > maxText:
		return fmt.Sprintf("is longer than %d bytes", maxText)
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "holds a control character or a line break"
		}
	}
	return ""
}

// text stores the text of n in to, if there is n.
func (d *decoder) text(n *node, key string, to *string) {
	if n == nil {
		return
	}
	if bad := textProblem(n.text); bad != "" {
		d.refuse(n, key, bad, "want plain text")
		return
	}
	*to = n.text
}

// big stores the integer n in to, if there is n.
func (d *decoder) big(n *node, key string, to **big.Int) {
	if n == nil {
		return
	}
	v, err := ParseInt(n.text)
	if err != nil {
		d.refuse(n, key, err.Error(), intForms)
		return
	}
	*to = v
}

// int stores the integer n in to, if there is n and it lies within low … high.
func (d *decoder) int(n *node, key string, low, high int64, to *int64) {
	var v *big.Int
	if d.big(n, key, &v); v == nil {
		return
	}
	if !v.IsInt64() || v.Int64() < low || v.Int64() > high {
		d.refuse(n, key, quote(n.text)+" is out of range", "want a whole number from "+number(low)+" to "+number(high))
		return
	}
	*to = v.Int64()
}

// number writes the limits that are powers of ten as such.
func number(v int64) string {
	if v == MaxN {
		return "10^18"
	}
	return strconv.FormatInt(v, 10)
}

// sweep decodes one item of the list of sweeps.
func (d *decoder) sweep(n *node, key string) Sweep {
	s := Sweep{Keep: KeepValues}
	d.text(n.get("name"), key+".name", &s.Name)
	d.text(n.get("engine"), key+".engine", &s.Engine)
	d.text(n.get("algorithm"), key+".algorithm", &s.Algorithm)
	d.text(n.get("keep"), key+".keep", &s.Keep)
	d.text(n.get("compare"), key+".compare", &s.Compare)
	if params := n.get("params"); params != nil {
		s.Params = make(map[string]int64, len(params.fields))
		for _, f := range params.fields {
			var v int64
			d.int(f.value, key+".params."+f.key, math.MinInt64, math.MaxInt64, &v)
			s.Params[f.key] = v
		}
	}
	if set := n.get("n"); set != nil {
		s.N = d.n(set, key+".n")
	}
	if sums := n.get("sums"); sums != nil {
		for i, item := range sums.items {
			var power int64
			d.int(item.get("power"), fmt.Sprintf("%s.sums[%d].power", key, i), 1, MaxPower, &power)
			item.bad = item.bad || anyBad(item)
			s.Sums = append(s.Sums, int(power))
		}
	}
	if cps := n.get("checkpoints"); cps != nil {
		for i, item := range cps.items {
			s.Checkpoints = append(s.Checkpoints, d.checkpoint(item, fmt.Sprintf("%s.checkpoints[%d]", key, i)))
		}
	}
	return s
}

// n decodes a set of n. Whatever is refused makes the node bad.
func (d *decoder) n(n *node, key string) N {
	var s N
	from, to, step := n.get("from"), n.get("to"), n.get("step")
	d.int(from, key+".from", 1, MaxN, &s.From)
	d.int(to, key+".to", 1, MaxN, &s.To)
	d.int(step, key+".step", 1, MaxN, &s.Step)
	if to != nil && from == nil {
		s.From = 1
	}
	if to == nil && (from != nil || step != nil) && !n.dropped {
		d.refuse(n, key+".to", "is missing", "want the last n of the range")
	}
	if values := n.get("values"); values != nil {
		if len(values.items) == 0 {
			d.refuse(values, key+".values", "is an empty list", "want at least one n, such as [4, 20]")
		}
		s.Values = make([]int64, len(values.items))
		for i, item := range values.items {
			d.int(scalar(item), fmt.Sprintf("%s.values[%d]", key, i), 1, MaxN, &s.Values[i])
			values.bad = values.bad || item.bad
		}
	}
	if dec := n.get("decades"); dec != nil {
		s.Decades = &Decades{}
		for _, f := range []struct {
			key       string
			low, high int64
			to        *int64
			required  bool
		}{
			{"from", 0, 18, &s.Decades.From, true},
			{"to", 0, 18, &s.Decades.To, true},
			{"per_decade", 1, MaxPerDecade, &s.Decades.PerDecade, false},
		} {
			k := key + ".decades." + f.key
			v := dec.get(f.key)
			d.int(v, k, f.low, f.high, f.to)
			if v == nil && f.required && !dec.dropped {
				d.refuse(dec, k, "is missing", "want an exponent of ten from 0 to 18")
			}
		}
		dec.bad = dec.bad || anyBad(dec)
	}
	n.bad = n.bad || anyBad(n)
	return s
}

func (d *decoder) checkpoint(n *node, key string) Checkpoint {
	var c Checkpoint
	var power int64
	d.int(n.get("n"), key+".n", 1, MaxN, &c.N)
	d.big(n.get("value"), key+".value", &c.Value)
	d.int(n.get("sum_of_power"), key+".sum_of_power", 1, MaxPower, &power)
	d.big(n.get("equals"), key+".equals", &c.Equals)
	c.Power = int(power)
	n.bad = n.bad || anyBad(n)
	return c
}

// scalar returns n unless the schema has refused it.
func scalar(n *node) *node {
	if n.kind != scalarNode {
		return nil
	}
	return n
}

func anyBad(n *node) bool {
	for _, f := range n.fields {
		if f.value.bad {
			return true
		}
	}
	return false
}
