package main

import (
	"strings"
	"testing"
)

// TestHelpExamples runs what the help of the commands about stored values
// shows, as it stands there.
func TestHelpExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call(t, dir, nil, codeDone, "run")
	write(t, dir, "night.yaml", "name: overnight\nsweeps:\n  - {name: hopping, engine: hopping, n: {to: 2000}}\n  - {name: bezout, engine: bezout, n: {to: 3000}}\n")
	call(t, dir, nil, codeDone, "run", "night.yaml")
	call(t, dir, nil, codeDone, "export", "euler", "hopping", "-o", "before.csv")
	root := (&app{reg: engines()}).root()
	ran := 0
	for _, name := range []string{"export", "diff", "plot", "verify", "report", "status", "get"} {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "    ")
			want := codeDone
			if strings.Contains(line, "overnight/hopping") {
				want = codeMismatch // it is longer
			}
			call(t, dir, nil, want, strings.Fields(line)[1:]...)
			ran++
		}
	}
	if ran < 15 {
		t.Errorf("%d examples", ran)
	}
}
