package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nsweep/nsweep/report"
)

// TestDiffFiles: files that are no lists of values are bad usage, in one line
// that names file and line and says what would be right; files that differ are a
// mismatch.
func TestDiffFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("bundle", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"good.txt": "# M(n)\n1 0\n2 2\n3 1\n", "same.csv": "n,value\n1,0\n2,2\n3,1\n", "other.csv": "1,0\n2,2\n3,2\n",
		"words.txt": "1 0\nand so on\n", "back.txt": "2 2\n1 0\n", "lines.jsonl": `{"n":1,"value":0}` + "\n", "binary.parquet": "PAR1\x15\x00\nx\x00\x01",
		"empty.txt": "", "heading.csv": "n,value\n", "huge.txt": "1 " + strings.Repeat("9", 50) + "\n",
		filepath.Join("bundle", "values.csv"): "n,value\n1,0\n",
	} {
		write(t, ".", name, text)
	}
	const want = "want an integer n and an integer value"
	for _, c := range []struct {
		a, b string
		code int
		says string
	}{
		{"good.txt", "same.csv", codeDone, ""},
		{"good.txt", "other.csv", codeMismatch, "good.txt and other.csv differ"},
		{"good.txt", "words.txt", codeUsage, `words.txt: line 2: "and so on": ` + want},
		{"words.txt", "good.txt", codeUsage, `words.txt: line 2: "and so on": ` + want},
		{"good.txt", "back.txt", codeUsage, "back.txt: line 2: n = 1 follows n = 2; want every n once, in rising order"},
		{"good.txt", "lines.jsonl", codeUsage, `lines.jsonl: line 1: "{\"n\":1,\"value\":0}": ` + want},
		{"binary.parquet", "good.txt", codeUsage, "binary.parquet: line 2: \"x\\x00\\x01\": " + want},
		{"good.txt", "huge.txt", codeUsage, "huge.txt: line 1: "},
		{"good.txt", "empty.txt", codeUsage, "empty.txt: holds no values; want lines of an integer n"},
		{"heading.csv", "good.txt", codeUsage, "heading.csv: holds no values"},
		{"bundle", "good.txt", codeUsage, "bundle: is a folder; want a file in it"},
		{"good.txt", "missing.txt", codeUsage, "missing.txt is no file, and no RUN/SWEEP"},
	} {
		var out, errs strings.Builder
		code := execute(t.Context(), []string{"diff", c.a, c.b}, streams{in: strings.NewReader(""), out: &out, err: &errs})
		lines := 1
		if c.says == "" {
			lines = 0
		}
		if code != c.code || strings.Count(errs.String(), "\n") != lines || !strings.HasPrefix(strings.TrimPrefix(errs.String(), "nsweep: "), c.says) {
			t.Errorf("diff %s %s: exit code %d, says %q, want %d and %q", c.a, c.b, code, errs.String(), c.code, c.says)
		}
		if c.code == codeUsage && out.Len() > 0 {
			t.Errorf("diff %s %s prints %q", c.a, c.b, out.String())
		}
	}
}

// TestDiffUnreadable: that a file cannot be read to its end says nothing about
// what is in it.
func TestDiffUnreadable(t *testing.T) {
	gone := errors.New("read f: input/output error")
	broken := valuesOf("f", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("1 0\n"))))
	_, err := report.Compare(broken, broken)
	if !errors.Is(err, iotest.ErrTimeout) || exitCode(err) != codeFailed {
		t.Errorf("%v, exit code %d", err, exitCode(err))
	}
	_, err = report.Compare(valuesOf("f", strings.NewReader("1 0\n")), valuesOf("f", iotest.ErrReader(gone)))
	if !errors.Is(err, gone) || exitCode(err) != codeFailed {
		t.Errorf("%v, exit code %d", err, exitCode(err))
	}
}
