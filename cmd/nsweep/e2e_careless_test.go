package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// small has few values, dense and single.
const small = `name: small
sweeps:
  - {name: h, engine: hopping, n: {from: 1, to: 300}}
  - {name: b, engine: bezout, n: {values: [4, 100]}}
`

// TestCareless: each slip ends in one line that says what to do, with its code,
// and leaves no file.
func TestCareless(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "small.yaml", small)
	call(t, dir, nil, codeDone, "run", "small.yaml")
	if err := os.Mkdir(filepath.Join(dir, "folder.svg"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"run", ""}, codeUsage, "FILE is empty"},
		{[]string{"submit", ""}, codeUsage, "FILE is empty"},
		{[]string{"plan", ""}, codeUsage, "FILE is empty"},
		{[]string{"doctor", ""}, codeUsage, "FILE is empty"},
		// More cells than memory holds.
		{[]string{"plan", "small.yaml", "--set", "sweeps.b.n={to: 10^18}"}, codeUsage,
			"--set sweeps.b.n: 1…1000000000000000000 has 25,000,000,003,450 cells, more than the 300,000,000"},
		{[]string{"run", "small.yaml", "--set", "sweeps.b.n={from: 10^17, to: 10^18, values: [5]}"}, codeUsage, "want a shorter range"},
		{[]string{"plan", "small.yaml", "--set", "sweeps.h.n={to: 10^9}"}, codeUsage, "--set sweeps.h.n: algorithm classes reaches n = 200000000, not 1000000000"},
		{[]string{"plan", "small.yaml", "--set", "sweeps.h.params={base: 3}"}, codeUsage, "--set sweeps.h.params: sweeps.h.params.base: parameter base is 3, only 2 is supported"},
		{[]string{"get", "small", "h"}, codeUsage, "nsweep: get: 2 arguments given; want nsweep get RUN SWEEP N… (see nsweep get --help)"},
		{[]string{"submit", "small.yaml", "--json"}, codeUsage, "--json is for the result, which only --wait has"},
		{[]string{"bench", "x"}, codeUsage, "nsweep: bench: 1 argument given; want nsweep bench (see nsweep bench --help)"},
		{[]string{"stauts", "small"}, codeUsage, "there is no command stauts; did you mean status?"},
		{[]string{"nosuch"}, codeUsage, "there is no command nosuch (see nsweep --help)"},
		{[]string{"run", "--nosuch"}, codeUsage, "run: unknown flag: --nosuch (see nsweep run --help)"},
		{[]string{"run", "--for"}, codeUsage, "run: --for: a value is missing"},
		{[]string{"plan", "--slots", "x"}, codeUsage, "plan: --slots x: want a whole number"},
		{[]string{"bench", "--time", "1"}, codeUsage, "bench: --time 1: want a time such as 30s"},
		{[]string{"runs", "--json=maybe"}, codeUsage, "runs: --json maybe: want true or false"},
		{[]string{"verify", "small", "--seed", "-1"}, codeUsage, "verify: --seed -1: want a whole number from 0 on"},
		{[]string{"worker", "--engine", "nosuch"}, codeUsage, "--engine: unknown engine \"nosuch\", want one of "},
		{[]string{"serve", "--listen", "nosuch"}, codeUsage, "--listen nosuch: want HOST:PORT, such as 127.0.0.1:8391"},
		{[]string{"serve", "--listen", "127.0.0.1:99999"}, codeUsage, "--listen 127.0.0.1:99999: invalid port; want HOST:PORT"},
		{[]string{"serve", "--host", "a b"}, codeUsage, `--host "a b": is no host name; want one such as nsweep.lan`},
		{[]string{"run", "--listen", "127.0.0.1:0"}, codeUsage, "--listen is for --dashboard, which is not given"},
		{[]string{"run", "--read-only"}, codeUsage, "--read-only is for --dashboard"},
		{[]string{"export", "small", "h", "--author", "J"}, codeUsage, "--author is for --oeis"},
		{[]string{"verify", "small", "--algorithm", "nosuch"}, codeUsage, "--algorithm nosuch: no engine of run small has it; want "},
		{[]string{"plot", "small", "h", "-o", "f.svg", "--kind", "nosuch"}, codeUsage, "--kind nosuch: want one of value, ratio, "},
		{[]string{"export", "small", "h", "--format", "nosuch"}, codeUsage, "--format nosuch: want bfile, csv, jsonl or parquet"},
		{[]string{"pause", "small"}, codeUsage, "run small is complete; nsweep pause is for runs that are running"},
		{[]string{"cancel", "small"}, codeUsage, "run small is complete; nsweep cancel is for runs that are running, paused, failed or halted"},
		{[]string{"status", "smal"}, codeFailed, `no run "smal" in embedded store .nsweep, which holds small`},
		{[]string{"get", "small", "h", "1000..2000"}, codeFailed, "no n of 1000..2000 is in sweep h (1…300)"},
		{[]string{"get", "small", "b", "5..99"}, codeFailed, "no n of 5..99 is in sweep b (4, 100)"},
		{[]string{"get", "small", "h", "5.."}, codeUsage, "5.. is open at one end"},
		{[]string{"get", "small", "h", "x"}, codeUsage, "x is not an integer; want"},
		{[]string{"export", "small", "h", "-o", "f.csv", "--range", "301..400"}, codeUsage, "--range 301..400: holds no n of sweep h"},
		{[]string{"export", "small", "h", "-o", "f.parquet", "--range", "301..400"}, codeUsage, "--range 301..400: holds no n of sweep h"},
		{[]string{"plot", "small", "b", "-o", "f.svg", "--range", "5..99"}, codeUsage, "--range 5..99: holds no n of sweep b"},
		{[]string{"export", "small", "h", "-o", "f.csv", "--range", "..9"}, codeUsage, "--range: ..9 is open"},
		{[]string{"export", "small", "h", "-o", "/dev/full"}, codeUsage, "--output /dev/full: is not a regular file"},
		{[]string{"export", "small", "h", "-o", "/dev/null", "--force"}, codeUsage, "--output /dev/null: is not a regular file"},
		{[]string{"plot", "small", "h", "-o", "folder.svg", "--force"}, codeUsage, "--output folder.svg: is not a regular file"},
		{[]string{"export", "small", "h", "-o", "f.csv", "--bundle", "f"}, codeUsage, "--bundle and --output exclude each other"},
	} {
		out, errs := call(t, dir, nil, c.code, c.args...)
		if out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("nsweep %q says %q and %q, want one line with %q", c.args, out, errs, c.says)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "f*")); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// TestOutputLost: what could not be printed is a failure of every command that
// prints.
func TestOutputLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "small.yaml", small)
	call(t, dir, nil, codeDone, "run", "small.yaml")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"status small", "status small --watch", "diff small/h small/h", "doctor", "runs", "get small h 1..9", "report small", "export small h",
		"plan small.yaml", "compute hopping 7", "verify small --sample 0", "run small.yaml", "--version", "status --help"} {
		var errs strings.Builder
		c := exec.CommandContext(t.Context(), bin, strings.Fields(line)...)
		c.Dir, c.Env, c.Stdout, c.Stderr = dir, environ(), full, &errs
		if err := c.Run(); c.ProcessState.ExitCode() != codeFailed || strings.Count(errs.String(), "no space left") != 1 {
			t.Errorf("nsweep %s: %v, says %q", line, err, errs.String())
		}
	}
}
