package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Known digests and sums; docs/MATH.md says where they come from.
const (
	text1000    = "ea7c1965ffd89d7e698e85c1438bf5579623e6b3d7ad7121764d8e85d298d470" // n M(n), n = 1…1000
	textW10000  = "57ec9765c342735e5348b199de144872c266c8405dabf1a6188d3e1926572459" // n W(n), n = 1…10000
	cubes1000   = "61029882288"
	cubes2000   = "1005494239260"
	bezout1e9   = "202642367520564145"
	lateExit    = 5 * time.Minute
	testEngines = "nsweep_testengine"
)

func TestEuler(t *testing.T) {
	dir := t.TempDir()
	out, errs := call(t, dir, nil, codeDone, "run")
	for _, want := range []string{cubes1000, "✓"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "✗") {
		t.Errorf("a checkpoint does not hold:\n%s", out)
	}
	if values, again := computed(t, errs); values != "1,011" || again != "0" {
		t.Errorf("computed %s values, %s again; want 1,011 and 0", values, again)
	}
	r := result(t, dir, nil, "euler")
	hop, _ := r.Sweep("hopping")
	if hop.Text != text1000 || hop.Sums[0].Value != cubes1000 || !r.Passed() {
		t.Errorf("result %+v", r)
	}

	// Again: complete, with nothing computed.
	out2, errs := call(t, dir, nil, codeDone, "run")
	if !strings.Contains(errs, "run euler is complete") || computedLine.MatchString(errs) || out2 != out {
		t.Errorf("second run says:\n%s\n%s", errs, out2)
	}

	// Values by hand.
	got, _ := call(t, dir, nil, codeDone, "get", "euler", "hopping", "1..3", "20")
	if got != "1 0\n2 2\n3 1\n20 4\n" {
		t.Errorf("get gives %q", got)
	}
	got, _ = call(t, dir, nil, codeDone, "get", "euler", "bezout", "10^9", "--json")
	if got != `{"n":1000000000,"value":"`+bezout1e9+`"}`+"\n" {
		t.Errorf("get gives %q", got)
	}
	call(t, dir, nil, codeUsage, "get", "euler", "nosuch", "1")
	call(t, dir, nil, codeFailed, "get", "euler", "hopping", "1001")
	_, errs = call(t, dir, nil, codeFailed, "status", "nosuch")
	if !strings.Contains(errs, ".nsweep") {
		t.Errorf("the store is not named: %s", errs)
	}

	// Longer: only what is new.
	_, errs = call(t, dir, nil, codeDone, "run", "--set", "sweeps.hopping.n.to=2000")
	if values, again := computed(t, errs); values != "1,000" || again != "0" {
		t.Errorf("extension computed %s values, %s again; want 1,000 and 0", values, again)
	}
	if hop, _ := result(t, dir, nil, "euler").Sweep("hopping"); hop.Sums[0].Value != cubes2000 {
		t.Errorf("Σ M³ to 2000 is %s", hop.Sums[0].Value)
	}
	// Longer by a part of a cell, then on: the clipped cell is computed again.
	_, errs = call(t, dir, nil, codeDone, "run", "--set", "sweeps.hopping.n.to=2020")
	if values, _ := computed(t, errs); values != "20" {
		t.Errorf("extension to 2020 computed %s values, want 20", values)
	}
	_, errs = call(t, dir, nil, codeDone, "run", "--set", "sweeps.hopping.n.to=2100")
	if values, _ := computed(t, errs); values != "80" && values != "100" {
		t.Errorf("extension to 2100 computed %s values, want 80 new ones and the clipped cell", values)
	}
}

