package config

import (
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// dotted has sweeps whose names hold dots.
const dotted = `name: dots
sweeps:
  - {name: a, engine: e, n: {from: 1, to: 9}}
  - {name: a.b, engine: e, n: {from: 1, to: 9}}
  - {name: a.n, engine: e, n: {from: 1, to: 9}}
`

func loadSets(text string, sets ...string) (*Experiment, error) {
	return Load(Source{File: "f.yaml", Data: []byte(text), Sets: sets})
}

func TestSet(t *testing.T) {
	e, err := loadSets(sound,
		"sweeps.hop.n.to=5_000",
		"sweeps.hop.n.step=1",
		"sweeps.hop.checkpoints[1].equals=10^30",
		`sweeps.hop.checkpoints[0].value="2^70"`,
		"sweeps.hop.params.base=2",
		"sweeps.hop.algorithm=table",
		"sweeps.bez.n={values: [7, 8]}",
		"sweeps.bez.n.decades.from=1",
		"sweeps[1].n.decades.to = 2",
		"sweeps.bez.checkpoints=[{n: 7, value: 1}]",
		"sweeps.bez.keep=sums",
		"name=other",
		"priority=high",
		"workers.concurrency=7",
		"verify=all",
		"verify.algorithm=same",
	)
	if err != nil {
		t.Fatal(err)
	}
	hop, bez := e.Sweeps[0], e.Sweeps[1]
	if hop.N.From != 1 || hop.N.To != 5000 || hop.N.Step != 1 || hop.Algorithm != "table" || hop.Params["base"] != 2 {
		t.Errorf("%+v", hop)
	}
	if want := new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil); hop.Checkpoints[1].Equals.Cmp(want) != 0 {
		t.Errorf("equals is %d", hop.Checkpoints[1].Equals)
	}
	if want := new(big.Int).Lsh(big.NewInt(1), 70); hop.Checkpoints[0].Value.Cmp(want) != 0 {
		t.Errorf("value is %d", hop.Checkpoints[0].Value)
	}
	if !slices.Equal(bez.N.Values, []int64{7, 8}) || *bez.N.Decades != (Decades{From: 1, To: 2}) || bez.Keep != KeepSums || len(bez.Checkpoints) != 1 {
		t.Errorf("%+v", bez)
	}
	if e.Name != "other" || e.Priority != PriorityHigh || e.Workers.Concurrency != 7 || e.Verify != allShare || !e.VerifySame {
		t.Errorf("name %s, concurrency %d", e.Name, e.Workers.Concurrency)
	}
}

