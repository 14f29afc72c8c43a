package config

import (
	"errors"
	"strings"
	"testing"
)

// sound is an experiment without fault; the cases below replace parts of it.
const sound = `name: demo
redis: {url: embedded}
data_dir: .nsweep
workers: {concurrency: 2}
sweeps:
  - name: hop
    engine: hopping
    n: {from: 1, to: 100}
    sums: [{power: 3}]
    checkpoints:
      - {n: 20, value: 4}
      - {n: 20, sum_of_power: 3, equals: 8150}
  - name: bez
    engine: bezout
    params: {determinant: 1}
    n: {values: [4, 20], decades: {from: 3, to: 5}}
`

// load reads text as the file f.yaml.
func load(text string) (*Experiment, error) {
	return Load(Source{File: "f.yaml", Data: []byte(text)})
}

// replaced returns sound with old replaced, which must occur once.
func replaced(t *testing.T, old, text string) string {
	t.Helper()
	if strings.Count(sound, old) != 1 {
		t.Fatalf("%q occurs %d times", old, strings.Count(sound, old))
	}
	return strings.Replace(sound, old, text, 1)
}

func TestSound(t *testing.T) {
	if _, err := load(sound); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedValues(t *testing.T) {
	const hop = "f.yaml:8: sweeps.hop.n."
	for _, c := range []struct{ old, text, want string }{
		// Names.
		{"name: demo", "name: Demo", "f.yaml:1: name: Demo is not a name; " + nameForm},
		{"name: demo", "name: " + strings.Repeat("x", 65), "f.yaml:1: name: " + strings.Repeat("x", 60) + "… is not a name; " + nameForm},
		{"name: demo", `name: ""`, "f.yaml:1: name: is empty; want plain text"},
		{"name: demo", `name: "a\nb"`, "f.yaml:1: name: holds a control character or a line break; want plain text"},
		{"name: demo", "name:", "f.yaml:1: name: is empty; want plain text"},
		{"name: demo", "name: [a]", "f.yaml:1: name: is a list; want plain text"},
		{"name: demo\n", "", "f.yaml:1: name: is missing; " + nameForm},
		{"name: hop\n", "name: bez\n", "f.yaml:13: sweeps[1].name: bez is also the name of sweeps[0] in line 6; want a name for each sweep"},
		{"name: hop\n", "name: hop.\u00e9\n", "f.yaml:6: sweeps[0].name: hop.é is not a name; " + nameForm},
		{"engine: bezout", "engine: Bezout", "f.yaml:14: sweeps.bez.engine: Bezout is not a name; " + nameForm},
		{"    engine: bezout\n", "", "f.yaml:13: sweeps.bez.engine: is missing; " + nameForm},
		{"engine: bezout", "engine: bezout\n    algorithm: a b", `f.yaml:15: sweeps.bez.algorithm: "a b" is not a name; ` + nameForm},
		{"engine: bezout", "engine: bezout\n    keep: value", "f.yaml:15: sweeps.bez.keep: value is not a way to keep values; want values or sums"},

		// Unknown keys.
		{"name: demo", "Name: demo", "f.yaml:1: Name: is not a known key; did you mean name?"},
		{"data_dir:", "datadir:", "f.yaml:3: datadir: is not a known key; did you mean data_dir?"},
		{"workers: {concurrency", "workers: {concurency", "f.yaml:4: workers.concurency: is not a known key; did you mean concurrency?"},
		{"engine: bezout", "engine: bezout\n    from: 1", "f.yaml:15: sweeps.bez.from: is not a known key; did you mean from below n?"},
		{"engine: bezout", "engine: bezout\n    colour: red", "f.yaml:15: sweeps.bez.colour: is not a known key; want one of name, engine, algorithm, compare, params, keep, n, sums, checkpoints"},
		{"engine: bezout", "engine: bezout\n    \"a\\nb\": red", `f.yaml:15: sweeps.bez."a\nb": is not a known key; want one of name, engine, algorithm, compare, params, keep, n, sums, checkpoints`},
		{"url: embedded", "url: embedded, password: s3cret", "f.yaml:2: redis.password: is not a known key; want password_file or the variable NSWEEP_REDIS_PASSWORD; passwords are not written in experiments"},
		{"{determinant: 1}", "{a b: 1}", `f.yaml:15: sweeps.bez.params."a b": is not a known key; want letters, digits, - and _`},

		// Wrong shapes.
		{"redis: {url: embedded}", "redis: embedded", "f.yaml:2: redis: is embedded; want {url: embedded}"},
		{"n: {from: 1, to: 100}", "n: 100", "f.yaml:8: sweeps.hop.n: is 100; want {from: 1, to: 1000}"},
		{"n: {from: 1, to: 100}", "n: [1, 100]", "f.yaml:8: sweeps.hop.n: is a list; want {from: 1, to: 1000}"},
		{"n: {from: 1, to: 100}", "n: {}", "f.yaml:8: sweeps.hop.n: names no n; want {from: 1, to: 1000}, values: [4, 20] or decades: {from: 3, to: 9}"},
		{"    n: {from: 1, to: 100}\n", "", "f.yaml:6: sweeps.hop.n: is missing; want {from: 1, to: 1000}, values: [4, 20] or decades: {from: 3, to: 9}"},
		{"sums: [{power: 3}]", "sums: [3]", "f.yaml:9: sweeps.hop.sums[0]: is 3; want {power: 3}"},
		{"sums: [{power: 3}]", "sums: {power: 3}", "f.yaml:9: sweeps.hop.sums: is a mapping; want [{power: 3}]"},
		{"values: [4, 20]", "values: [4, [20]]", "f.yaml:16: sweeps.bez.n.values[1]: is a list; want an integer such as 1000000, 1_000_000, 1e6 or 10^6"},
		{"values: [4, 20]", "values: [4, ~]", "f.yaml:16: sweeps.bez.n.values[1]: is empty; want an integer such as 1000000, 1_000_000, 1e6 or 10^6"},
		{"values: [4, 20]", "values: []", "f.yaml:16: sweeps.bez.n.values: is an empty list; want at least one n, such as [4, 20]"},
		{"  - name: bez", "  -\n  - name: bez", "f.yaml:13: sweeps[1]: is empty; want {name: hopping, engine: hopping, n: {from: 1, to: 1000}}"},

		// Integers.
		{"to: 100", "to: 1.5", hop + "to: 1.5 is not a whole number; " + intForms},
		{"to: 100", "to: 010", hop + "to: 010 has a leading zero, which some programs read as octal; " + intForms},
		{"to: 100", "to: 0x64", hop + "to: 0x64 is written to another base than ten; " + intForms},
		{"to: 100", "to: .inf", hop + "to: .inf is not an integer; " + intForms},
		{"to: 100", "to: yes", hop + "to: yes is not an integer; " + intForms},
		{"to: 100", "to: 0", hop + "to: 0 is out of range; want a whole number from 1 to 10^18"},
		{"to: 100", "to: -5", hop + "to: -5 is out of range; want a whole number from 1 to 10^18"},
		{"to: 100", "to: 1000000000000000001", hop + "to: 1000000000000000001 is out of range; want a whole number from 1 to 10^18"},
		{"to: 100", "to: 18446744073709551617", hop + "to: 18446744073709551617 is out of range; want a whole number from 1 to 10^18"},
		{"from: 1, to: 100", "from: 0, to: 100", hop + "from: 0 is out of range; want a whole number from 1 to 10^18"},
		{"from: 1, to: 100", "from: 101, to: 100", hop + "to: 100 lies before from = 101, so the range is empty; want at least 101"},
		{"from: 1, to: 100", "from: 1", "f.yaml:8: sweeps.hop.n.to: is missing; want the last n of the range"},
		{"from: 1, to: 100", "from: 1, to: 100, step: 0", hop + "step: 0 is out of range; want a whole number from 1 to 10^18"},
		{"values: [4, 20]", "values: [4, 20], step: 2", "f.yaml:16: sweeps.bez.n.to: is missing; want the last n of the range"},
		{"from: 1, to: 100", "from: 1, to: 1e18, step: 3", "f.yaml:8: sweeps.hop.n: names 333333333333333334 single points; want a step of at least 100000000000, or a range of step 1"},
		{"values: [4, 20]", "values: [4, 20, 1e19]", "f.yaml:16: sweeps.bez.n.values[2]: 1e19 is out of range; want a whole number from 1 to 10^18"},
		{"{from: 3, to: 5}", "{from: 3, to: 19}", "f.yaml:16: sweeps.bez.n.decades.to: 19 is out of range; want a whole number from 0 to 18"},
		{"{from: 3, to: 5}", "{from: 5, to: 3}", "f.yaml:16: sweeps.bez.n.decades.to: 3 lies before from = 5, so there are no decades; want at least 5"},
		{"{from: 3, to: 5}", "{to: 5}", "f.yaml:16: sweeps.bez.n.decades.from: is missing; want an exponent of ten from 0 to 18"},
		{"{from: 3, to: 5}", "{from: 3, to: 5, per_decade: 0}", "f.yaml:16: sweeps.bez.n.decades.per_decade: 0 is out of range; want a whole number from 1 to 100"},
		{"{determinant: 1}", "{determinant: 1e30}", "f.yaml:15: sweeps.bez.params.determinant: 1e30 is out of range; want a whole number from -9223372036854775808 to 9223372036854775807"},
		{"concurrency: 2", "concurrency: 1025", "f.yaml:4: workers.concurrency: 1025 is out of range; want a whole number from 0 to 1024"},
		{"concurrency: 2", "concurrency: -1", "f.yaml:4: workers.concurrency: -1 is out of range; want a whole number from 0 to 1024"},
		{"concurrency: 2", "concurrency: all", "f.yaml:4: workers.concurrency: all is not an integer; " + intForms},

		// Sums and checkpoints.
		{"sums: [{power: 3}]", "sums: [{power: 0}]", "f.yaml:9: sweeps.hop.sums[0].power: 0 is out of range; want a whole number from 1 to 64"},
		{"sums: [{power: 3}]", "sums: [{power: 65}]", "f.yaml:9: sweeps.hop.sums[0].power: 65 is out of range; want a whole number from 1 to 64"},
		{"sums: [{power: 3}]", "sums: [{}]", "f.yaml:9: sweeps.hop.sums[0].power: is missing; want {power: 3}"},
		{"sums: [{power: 3}]", "sums: [{power: 3}, {power: 2}, {power: 3}]", "f.yaml:9: sweeps.hop.sums[2].power: 3 is given twice, first in sums[0]; want it once"},
		{"{n: 20, value: 4}", "{n: 101, value: 4}", "f.yaml:11: sweeps.hop.checkpoints[0].n: 101 is not an n of the sweep; want one of its n (1…100), or no such checkpoint"},
		{"{n: 20, value: 4}", "{value: 4}", "f.yaml:11: sweeps.hop.checkpoints[0].n: is missing; want {n: 20, value: 4} or {n: 20, sum_of_power: 3, equals: 8150}"},
		{"{n: 20, value: 4}", "{n: 20}", "f.yaml:11: sweeps.hop.checkpoints[0]: has neither value nor sum_of_power; want {n: 20, value: 4} or {n: 20, sum_of_power: 3, equals: 8150}"},
		{"{n: 20, value: 4}", "{n: 20, value: 4, sum_of_power: 3, equals: 4}", "f.yaml:11: sweeps.hop.checkpoints[0]: has both value and sum_of_power; want two checkpoints"},
		{"{n: 20, value: 4}", "{n: 20, value: 4, equals: 4}", "f.yaml:11: sweeps.hop.checkpoints[0].equals: stands beside value; want {n: 20, value: 4} or {n: 20, sum_of_power: 3, equals: 8150}"},
		{"{n: 20, value: 4}", "{n: 20, equals: 4}", "f.yaml:11: sweeps.hop.checkpoints[0].sum_of_power: is missing; want {n: 20, value: 4} or {n: 20, sum_of_power: 3, equals: 8150}"},
		{", equals: 8150", "", "f.yaml:12: sweeps.hop.checkpoints[1].equals: is missing; want {n: 20, value: 4} or {n: 20, sum_of_power: 3, equals: 8150}"},
		{"sum_of_power: 3, ", "sum_of_power: 0, ", "f.yaml:12: sweeps.hop.checkpoints[1].sum_of_power: 0 is out of range; want a whole number from 1 to 64"},
		{"{n: 20, value: 4}", "{n: 20, sum_of_power: 3, equals: 8151}", "f.yaml:12: sweeps.hop.checkpoints[1]: contradicts checkpoints[0]: 8151 and 8150 cannot both be right; want one of them"},
		{"equals: 8150", "equals: 6.10299e+10", "f.yaml:12: sweeps.hop.checkpoints[1].equals: 6.10299e+10 looks like a rounded floating-point number: only 6 of its 11 digits are written; " + intForms},

		// The store.
		{"url: embedded", "url: http://x", "f.yaml:2: redis.url: http://x has no known scheme; " + urlForms},
		{"url: embedded", "url: Embedded", "f.yaml:2: redis.url: Embedded has no known scheme; " + urlForms},
		{"url: embedded", `url: ""`, "f.yaml:2: redis.url: is empty; want plain text"},
		{"url: embedded", "url: redis://:s3cret@h:99999", "f.yaml:2: redis.url: redis://:***@h:99999 has a port that is not 1 to 65535; " + urlForms},
		{"url: embedded", `url: "redis://u:s3c#ret@h"`, "f.yaml:2: redis.url: redis://u:***@h has a part after # (write # in a password as %23); " + urlForms},
		{"url: embedded", "url: redis://h, ca_file: ca.pem", "f.yaml:2: redis.ca_file: is given, but redis://h is not encrypted; want rediss:// or, for sentinels, tls=true in the URL"},
		{"url: embedded", "url: rediss://h, cert_file: c.pem", "f.yaml:2: redis.cert_file: is given without redis.key_file; want both or neither"},
		{"url: embedded", "url: redis://h, password_file: /nonexistent/pw", "f.yaml:2: redis.password_file: /nonexistent/pw cannot be read: no such file or directory; want a file whose first line is the password"},
		{"data_dir: .nsweep", `data_dir: ""`, "f.yaml:3: data_dir: is empty; want plain text"},

		// YAML that hides what a value is.
		{"name: demo", "name: &a demo", "f.yaml:1: name: carries an anchor (&a); want plain values; anchors and aliases are not supported"},
		{"name: demo", "name: *a", "f.yaml:1: is not valid YAML: unknown anchor 'a' referenced"},
		{"name: demo", "name: !!str demo", "f.yaml:1: name: carries the tag !!str; want plain values; tags are not supported"},
		{"engine: bezout", "<<: {engine: bezout}", "f.yaml:14: sweeps[1]: uses a merge key (<<); want the keys written out"},
		{"engine: bezout", "? [a]\n    : b", "f.yaml:14: sweeps[1]: has a key that is not plain text; want KEY: VALUE"},
		{"engine: bezout", "engine: bezout\n    engine: bezout", "f.yaml:15: sweeps[1].engine: is given twice, first in line 14; want it once"},
	} {
		_, err := load(replaced(t, c.old, c.text))
		if err == nil {
			t.Errorf("%s was accepted", c.text)
		} else if got := err.Error(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	bomb := "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
	for _, c := range []struct{ text, want string }{
		{"", "f.yaml: is empty; want an experiment with name and sweeps"},
		{"# nothing\n", "f.yaml: is empty; want an experiment with name and sweeps"},
		{"---\n", "f.yaml:1: is empty; want an experiment with name and sweeps"},
		{"null", "f.yaml:1: is empty; want an experiment with name and sweeps"},
		{"- a", "f.yaml:1: is a list; want an experiment with name and sweeps"},
		{"euler", "f.yaml:1: is euler; want an experiment with name and sweeps"},
		{"{}", "f.yaml:1: name: is missing; " + nameForm + "\nf.yaml:1: sweeps: is missing; want at least one sweep"},
		{sound + "priority: urgent\n", "f.yaml:17: priority: urgent is not a priority; want low, normal or high"},
		{sound + "priority: High\n", "f.yaml:17: priority: High is not a priority; want low, normal or high"},
		{sound + "priority: [high]\n", "f.yaml:17: priority: is a list; want plain text"},
		{sound + "verify: some\n", "f.yaml:17: verify.sample: some is not a share of the cells; want all, or a percentage such as 2% or 0.5%"},
		{sound + "verify: {sample: 0%}\n", "f.yaml:17: verify.sample: 0% verifies nothing; want all, or a percentage such as 2% or 0.5%, or no verify at all"},
		{sound + "verify: {sample: 2%, algorithm: table}\n", "f.yaml:17: verify.algorithm: table is not a way to verify; want same or other"},
		{sound + "verify: {algorithm: same}\n", "f.yaml:17: verify.sample: is missing; want all, or a percentage such as 2% or 0.5%"},
		{sound + "verify: {}\n", "f.yaml:17: verify.sample: is missing; want all, or a percentage such as 2% or 0.5%"},
		{sound + "verify: {sampel: 2%}\n", "f.yaml:17: verify.sampel: is not a known key; did you mean sample?"},
		{sound + "verify: [2%]\n", "f.yaml:17: verify: is a list; want all, or {sample: 2%}"},
		{"name: x\nsweeps: []\n", "f.yaml:2: sweeps: is an empty list; want at least one sweep"},
		{"name: x\nsweeps: {}\n", "f.yaml:2: sweeps: is a mapping; want a list of sweeps, each beginning with - name:"},
		{sound + "---\nname: y\n", "f.yaml:17: holds a second YAML document; want one experiment in a file"},
		{sound + "---\n[", "f.yaml:18: is not valid YAML: did not find expected node content"},
		{"name: \xff\n", "f.yaml:1: is not valid UTF-8; want a plain text file"},
		{"name: x\n\n# \xc3(\n", "f.yaml:3: is not valid UTF-8; want a plain text file"},
		{"name: x\nsweeps: [\n", "f.yaml:2: is not valid YAML: did not find expected node content"},
		{"name: x\n\tsweeps: 1\n", "f.yaml:2: is not valid YAML: found a tab character that violates indentation"},
		{"name: x: y\n", "f.yaml:1: is not valid YAML: mapping values are not allowed in this context"},
		{strings.Repeat("#", MaxFileSize+1), "f.yaml: is larger than 1048576 bytes; want ranges instead of long lists of values"},
		{bomb, "f.yaml:1: a: carries an anchor (&a); want plain values; anchors and aliases are not supported\n" +
			"f.yaml:2: b: carries an anchor (&b); want plain values; anchors and aliases are not supported\n" +
			"f.yaml:3: c: carries an anchor (&c); want plain values; anchors and aliases are not supported"},
	} {
		_, err := load(c.text)
		if err == nil {
			t.Errorf("%.40q was accepted", c.text)
		} else if got := err.Error(); got != c.want {
			t.Errorf("%.40q\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestAllProblems reads a file with many faults: each is reported once, by line,
// and none brings another one with it that is only its consequence.
func TestAllProblems(t *testing.T) {
	_, err := load(`name: Demo
wrong: 1
redis: {url: ftp://x}
sweeps:
  - name: hop
    engin: hopping
    n: {form: 1, to: 1e400}
    checkpoints: [{n: 5000, value: 1}, {n: x, value: 1}]
  - engine: b
    n: {from: 9, to: 3}
    checkpoints: [{n: 5000, value: 1}]
  - 7
`)
	want := strings.Join([]string{
		"f.yaml:1: name: Demo is not a name; " + nameForm,
		"f.yaml:2: wrong: is not a known key; want one of name, priority, notify, verify, redis, data_dir, workers, metrics, sweeps",
		"f.yaml:3: redis.url: ftp://x has no known scheme; " + urlForms,
		"f.yaml:6: sweeps.hop.engin: is not a known key; did you mean engine?",
		"f.yaml:7: sweeps.hop.n.form: is not a known key; did you mean from?",
		"f.yaml:7: sweeps.hop.n.to: 1e400 is out of range; want a whole number from 1 to 10^18",
		"f.yaml:8: sweeps.hop.checkpoints[1].n: x is not an integer; " + intForms,
		"f.yaml:9: sweeps[1].name: is missing; " + nameForm,
		"f.yaml:10: sweeps[1].n.to: 3 lies before from = 9, so the range is empty; want at least 9",
		"f.yaml:12: sweeps[2]: is 7; want {name: hopping, engine: hopping, n: {from: 1, to: 1000}}",
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var e *Error
	if !errors.As(err, &e) || e.File != "f.yaml" || e.Line != 1 || e.Key != "name" {
		t.Errorf("the first error is %+v", e)
	}
}

func TestManyProblemsAreCounted(t *testing.T) {
	_, err := load("name: x\n" + strings.Repeat("? [a]\n: b\n", 1000))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != maxErrors+1 || lines[maxErrors] != "f.yaml: and 950 more problems" {
		t.Errorf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
	}
}
