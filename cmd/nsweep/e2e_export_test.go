package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestExport(t *testing.T) {
	dir := t.TempDir()
	call(t, dir, nil, codeDone, "run")
	call(t, dir, nil, codeDone, "export", "euler", "hopping", "--anumber", "A000001")
	text, err := os.ReadFile(filepath.Join(dir, "b000001.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var values strings.Builder
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if !strings.HasPrefix(line, "#") {
			values.WriteString(line)
		}
	}
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(values.String()))); got != text1000 {
		t.Errorf("the b-file's lines have digest %s, want %s", got, text1000)
	}
	// What is there is kept.
	_, errs := call(t, dir, nil, codeUsage, "export", "euler", "hopping", "--anumber", "A000001")
	if !strings.Contains(errs, "--force") {
		t.Errorf("says %s", errs)
	}
	call(t, dir, nil, codeDone, "export", "euler", "hopping", "--anumber", "A000001", "--force")

	call(t, dir, nil, codeDone, "diff", "euler/hopping", "b000001.txt")
	write(t, dir, "other.csv", "n,value\n1,0\n2,2\n3,1\n4,5\n")
	out, _ := call(t, dir, nil, codeMismatch, "diff", "euler/hopping", "other.csv")
	if !strings.Contains(out, "first at n = 4: 4 in euler/hopping, 5 in other.csv") {
		t.Errorf("diff says %s", out)
	}
	call(t, dir, nil, codeUsage, "diff", "euler", "nosuch.txt")

	for _, c := range []struct{ args, want string }{
		{"export euler hopping --range 1..3 --format csv", "n,value\n1,0\n2,2\n3,1\n"},
		{"export euler bezout --range 1e9..1e9 --format jsonl", `{"n":1000000000,"value":"` + bezout1e9 + `"}` + "\n"},
	} {
		if got, _ := call(t, dir, nil, codeDone, strings.Fields(c.args)...); got != c.want {
			t.Errorf("nsweep %s gives %q, want %q", c.args, got, c.want)
		}
	}
	out, _ = call(t, dir, nil, codeDone, "export", "euler", "hopping", "--oeis", "--anumber", "A000001", "--author", "J")
	if !strings.HasPrefix(out, `J, <a href="/A000001/b000001.txt">Table of n, a(n) for n = 1..1000</a>`+"\n0, 2, 1, 4, 2") {
		t.Errorf("OEIS lines %q", out)
	}
	call(t, dir, nil, codeUsage, "export", "euler", "hopping", "--format", "xml")
	call(t, dir, nil, codeUsage, "export", "euler", "hopping", "--oeis")
	call(t, dir, nil, codeDone, "export", "euler", "bezout", "-o", "w.parquet")
}

// TestCompareGates: a file of known values gates a run like checkpoints.
func TestCompareGates(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, sub, "m.yaml", "name: m\nsweeps:\n  - name: m\n    engine: hopping\n    n: {from: 1, to: 100}\n    compare: b000001.txt\n")
	_, errs := call(t, dir, nil, codeUsage, "run", "sub/m.yaml")
	if !strings.Contains(errs, "sub/m.yaml:6: sweeps.m.compare") {
		t.Errorf("a missing file: %s", errs)
	}
	write(t, sub, "b000001.txt", "# M(n)\n1 0\n2 2\n3 1\n20 4\n500 1\n")
	out, _ := call(t, dir, nil, codeDone, "run", "sub/m.yaml")
	if !strings.Contains(out, "4 ✓") {
		t.Errorf("not the four values of the file:\n%s", out)
	}
	write(t, sub, "b000001.txt", "1 0\n2 2\n3 7\n")
	_, errs = call(t, dir, nil, codeMismatch, "run", "sub/m.yaml")
	if !strings.Contains(errs, "n = 3") || !strings.Contains(errs, "7") {
		t.Errorf("says %s", errs)
	}
}

// TestBundleReproduces: the experiment of a bundle gives the same bundle.
func TestBundleReproduces(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	call(t, dir, nil, codeDone, "run")
	for _, sweep := range []string{"hopping", "bezout"} {
		call(t, dir, nil, codeDone, "export", "euler", sweep, "--bundle", sweep)
		sums, err := exec.Command("sh", "-c", "cd '"+filepath.Join(dir, sweep)+"' && sha256sum -c --quiet SHA256SUMS").CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, sums)
		}
		again := filepath.Join(dir, sweep, "experiment.yaml")
		call(t, other, nil, codeDone, "run", again)
		call(t, other, nil, codeDone, "export", sweep, sweep, "--bundle", sweep)
		a, err := os.ReadFile(filepath.Join(dir, sweep, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(other, sweep, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		if string(a) != string(b) {
			t.Errorf("bundles differ:\n%s\n%s", a, b)
		}
	}
}

func TestPlot(t *testing.T) {
	dir := t.TempDir()
	call(t, dir, nil, codeDone, "run")
	for _, args := range []string{
		"plot euler hopping -o m.svg", "plot euler hopping --kind cubes -o c.png", "plot euler hopping --kind groups -o t.svg --range 1..200 --dark",
		"plot euler bezout --kind square -o w.svg",
	} {
		call(t, dir, nil, codeDone, strings.Fields(args)...)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "m.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "M(n)", "run euler, sweep hopping", "</svg>"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	for _, args := range []string{"plot euler hopping", "plot euler hopping -o m.svg", "plot euler hopping -o m.gif", "plot euler hopping --kind x -o y.svg",
		"plot euler bezout --kind groups -o g.svg", "plot euler hopping -o z.svg --range 9..1"} {
		call(t, dir, nil, codeUsage, strings.Fields(args)...)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestGroupsForViewers: t(n) is computed, so a viewer gets a part of a long window.
func TestGroupsForViewers(t *testing.T) {
	for _, c := range []struct{ lo, hi, want int64 }{{1, 2, 1}, {1, 1001, 1}, {1, 1002, 2}, {1, 20_001, 20}, {1, 1_000_001, 2005}, {10_000_000, 10_000_050, 2}, {1, 1_000_000_001, 50_000_000}} {
		if got := groupStep(c.lo, c.hi); got != c.want {
			t.Errorf("n = %d…%d: 1 n in %d, want %d", c.lo, c.hi-1, got, c.want)
		}
	}
}

// TestServe: the page of a finished run, the refusal of a public address
// without token, and the health of the process.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	call(t, dir, nil, codeDone, "run")
	_, errs := call(t, dir, nil, codeUsage, "serve", "--listen", "0.0.0.0:0")
	if !strings.Contains(errs, "--token-file") {
		t.Errorf("says %s", errs)
	}
	p := cli(t, dir, nil, "serve", "--listen", "127.0.0.1:0")
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)
	until(t, "the address", func() bool { return url.MatchString(p.err.String()) })
	base := url.FindString(p.err.String())
	for path, want := range map[string]string{"": "euler", "run/euler": "hopping", "metrics": "nsweep_", "healthz": "",
		"run/euler/plot/groups.svg?sweep=hopping&from=1&to=500": "the group at which the recursion stops"} {
		until(t, path, func() bool {
			resp, err := http.Get(base + path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(body), want)
		})
	}
	p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != codeDone {
		t.Errorf("exit code %d", code)
	}
}
