package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// YAML writes the experiment as a file that Load reads as the same experiment,
// with flags, variables and defaults filled in. Passwords are left out: neither
// they nor a URL that holds one belong into a file that is passed on.
func (e *Experiment) YAML() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "name: %s\n", yamlText(e.Name))
	if e.Priority != "" {
		fmt.Fprintf(&b, "priority: %s\n", yamlText(e.Priority))
	}
	if e.Verify > 0 {
		same := ""
		if e.VerifySame {
			same = ", algorithm: same"
		}
		fmt.Fprintf(&b, "verify: {sample: %s%s}\n", shareText(e.Verify), same)
	}
	if e.Notify != nil {
		fmt.Fprintf(&b, "notify: {%s}\n", strings.Join(e.Notify.yaml(), ", "))
	}
	r := e.Redis
	b.WriteString("redis:\n")
	for _, f := range []struct{ key, text string }{
		{"url", redactedURL(r.URL)}, {"username", r.Username}, {"password_file", r.PasswordFile},
		{"sentinel_username", r.SentinelUsername}, {"sentinel_password_file", r.SentinelPasswordFile},
		{"ca_file", r.CAFile}, {"cert_file", r.CertFile}, {"key_file", r.KeyFile},
	} {
		if f.text != "" {
			fmt.Fprintf(&b, "  %s: %s\n", f.key, yamlText(f.text))
		}
	}
	fmt.Fprintf(&b, "data_dir: %s\nworkers: {concurrency: %d}\n", yamlText(e.DataDir), e.Workers.Concurrency)
	if e.Metrics != (Metrics{}) {
		b.WriteString("metrics: {" + strings.Join(e.Metrics.yaml(), ", ") + "}\n")
	}
	b.WriteString("sweeps:\n")
	for _, s := range e.Sweeps {
		s.writeYAML(&b)
	}
	return b.Bytes()
}

// redactedURL returns a URL without what stands before the host.
func redactedURL(raw string) string {
	if _, _, err := parseRedisURL(raw); err != nil {
		return Redact(raw)
	}
	return withoutUser(raw)
}

func (s Sweep) writeYAML(b *bytes.Buffer) {
	fmt.Fprintf(b, "  - name: %s\n    engine: %s\n", yamlText(s.Name), yamlText(s.Engine))
	if s.Algorithm != "" {
		fmt.Fprintf(b, "    algorithm: %s\n", yamlText(s.Algorithm))
	}
	if len(s.Params) > 0 {
		var params []string
		for _, name := range slices.Sorted(maps.Keys(s.Params)) {
			params = append(params, fmt.Sprintf("%s: %d", yamlText(name), s.Params[name]))
		}
		fmt.Fprintf(b, "    params: {%s}\n", strings.Join(params, ", "))
	}
	fmt.Fprintf(b, "    keep: %s\n    n: {%s}\n", s.Keep, strings.Join(s.N.yaml(), ", "))
	if len(s.Sums) > 0 {
		var sums []string
		for _, power := range s.Sums {
			sums = append(sums, fmt.Sprintf("{power: %d}", power))
		}
		fmt.Fprintf(b, "    sums: [%s]\n", strings.Join(sums, ", "))
	}
	if s.Compare != "" {
		fmt.Fprintf(b, "    compare: %s\n", yamlText(s.Compare))
	}
	if len(s.Checkpoints) > 0 {
		b.WriteString("    checkpoints:\n")
	}
	for _, c := range s.Checkpoints {
		if c.Power == 0 {
			fmt.Fprintf(b, "      - {n: %d, value: %d}\n", c.N, c.Value)
		} else {
			fmt.Fprintf(b, "      - {n: %d, sum_of_power: %d, equals: %d}\n", c.N, c.Power, c.Equals)
		}
	}
}

// yaml returns the entries of the mapping n.
func (n N) yaml() []string {
	var parts []string
	if n.hasRange() {
		parts = append(parts, fmt.Sprintf("from: %d, to: %d", n.From, n.To))
	}
	if n.Step != 0 {
		parts = append(parts, fmt.Sprintf("step: %d", n.Step))
	}
	if len(n.Values) > 0 {
		parts = append(parts, "values: "+strings.ReplaceAll(fmt.Sprint(n.Values), " ", ", "))
	}
	if d := n.Decades; d != nil {
		s := fmt.Sprintf("decades: {from: %d, to: %d", d.From, d.To)
		if d.PerDecade != 0 {
			s += fmt.Sprintf(", per_decade: %d", d.PerDecade)
		}
		parts = append(parts, s+"}")
	}
	return parts
}

// yamlText writes a text as a YAML scalar: as it is where that is safe, in
// double quotes else, whose escapes are the same in Go and in YAML for
// printable text.
func yamlText(s string) string {
	if namePattern.MatchString(s) && strings.ContainsFunc(s, func(r rune) bool { return r >= 'a' }) && s != "null" {
		return s
	}
	return strconv.Quote(s)
}