func TestSetNamesWithDots(t *testing.T) {
	e, err := loadSets(dotted, "sweeps.a.n.to=11", "sweeps.a.b.n.to=12", "sweeps.a.n.n.to=13", "sweeps.a.n.keep=sums")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{11, 12, 13} {
		if got := e.Sweeps[i].N.To; got != want {
			t.Errorf("sweep %s ends at %d, want %d", e.Sweeps[i].Name, got, want)
		}
	}
	if e.Sweeps[2].Keep != KeepSums {
		t.Error("sweeps.a.n.keep was not understood")
	}
	// sweeps.x.params.n is a parameter n of x as much as a set n of x.params.
	const twice = "name: x\nsweeps:\n  - {name: x, engine: e, n: {to: 3}}\n  - {name: x.params, engine: e, n: {to: 3}}\n"
	_, err = loadSets(twice, "sweeps.x.params.n=3")
	want := "--set sweeps.x.params.n: x.params.n can be read as more than one sweep; want sweeps[0], sweeps[1] and so on"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestSetNull(t *testing.T) {
	e, err := loadSets(sound, "sweeps.bez.n.decades=null", "sweeps.hop.checkpoints[0]=null", "sweeps.hop.sums=null", "sweeps.hop.n.values=null", "data_dir=null")
	if err != nil {
		t.Fatal(err)
	}
	if e.Sweeps[1].N.Decades != nil || len(e.Sweeps[0].Checkpoints) != 1 || e.Sweeps[0].Checkpoints[0].Power != 3 || e.Sweeps[0].Sums != nil || e.DataDir != ".nsweep" {
		t.Errorf("%+v", e)
	}
	e, err = loadSets(sound, "sweeps.hop=null")
	if err != nil || len(e.Sweeps) != 1 || e.Sweeps[0].Name != "bez" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"sweeps.hop.n.to", "--set sweeps.hop.n.to: is not of the form PATH=VALUE; want for example --set sweeps.hopping.n.to=5000"},
		{"=5", `--set "": is not of the form PATH=VALUE; want for example --set sweeps.hopping.n.to=5000`},
		{"sweeps.hop.n.to=", "--set sweeps.hop.n.to: is set to nothing; want a value, or null to take it out"},
		{"sweeps.hip.n.to=5", "--set sweeps.hip.n.to: there is no sweep hip; want hop or bez"},
		{"sweeps.hop.n.too=5", "--set sweeps.hop.n.too: too is not a known key; did you mean to?"},
		{"sweep.hop.n.to=5", "--set sweep.hop.n.to: sweep is not a known key; did you mean sweeps?"},
		{"Sweeps.hop.n.to=5", "--set Sweeps.hop.n.to: Sweeps is not a known key; did you mean sweeps?"},
		{"sweeps.hop.n.to.x=5", "--set sweeps.hop.n.to.x: there is nothing below a single value; want a path that ends before x"},
		{"sweeps.hop.n.=5", `--set sweeps.hop.n.: ends in an incomplete key; want KEY.KEY`},
		{"sweeps[2].n.to=5", "--set sweeps[2].n.to: the list has 2 items and none numbered 2; want an index from 0, or the whole list anew"},
		{"sweeps[x].n.to=5", "--set sweeps[x].n.to: [x].n.to is not an index of a list; want [0], [1] and so on"},
		{"sweeps.hop.checkpoints.0.n=5", "--set sweeps.hop.checkpoints.0.n: 0.n is not an index of a list; want [0], [1] and so on"},
		{"sweeps.bez.checkpoints[0].n=5", "--set sweeps.bez.checkpoints[0].n: the list has 0 items and none numbered 0; want an index from 0, or the whole list anew"},
		{"sweeps.hop.n.to=1.5", "--set sweeps.hop.n.to: 1.5 is not a whole number; " + intForms},
		{"sweeps.hop.n.to=[5]", "--set sweeps.hop.n.to: [5] is not an integer; " + intForms},
		{"sweeps.hop.n.to=10", "f.yaml:11: sweeps.hop.checkpoints[0].n: 20 is not an n of the sweep; want one of its n (1…10), or no such checkpoint\n" +
			"f.yaml:12: sweeps.hop.checkpoints[1].n: 20 is not an n of the sweep; want one of its n (1…10), or no such checkpoint"},
		{"sweeps.bez.n.values=4", "--set sweeps.bez.n.values: is 4; want [4, 20]"},
		{"sweeps.bez.n.values=[4, x]", "--set sweeps.bez.n.values: sweeps.bez.n.values[1]: x is not an integer; " + intForms},
		{"sweeps.bez.n.values=[4", "--set sweeps.bez.n.values: is not valid YAML: did not find expected ',' or ']'"},
		{"sweeps.bez.n={points: [4]}", "--set sweeps.bez.n: sweeps.bez.n.points: is not a known key; want one of from, to, step, values, decades"},
		{"sweeps.bez.n=&a {to: 4}", "--set sweeps.bez.n: carries an anchor (&a); want plain values; anchors and aliases are not supported"},
		{"sweeps.hop.name=bez", "f.yaml:13: sweeps[1].name: bez is also the name of sweeps[0]; want a name for each sweep"},
		{"sweeps=[]", "--set sweeps: is an empty list; want at least one sweep"},
		{"redis.url=redis://:s3cret@h:0", "--set redis.url: redis://:***@h:0 has a port that is not 1 to 65535; " + urlForms},
		{"redis://:s3cret@h", "--set redis://:***@h: is not of the form PATH=VALUE; want for example --set sweeps.hopping.n.to=5000"},
	} {
		_, err := loadSets(sound, c.set)
		if err == nil {
			t.Errorf("%s was accepted", c.set)
		} else if got := err.Error(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.set, got, c.want)
		}
	}
	_, err := Load(Source{File: "f.yaml", Data: []byte(sound), Sets: []string{"data_dir=x"}, Flags: map[string]string{"data_dir": "y"}})
	if want := "--set data_dir: is also given by --data-dir; want one of them"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAt(t *testing.T) {
	e, err := Load(Source{
		File: "f.yaml", Data: []byte(sound), Sets: []string{"sweeps.hop.n.to=200"},
		Env: func(name string) (string, bool) { return "3", name == "NSWEEP_WORKERS_CONCURRENCY" },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key, file string
		line      int
	}{
		{"name", "f.yaml", 1},
		{"sweeps", "f.yaml", 5},
		{"sweeps.hop", "f.yaml", 6},
		{"sweeps.hop.engine", "f.yaml", 7},
		{"sweeps[0].n.from", "f.yaml", 8},
		{"sweeps.hop.n.to", "--set sweeps.hop.n.to", 0},
		{"sweeps.hop.algorithm", "f.yaml", 6}, // not there: the sweep itself
		{"sweeps.hop.checkpoints[1].equals", "f.yaml", 12},
		{"sweeps.bez.params.determinant", "f.yaml", 15},
		{"sweeps.bez.params.other", "f.yaml", 15},
		{"sweeps.bez.n.values[1]", "f.yaml", 16},
		{"sweeps.bez.n.values[9]", "f.yaml", 16},
		{"sweeps.nope.n", "f.yaml", 5},
		{"nonsense", "f.yaml", 1},
		{"", "f.yaml", 1},
		{"redis.url", "f.yaml", 2},
		{"workers.concurrency", "NSWEEP_WORKERS_CONCURRENCY", 0},
		{"redis.ca_file", "default", 0},
	} {
		if file, line := e.At(c.key); file != c.file || line != c.line {
			t.Errorf("At(%q) = %s, %d; want %s, %d", c.key, file, line, c.file, c.line)
		}
	}
	got := e.Errorf("sweeps.hop.engine", "hoping is not an engine", "want hopping").Error()
	if want := "f.yaml:7: sweeps.hop.engine: hoping is not an engine; want hopping"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if file, line := new(Experiment).At("name"); file != "" || line != 0 {
		t.Errorf("an experiment built by hand came from %s:%d", file, line)
	}
}

// TestSetsAreTheFile checks that --set gives what the same value in the file gives.
func TestSetsAreTheFile(t *testing.T) {
	for _, c := range []struct{ old, text, set string }{
		{"to: 100", "to: 1e3", "sweeps.hop.n.to=1e3"},
		{"{from: 1, to: 100}", "{from: 10, to: 100, step: 5}", "sweeps.hop.n={from: 10, to: 100, step: 5}"},
		{"[{power: 3}]", "[{power: 3}, {power: 1}]", "sweeps.hop.sums=[{power: 3}, {power: 1}]"},
		{"name: hop\n", "name: jump\n", "sweeps.hop.name=jump"},
		{"data_dir: .nsweep", "data_dir: /tmp/x y", "data_dir=/tmp/x y"},
		{"url: embedded", "url: redis://h/3", "redis.url=redis://h/3"},
	} {
		a, err := load(replaced(t, c.old, c.text))
		if err != nil {
			t.Fatal(err)
		}
		b, err := loadSets(sound, c.set)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(bare(a), bare(b)) {
			t.Errorf("%s: %+v, in the file %+v", c.set, bare(b), bare(a))
		}
	}
	if strings.Contains(sound, "jump") {
		t.Error("the test compares nothing")
	}
}

// bare returns an experiment without the record of where its values came from,
// and with one representation of the big.Int 0, for reflect.DeepEqual.
func bare(e *Experiment) Experiment {
	sweeps := slices.Clone(e.Sweeps)
	for i := range sweeps {
		cps := slices.Clone(sweeps[i].Checkpoints)
		for k, c := range cps {
			if c.Value != nil {
				cps[k].Value = new(big.Int).Add(c.Value, new(big.Int))
			}
			if c.Equals != nil {
				cps[k].Equals = new(big.Int).Add(c.Equals, new(big.Int))
			}
		}
		sweeps[i].Checkpoints = cps
	}
	return Experiment{Name: e.Name, Priority: e.Priority, Settings: e.Settings, Sweeps: sweeps}
}
