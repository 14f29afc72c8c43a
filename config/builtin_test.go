package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestBuiltins compares what each built-in experiment means, all defaults filled
// in, with testdata/NAME.golden.
func TestBuiltins(t *testing.T) {
	for _, name := range Builtins() {
		e, err := Load(Source{Builtin: name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.Name != name {
			t.Errorf("the experiment %s calls itself %s", name, e.Name)
		}
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, e.YAML(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != string(e.YAML()) {
			t.Errorf("%s means\n%s\nwant\n%s", name, e.YAML(), want)
		}
	}
}

// known are the values that the checkpoints of built-in experiments may state,
// as "engine n" for values and "engine n power" for sums. M(1…300), M(1000) and
// W(1…10^6) were computed for this test by programs of their own: the rows of
// composed maps for M, a sieve of φ and the step form for W. The rest is what
// the table recursion (M to 10^4, M(10^5)) and 128-bit sums over μ (W) give.
var known = map[string]string{
	"hopping 2": "2", "hopping 7": "1", "hopping 20": "4", "hopping 1000": "771", "hopping 10000": "4709", "hopping 100000": "57993",
	"hopping 20 3": "8150", "hopping 100 3": "5642811", "hopping 1000 3": "61029882288", "hopping 2000 3": "1005494239260", "hopping 10000 3": "625261610174522",
	"bezout 4": "5", "bezout 20": "89", "bezout 40": "333", "bezout 100": "2043", "bezout 1000": "202869", "bezout 10000": "20265829",
	"bezout 100000": "2026443853", "bezout 1000000": "202642485639", "bezout 10000000": "20264238851499", "bezout 1000000000": "202642367520564145",
	"bezout 10000000000": "20264236729551612455", "bezout 100000000000": "2026423672864918637169",
}

func TestBuiltinCheckpointsAreKnown(t *testing.T) {
	for _, name := range Builtins() {
		e, err := Load(Source{Builtin: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range e.Sweeps {
			if len(s.Checkpoints) < 5 {
				t.Errorf("%s: sweep %s has %d checkpoints", name, s.Name, len(s.Checkpoints))
			}
			for _, c := range s.Checkpoints {
				key := fmt.Sprintf("%s %d", s.Engine, c.N)
				if c.Power != 0 {
					key += fmt.Sprint(" ", c.Power)
				}
				if got := c.Want().String(); got != known[key] {
					t.Errorf("%s: %s is %s, known is %q", name, key, got, known[key])
				}
			}
		}
	}
}

func TestSourceOfAnExperiment(t *testing.T) {
	t.Chdir(t.TempDir())
	mine := strings.Replace(sound, "demo", "mine", 1)
	for name, text := range map[string]string{"a.yaml": sound, "overnight": mine, "broken": "[", "a b\n.yaml": "["} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("cluster", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src  Source
		want string // the experiment's name, or the error
	}{
		{Source{}, "euler"},
		{Source{Builtin: "overnight"}, "overnight"},
		{Source{File: "euler"}, "euler"},
		{Source{File: "a.yaml"}, "demo"},
		{Source{File: "overnight"}, "mine"},  // a file comes first
		{Source{File: "cluster"}, "cluster"}, // a folder is no file
		{Source{File: "./euler"}, "./euler: is neither a file nor a built-in experiment; want a file, or one of euler, overnight, cluster"},
		{Source{File: "oiler"}, "oiler: is neither a file nor a built-in experiment; want a file, or one of euler, overnight, cluster"},
		{Source{Builtin: "oiler"}, "oiler: is not a built-in experiment; want euler, overnight, cluster"},
		{Source{File: "a.yaml", Builtin: "euler"}, "a.yaml: stands beside the built-in experiment euler; want one of them"},
		{Source{File: "."}, ".: is a folder, not a file; want a YAML file of at most 1048576 bytes"},
		{Source{File: "a b\n.yaml"}, `"a b\n.yaml":1: is not valid YAML: did not find expected node content`},
		{Source{File: strings.Repeat("long/", 40)}, strings.Repeat("long/", 40) + ": is neither a file nor a built-in experiment; want a file, or one of euler, overnight, cluster"},
		{Source{File: "broken"}, "broken:1: is not valid YAML: did not find expected node content"},
	} {
		e, err := Load(c.src)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = e.Name
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.src, got, c.want)
		}
	}
	_, err := Load(Source{Builtin: "euler", Sets: []string{"sweeps.hopping.n.to=999"}})
	want := "built-in euler:16: sweeps.hopping.checkpoints[4].n: 1000 is not an n of the sweep; want one of its n (1…999), or no such checkpoint"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestBuiltinsAreCopied(t *testing.T) {
	Builtins()[0] = "changed"
	Options()[0].Key = "changed"
	if Builtins()[0] != DefaultBuiltin || Options()[0].Key != "redis.url" {
		t.Error("a caller can change the package's lists")
	}
}