func TestDenseBezoutDigest(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "w.yaml", `
name: w
sweeps:
  - name: kept
    engine: bezout
    n: {from: 1, to: 10000}
    sums: [{power: 1}]
    checkpoints: [{n: 100, value: 2043}, {n: 10000, value: 20265829}]
  - name: summed
    engine: bezout
    keep: sums
    n: {from: 1, to: 10000}
    sums: [{power: 1}]
    checkpoints: [{n: 100, value: 2043}, {n: 10000, value: 20265829}]
`)
	call(t, dir, nil, codeDone, "run", "w.yaml")
	r := result(t, dir, nil, "w")
	kept, _ := r.Sweep("kept")
	summed, _ := r.Sweep("summed")
	if kept.Text != textW10000 {
		t.Errorf("text digest %s, want %s", kept.Text, textW10000)
	}
	if summed.Text != "" || summed.Tree != kept.Tree || summed.Sums[0] != kept.Sums[0] {
		t.Errorf("kept %+v\nsummed %+v", kept, summed)
	}
	if got, _ := call(t, dir, nil, codeDone, "get", "w", "summed", "100"); got != "100 2043\n" {
		t.Errorf("get from a sweep of sums gives %q", got)
	}
}

func TestCheckpointGates(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bad.yaml", `
name: bad
sweeps:
  - name: hopping
    engine: hopping
    n: {from: 1, to: 300}
    checkpoints: [{n: 20, sum_of_power: 3, equals: 8151}]
`)
	_, errs := call(t, dir, nil, codeMismatch, "run", "bad.yaml")
	for _, want := range []string{"20", "8151", "8150", "halted"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %s in: %s", want, errs)
		}
	}
	if strings.Contains(errs, "level=") {
		t.Errorf("the reader of a result is given a log: %s", errs)
	}
	out, _ := call(t, dir, nil, codeDone, "status", "bad")
	if !strings.Contains(out, "halted") {
		t.Errorf("status says %s", out)
	}
	call(t, dir, nil, codeMismatch, "report", "bad")
	if got, _ := call(t, dir, nil, codeDone, "get", "bad", "hopping", "20"); got != "20 4\n" {
		t.Errorf("the values are not kept: %q", got)
	}
	// Mended, the run goes on with what it has.
	_, errs = call(t, dir, nil, codeDone, "run", "bad.yaml", "--set", "sweeps.hopping.checkpoints=[{n: 20, sum_of_power: 3, equals: 8150}]")
	if values, _ := computed(t, errs); values == "300" {
		t.Errorf("everything was computed again: %s", errs)
	}
}

const toyYAML = `
name: toy
sweeps:
  - name: toy
    engine: toy
    n: {from: 1, to: 5000}
    sums: [{power: 1}]
`

func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	call(t, dir, nil, codeDone, "run", "toy.yaml")
	before := digests(result(t, dir, nil, "toy"))
	v2 := []string{"NSWEEP_TOY_VERSION=2"}
	_, errs := call(t, dir, v2, codeUsage, "run", "toy.yaml")
	for _, want := range []string{"value version", "1", "2", "--fresh"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in: %s", want, errs)
		}
	}
	_, errs = call(t, dir, nil, codeUsage, "run", "toy.yaml", "--set", "sweeps.toy.params.factor=3")
	for _, want := range []string{"factor=1", "factor=3"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in: %s", want, errs)
		}
	}
	if after := digests(result(t, dir, nil, "toy")); after != before {
		t.Errorf("refused, but changed:\n%s\n%s", before, after)
	}
	// Algorithm, checkpoints and sums may change.
	_, errs = call(t, dir, nil, codeDone, "run", "toy.yaml", "--set", "sweeps.toy.algorithm=again", "--set", "sweeps.toy.sums=[{power: 2}]")
	if values, _ := computed(t, errs); values != "0" {
		t.Errorf("another algorithm computed %s values, want none", values)
	}
	_, errs = call(t, dir, v2, codeDone, "run", "toy.yaml", "--fresh")
	if values, _ := computed(t, errs); values != "5,000" {
		t.Errorf("fresh start computed %s values", values)
	}
	if r := result(t, dir, v2, "toy"); r.Number != 2 {
		t.Errorf("start number %d, want 2", r.Number)
	}
	call(t, dir, nil, codeUsage, "delete", "toy")
	call(t, dir, nil, codeDone, "delete", "toy", "--yes")
	call(t, dir, nil, codeFailed, "status", "toy")
}

// TestRefusedBeforeAnythingIsStored: exit code 2, one line with file, line and
// key, and no store.
func TestRefusedBeforeAnythingIsStored(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"unknown key":       {"name: x\nsweeps:\n  - name: a\n    engine: hopping\n    m: 3\n    n: {from: 1, to: 5}\n", "bad.yaml:5: sweeps.a.m"},
		"unknown engine":    {"name: x\nsweeps:\n  - name: a\n    engine: hoping\n    n: {from: 1, to: 5}\n", `bad.yaml:4: sweeps.a.engine: unknown engine "hoping"`},
		"unknown algorithm": {"name: x\nsweeps:\n  - name: a\n    engine: hopping\n    algorithm: magic\n    n: {from: 1, to: 5}\n", "bad.yaml:5: sweeps.a.algorithm"},
		"beyond the reach":  {"name: x\nsweeps:\n  - name: a\n    engine: hopping\n    algorithm: labels\n    n: {from: 1, to: 500}\n", "bad.yaml:6: sweeps.a.n: algorithm labels reaches n = 20"},
		"parameter":         {"name: x\nsweeps:\n  - name: a\n    engine: hopping\n    params: {base: 3}\n    n: {from: 1, to: 5}\n", "bad.yaml:5: sweeps.a.params"},
		"backwards":         {"name: x\nsweeps:\n  - name: a\n    engine: hopping\n    n: {from: 9, to: 5}\n", "bad.yaml:5: sweeps.a.n"},
		"digits lost":       {"name: x\nsweeps:\n  - name: a\n    engine: hopping\n    n: {from: 1, to: 1.5}\n", "bad.yaml:5: sweeps.a.n.to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "bad.yaml", c.yaml)
			_, errs := call(t, dir, nil, codeUsage, "run", "bad.yaml")
			if !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("says %q, want one line with %q", errs, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, ".nsweep")); !errors.Is(err, os.ErrNotExist) {
				t.Error("a store was made")
			}
		})
	}
}

func TestSecondOwnerAndAttach(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, time.Second)
	p := cli(t, dir, slow, "run", "toy.yaml", "--concurrency", "2")
	until(t, "values", func() bool {
		q := cli(t, dir, nil, "get", "toy", "toy", "1")
		return q.wait() == codeDone && q.out.String() == "1 10\n"
	})
	// A second owner is refused in one line.
	_, errs := call(t, dir, nil, codeFailed, "run", "toy.yaml")
	if strings.Count(errs, "\n") != 1 || !strings.Contains(errs, ".nsweep") || !strings.Contains(errs, fmt.Sprint(p.cmd.Process.Pid)) {
		t.Errorf("second owner is told %q", errs)
	}
	out, _ := call(t, dir, nil, codeDone, "status", "toy")
	if !strings.Contains(out, "running") || !strings.Contains(out, "1 worker with 2 slots") {
		t.Errorf("status says %s", out)
	}
	call(t, dir, nil, codeDone, "pause", "toy")
	until(t, "the pause to show", func() bool { return strings.Contains(p.err.String(), "paused") })
	call(t, dir, nil, codeDone, "resume", "toy")
	hurry()
	p.ends(codeDone)
}

// TestSignalWithoutRun: a command that stores nothing stops as well, with the
// same exit code and one line.
func TestSignalWithoutRun(t *testing.T) {
	t.Parallel()
	p := cli(t, t.TempDir(), nil, "compute", "toy", "1..1000000000")
	until(t, "a value", func() bool { return p.out.String() != "" })
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.wait(); code != codeStopped || p.err.String() != "nsweep: stopped by a signal before the end\n" {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}

func TestSignals(t *testing.T) {
	for name, sig := range map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "toy.yaml", toyYAML)
			p := cli(t, dir, []string{"NSWEEP_TOY_PER_CELL=1s"}, "run", "toy.yaml", "--concurrency", "2")
			until(t, "values", func() bool {
				q := cli(t, dir, nil, "get", "toy", "toy", "1")
				return q.wait() == codeDone
			})
			p.cmd.Process.Signal(sig)
			if code := p.wait(); code != codeStopped {
				t.Errorf("exit code %d, want %d", code, codeStopped)
			}
			if !strings.Contains(p.err.String(), "run again to resume") {
				t.Errorf("says %s", p.err.String())
			}
			_, errs := call(t, dir, nil, codeDone, "run", "toy.yaml")
			values, again := computed(t, errs)
			if values == "5,000" || again != "0" {
				t.Errorf("after the stop computed %s values, %s cells again", values, again)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		write(t, dir, "toy.yaml", toyYAML)
		// A deaf engine: only a second signal ends it before its time.
		p := cli(t, dir, []string{"NSWEEP_TOY_PER_CELL=10m", "NSWEEP_TOY_DEAF=1"}, "run", "toy.yaml", "--drain-timeout", "10m")
		until(t, "tasks", func() bool {
			q := cli(t, dir, nil, "status", "toy", "--json")
			return q.wait() == codeDone && strings.Contains(q.out.String(), `"fraction"`)
		})
		until(t, "the end", func() bool { // two signals at the same instant are one
			p.cmd.Process.Signal(os.Interrupt)
			select {
			case <-p.done:
				return true
			default:
				return false
			}
		})
		if code := p.wait(); code != codeStopped || !strings.Contains(p.err.String(), "stopped at once") {
			t.Errorf("exit code %d: %s", code, p.err.String())
		}
	})
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"nosuch"}, {"run", "a", "b"}, {"run", "--nosuch"}, {"run", "nosuch.yaml"}, {"compute", "hopping"}, {"compute", "nosuch", "1"},
		{"compute", "hopping", "0"}, {"compute", "hopping", "x"}, {"compute", "hopping", "5..1"}, {"compute", "bezout", "1e19"},
		{"compute", "hopping", "20", "--param", "base=3"}, {"status"}, {"get", "euler", "hopping"}, {"run", "--redis", "http://x"},
		{"run", "--set", "sweeps.nosuch.n.to=5"}, {"run", "--concurrency", "-1"}, {"plan", "--slots", "-1"},
		{"status", "x", "--json", "--watch"}, {"compute", "hopping", "1", "--detail", "--summary"},
	} {
		_, errs := call(t, dir, nil, codeUsage, args...)
		if !strings.HasPrefix(errs, "nsweep: ") || strings.Count(errs, "\n") != 1 {
			t.Errorf("nsweep %v says %q, want one line", args, errs)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"run"}, {"submit"}, {"scheduler"}, {"worker"}, {"runs"}, {"status", "euler"}} {
		_, errs := call(t, dir, nil, codeUnreachable, append(args, "--redis", "redis://user:secret@127.0.0.1:1/0")...)
		if strings.Count(errs, "\n") != 1 || strings.Contains(errs, "secret") || !strings.Contains(errs, "127.0.0.1:1") {
			t.Errorf("nsweep %v says %q", args, errs)
		}
	}
}

func TestCompute(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"compute", "hopping", "1..5", "20"}, "1 0\n2 2\n3 1\n4 4\n5 2\n20 4\n"},
		{[]string{"compute", "bezout", "1e9", "--json"}, `{"n":1000000000,"value":"` + bezout1e9 + `"}` + "\n"},
		{[]string{"compute", "hopping", "1..20", "--summary"}, "count    20\nfirst    M(1) = 0\nlast     M(20) = 4\nleast    M(1) = 0\ngreatest M(15) = 15\nsum      98\n"},
		{[]string{"compute", "hopping", "20", "--algorithm", "labels"}, "20 4\n"},
		{[]string{"compute", "hopping", "1..20", "--summary", "--json"},
			`{"count":20,"first":{"n":1,"value":0},"last":{"n":20,"value":4},"least":{"n":1,"value":0},"greatest":{"n":15,"value":15},"sum":98}` + "\n"},
		{[]string{"compute", "bezout", "1e9", "4", "--summary", "--json"}, `{"count":2,"first":{"n":1000000000,"value":"` + bezout1e9 +
			`"},"last":{"n":4,"value":5},"least":{"n":4,"value":5},"greatest":{"n":1000000000,"value":"` + bezout1e9 + `"},"sum":"202642367520564150"}` + "\n"},
		{[]string{"compute", "hopping", "20", "--algorithm", "table", "--detail", "--json"}, `{"n":20,"value":4,"detail":{"stopping group":8,"updates":756}}` + "\n"},
	} {
		if got, _ := call(t, dir, nil, codeDone, c.args...); got != c.want {
			t.Errorf("nsweep %v gives %q, want %q", c.args, got, c.want)
		}
	}
	if got, _ := call(t, dir, nil, codeDone, "compute", "hopping", "905", "--detail"); !strings.Contains(got, "=25") {
		t.Errorf("no stopping group 25 in %q", got)
	}
}

