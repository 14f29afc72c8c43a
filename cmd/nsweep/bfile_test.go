package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBFileWithGaps: an export of n that are not consecutive is refused as a
// b-file, with the gap and what to do; no file is left.
func TestBFileWithGaps(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "gaps.yaml", `name: gaps
sweeps:
  - {name: h, engine: hopping, n: {from: 1, to: 50, values: [60, 51]}}
  - {name: b, engine: bezout, n: {values: [4, 100]}}
`)
	nsweep := func(args ...string) (code int, out, errs string) {
		var o, e strings.Builder
		code = execute(t.Context(), args, streams{in: strings.NewReader(""), out: &o, err: &e})
		return code, o.String(), e.String()
	}
	call(t, dir, nil, codeDone, "run", "gaps.yaml") // not calibrated, unlike in this process
	t.Chdir(dir)
	for line, want := range map[string]string{
		"export gaps b --format bfile":                    "--format bfile: a b-file holds consecutive n; sweep b has single points, and none between n = 4 and n = 100: want --format csv, jsonl or parquet\n",
		"export gaps b -o f.txt":                          "--format bfile: a b-file holds consecutive n; sweep b has single points, and none between n = 4 and n = 100: want --format csv, jsonl or parquet\n",
		"export gaps h -o f.txt":                          "--format bfile: a b-file holds consecutive n; sweep h has none between n = 51 and n = 60: want --format csv, jsonl or parquet, or --range 1..51\n",
		"export gaps h --bundle folder --format bfile":    "--format bfile: a b-file holds consecutive n; sweep h has none between n = 51 and n = 60: want --format csv, jsonl or parquet, or --range 1..51\n",
		"export gaps h --oeis --anumber 1":                "--oeis: a b-file holds consecutive n; sweep h has none between n = 51 and n = 60: want a sweep without gaps, or --range 1..51\n",
		"export gaps b --oeis --anumber 1 --range 1..999": "--oeis: a b-file holds consecutive n; sweep b has single points, and none between n = 4 and n = 100: want a sweep without gaps\n",
	} {
		if code, out, errs := nsweep(strings.Fields(line)...); code != codeUsage || out != "" || errs != "nsweep: "+want {
			t.Errorf("nsweep %s: exit code %d, prints %q, says %q, want %q", line, code, out, errs, want)
		}
	}
	left, err := filepath.Glob("f*")
	if err != nil {
		t.Fatal(err)
	}
	if sums, _ := os.ReadDir("folder"); len(left) > 1 || len(sums) > 0 {
		t.Errorf("left behind: %v and %v", left, sums)
	}
	if code, out, _ := nsweep(strings.Fields("export gaps h --format bfile --range 50..51")...); code != codeDone || strings.Count(out, "\n5") != 2 {
		t.Errorf("a part without gap: exit code %d, %q", code, out)
	}
	if code, out, _ := nsweep(strings.Fields("export gaps b --format bfile --allow-partial")...); code != codeDone || !strings.HasSuffix(out, "\n4 5\n# ends at n = 4, the next n is 100\n") {
		t.Errorf("with --allow-partial: exit code %d, %q", code, out)
	}
	// The link names the n that there are.
	if code, out, _ := nsweep(strings.Fields("export gaps h --oeis --anumber 1 --range 2..55 --author J")...); code != codeDone || !strings.Contains(out, "for n = 2..51</a>") {
		t.Errorf("the link: exit code %d, %q", code, out)
	}
}
