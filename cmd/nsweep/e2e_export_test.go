package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	if !strings.Contains(out, "n = 4: 4 and 5") {
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