// TestBench: the fast algorithms give the sums of the plain ones, and the table
// has a ratio for each.
func TestBench(t *testing.T) {
	rows := callJSON[[]benchResult](t, t.TempDir(), nil, codeDone, "bench", "--time", "1ms", "--json")
	if len(rows) < 8 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Seconds <= 0 || r.Ratio <= 0 || r.Evaluations < 1 || r.Bound == "" {
			t.Errorf("row %+v", r)
		}
	}
}

func TestHelp(t *testing.T) {
	a := &app{reg: engines()}
	for _, c := range a.root().Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no short text or no example", c.Name())
		}
		for _, line := range strings.Split(c.Example, "\n") {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "    ")
			fields := strings.Fields(line)
			for len(fields) > 0 && strings.HasPrefix(fields[0], "NSWEEP_") {
				fields = fields[1:]
			}
			if len(fields) < 2 || fields[0] != "nsweep" {
				t.Errorf("%s: example %q is no nsweep command", c.Name(), line)
				continue
			}
			found, rest, err := (&app{reg: engines()}).root().Find(fields[1:])
			if err != nil || found.Name() != fields[1] {
				t.Errorf("%s: example %q: %v", c.Name(), line, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: example %q: %v", c.Name(), line, err)
				continue
			}
			if found.Args != nil {
				if err := found.Args(found, found.Flags().Args()); err != nil {
					t.Errorf("%s: example %q: %v", c.Name(), line, err)
				}
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "small.yaml", small)
	call(t, dir, nil, codeDone, "run", "small.yaml")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, _ := call(t, dir, nil, codeDone, "completion", shell); len(out) < 1000 {
			t.Errorf("completion for %s is %d bytes", shell, len(out))
		}
	}
	for _, c := range []struct{ args, want string }{
		{"compute|", "hopping"}, {"compute|hopping|--algorithm|", "table"}, {"run|", "overnight"},
		{"status|", "small\n"}, {"get|", "small\n"}, {"get|small|", "h\nb\n"}, {"export|small|", "h\nb\n"}, {"get|nosuch|", ":4\n"},
	} {
		out, _ := call(t, dir, nil, codeDone, append([]string{"__complete"}, strings.Split(c.args, "|")...)...)
		if !strings.Contains(out, c.want) {
			t.Errorf("completing %q gives %q", c.args, out)
		}
	}
}

func TestPlanTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	out, _ := call(t, dir, nil, codeDone, "plan", "overnight")
	for _, want := range []string{"hopping", "20,000", "1,000,000", "400", "MiB"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in:\n%s", want, out)
		}
	}
	call(t, dir, nil, codeDone, "plan", "cluster", "--json", "--slots", "40")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// ctxFor bounds a helper of the tests.
func ctxFor(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), lateExit)
	t.Cleanup(cancel)
	return ctx
}
