package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

var symbols = Symbols(map[string]string{"hopping": "M(n)", "bezout": "W(n)"})

// eulerResult is a finished run with the numbers published for both games; the
// tree digests are made up.
func eulerResult() aggregator.Result {
	at := func(n int64, v string) *aggregator.ValueAt {
		return &aggregator.ValueAt{N: aggregator.Int(n), Value: v}
	}
	ok := func(n int64, power int, v string) aggregator.CheckResult {
		return aggregator.CheckResult{N: aggregator.Int(n), Power: power, Want: v, Got: v, Status: aggregator.OK}
	}
	return aggregator.Result{Run: "euler", Epoch: "k3f9q2wx7a5bc", Number: 1, Complete: true, ElapsedMs: 1234, Sweeps: []aggregator.SweepResult{
		{Name: "hopping", Engine: "hopping", Version: 1, Params: engine.Params{"base": 2}, Algorithm: "classes", Keep: jobs.KeepValues, Grid: 1,
			N: "1…1000", Count: 1000, Done: 1000, Complete: true, Sums: []aggregator.PowerSum{{Power: 3, Value: "61029882288"}},
			Checkpoints: []aggregator.CheckResult{ok(2, 0, "2"), ok(7, 0, "1"), ok(20, 0, "4"), ok(20, 3, "8150"), ok(1000, 3, "61029882288")},
			First:       at(1, "0"), Last: at(1000, "771"), Min: at(1, "0"), Max: at(993, "987"),
			Text: "ea7c1965ffd89d7e698e85c1438bf5579623e6b3d7ad7121764d8e85d298d470", Tree: strings.Repeat("0123456789abcdef", 4), ElapsedMs: 41},
		{Name: "bezout", Engine: "bezout", Version: 1, Params: engine.Params{"determinant": 1}, Algorithm: "formula", Keep: jobs.KeepValues, Grid: 1,
			N: "11 points 4…1000000000", Count: 11, Done: 11, Complete: true,
			Checkpoints: []aggregator.CheckResult{ok(4, 0, "5"), ok(20, 0, "89"), ok(40, 0, "333"), ok(100, 0, "2043"), ok(1_000_000_000, 0, "202642367520564145")},
			First:       at(4, "5"), Last: at(1_000_000_000, "202642367520564145"), Min: at(4, "5"), Max: at(1_000_000_000, "202642367520564145"),
			Text: strings.Repeat("fedcba9876543210", 4), Tree: strings.Repeat("76543210fedcba98", 4), ElapsedMs: 12_345},
	}}
}

// brokenResult is a run that was halted under way.
func brokenResult() aggregator.Result {
	r := eulerResult()
	r.Complete = false
	h := &r.Sweeps[0]
	h.Done, h.Complete, h.Text, h.Tree = 350, false, "", ""
	h.Checkpoints[3].Want, h.Checkpoints[3].Status = "8151", aggregator.Mismatch
	h.Checkpoints[4].Got, h.Checkpoints[4].Status = "", aggregator.Pending
	h.Last = &aggregator.ValueAt{N: 350, Value: "12"}
	h.Sums = append(h.Sums, aggregator.PowerSum{Power: 40, Value: strings.Repeat("1234567890", 12)})
	return r
}

func TestWriteTable(t *testing.T) {
	many := eulerResult()
	for n := range 200 {
		c := aggregator.CheckResult{N: aggregator.Int(n + 1), Want: "1", Got: "1", Status: aggregator.OK}
		if n%50 == 7 {
			c.Got, c.Status = "2", aggregator.Mismatch
		}
		many.Sweeps[0].Checkpoints = append(many.Sweeps[0].Checkpoints, c)
	}
	for name, c := range map[string]struct {
		r aggregator.Result
		o []TableOption
	}{
		"euler.txt":  {eulerResult(), []TableOption{symbols}},
		"color.txt":  {brokenResult(), []TableOption{symbols, Color(), Note("halted")}},
		"halted.txt": {brokenResult(), []TableOption{symbols, Note("halted")}},
		"many.txt":   {many, nil},
		"empty.txt":  {aggregator.Result{Run: "nothing"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := WriteTable(&b, c.r, c.o...); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
			if name == "euler.txt" {
				for line := range strings.Lines(b.String()) {
					if width(line) > maxTable+1 {
						t.Errorf("a line of %d columns: %s", width(line)-1, line)
					}
				}
			}
		})
	}
}

func TestWriteJSON(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, eulerResult()); err != nil {
		t.Fatal(err)
	}
	golden(t, "euler.json", b.Bytes())
	if !json.Valid(b.Bytes()) {
		t.Error("not valid JSON")
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 1500 * time.Millisecond: "1.5 s", 9949 * time.Millisecond: "9.9 s", 9950 * time.Millisecond: "10 s", 59 * time.Second: "59 s",
		90*time.Second + 600*time.Millisecond: "1 min 31 s", 48 * time.Hour: "48 h 00 min", 60 * time.Hour: "2.5 days", 90 * time.Minute: "1 h 30 min", 1 << 62: "centuries",
		730 * 24 * time.Hour: "730.0 days", 800 * 24 * time.Hour: "2 years", 36501 * 24 * time.Hour: "centuries",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 999 * time.Millisecond: "999 ms", time.Second: "1.00 s", 9990 * time.Millisecond: "9.99 s", 59 * time.Second: "59.0 s",
		time.Minute: "1 min 00 s", 3599 * time.Second: "59 min 59 s", time.Hour: "1 h 00 min", 100*time.Hour + 7*time.Minute: "100 h 07 min",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Group(0), "0"}, {Group(999), "999"}, {Group(1000), "1,000"}, {Group(-999), "-999"}, {Group(-1234567), "-1,234,567"},
		{Group(math.MinInt64), "-9,223,372,036,854,775,808"},
		{Plural(1, "stretch"), "1 stretch"}, {Plural(1200, "stretch"), "1,200 stretches"}, {Plural(2, "slot"), "2 slots"}, {Plural(int64(0), "worker"), "0 workers"},
		{SumName("M(n)", 1), "Σ M"}, {SumName("M(n)", 12), "Σ M¹²"}, {Letter("f(n)"), "f"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
