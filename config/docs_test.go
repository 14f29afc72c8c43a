package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const docFile = "../docs/EXPERIMENTS.md"

// docBlocks returns the fenced blocks of the documentation by their info text.
func docBlocks(t *testing.T) (doc string, blocks map[string][]string) {
	t.Helper()
	data, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	blocks = map[string][]string{}
	for _, m := range regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		blocks[m[1]] = append(blocks[m[1]], m[2])
	}
	return string(data), blocks
}

// TestDocExamples loads every YAML example: whole experiments as they are, and
// lines of a sweep inside one.
func TestDocExamples(t *testing.T) {
	_, blocks := docBlocks(t)
	whole, lines := 0, 0
	for _, b := range blocks["yaml"] {
		if strings.Contains(b, "sweeps:") {
			whole++
			e, err := load(b)
			if err != nil {
				t.Errorf("%v in\n%s", err, b)
				continue
			}
			want, err := Load(Source{Builtin: e.Name})
			if err != nil || !reflect.DeepEqual(bare(e), bare(want)) {
				t.Errorf("the experiment %s in the documentation is not the built-in one (%v)", e.Name, err)
			}
			continue
		}
		for line := range strings.Lines(b) {
			lines++
			text := "name: x\nsweeps:\n  - name: a\n    engine: e\n    " + line
			if !strings.HasPrefix(line, "n:") {
				text += "    n: {from: 1, to: 1000}\n"
			}
			if _, err := load(text); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if whole < 1 || lines < 9 {
		t.Errorf("only %d experiments and %d lines were found", whole, lines)
	}
}

func TestDocErrors(t *testing.T) {
	_, blocks := docBlocks(t)
	wrong, text := blocks["yaml wrong"], blocks["text"]
	if len(wrong) != 1 || len(text) != 1 {
		t.Fatalf("%d wrong files and %d outputs", len(wrong), len(text))
	}
	_, err := Load(Source{File: "euler.yaml", Data: []byte(wrong[0])})
	if got := fmt.Sprintln(err); got != text[0] {
		t.Errorf("got\n%swant\n%s", got, text[0])
	}
}

// TestDocSets applies the arguments of every --set example to its experiment.
func TestDocSets(t *testing.T) {
	_, blocks := docBlocks(t)
	sets := regexp.MustCompile(`--set (?:'([^']+)'|(\S+))`)
	n := 0
	for _, b := range blocks["sh"] {
		for line := range strings.Lines(b) {
			src := Source{Builtin: strings.Fields(line)[2]}
			for _, m := range sets.FindAllStringSubmatch(line, -1) {
				src.Sets = append(src.Sets, m[1]+m[2])
				n++
			}
			if _, err := Load(src); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d --set were found", n)
	}
}

// TestDocIntegers parses the table of number forms.
func TestDocIntegers(t *testing.T) {
	doc, _ := docBlocks(t)
	_, table, ok := strings.Cut(doc, "| written | read as |\n|---|---|\n")
	if !ok {
		t.Fatal("there is no table of integers")
	}
	n := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			break
		}
		n++
		in, want := strings.Trim(cells[1], " `\""), strings.TrimSpace(cells[2])
		v, err := ParseInt(in)
		switch {
		case strings.HasPrefix(want, "refused") != (err != nil):
			t.Errorf("%s: %v, %v; documented: %s", in, v, err, want)
		case err == nil && v.String() != want:
			t.Errorf("%s is %s, documented: %s", in, v, want)
		}
	}
	if n < 12 {
		t.Errorf("only %d rows were found", n)
	}
}

// TestDocNamesEverything looks for every key, flag, variable and default.
func TestDocNamesEverything(t *testing.T) {
	doc, _ := docBlocks(t)
	var walk func(s *schema)
	walk = func(s *schema) {
		for _, f := range s.fields {
			if !strings.Contains(doc, "`"+f.key) && !strings.Contains(doc, "."+f.key+"`") && !strings.Contains(doc, f.key+": ") {
				t.Errorf("the key %s is not documented", f.key)
			}
			walk(f.schema)
		}
		if s.item != nil {
			walk(s.item)
		}
	}
	walk(fileSchema)
	for _, o := range Options() {
		if row := fmt.Sprintf("| `%s` | `--%s` | `%s` |", o.Key, o.Flag, o.Env); !strings.Contains(doc, row) {
			t.Errorf("there is no row %s", row)
		}
		if o.Default != "" && !strings.Contains(doc, fmt.Sprintf("| `%s` | `%s` |", o.Key, o.Default)) {
			t.Errorf("the default %s of %s is not documented", o.Default, o.Key)
		}
	}
	for _, name := range append(Builtins(), EnvPassword, EnvSentinelPassword, EnvMetricsToken) {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("%s is not documented", name)
		}
	}
}
