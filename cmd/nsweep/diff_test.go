package main

import (
	"bytes"
	"encoding/json"
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

// TestDiffSays: the text names both sides, the JSON has every number exactly.
func TestDiffSays(t *testing.T) {
	t.Chdir(t.TempDir())
	const big = "20264236729551612455" // W(10^10), above 2^63
	write(t, ".", "a.txt", "1 0\n2 2\n3 1\n10000000000 "+big+"\n")
	write(t, ".", "b.txt", "2 2\n3 7\n9007199254740993 5\n")
	write(t, ".", "c.txt", "2 2\n3 7\n")
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"diff a.txt a.txt", "a.txt and a.txt have the same values at the same 4 n\n", codeDone},
		{"diff a.txt b.txt", "same value at 1 n, another at 1; 2 n only in a.txt, 1 only in b.txt\nfirst at n = 3: 1 in a.txt, 7 in b.txt\nfirst in one alone at n = 1: 0 in a.txt\n", codeMismatch},
		{"diff c.txt b.txt", "same value at 2 n, another at 0; 0 n only in c.txt, 1 only in b.txt\nfirst in one alone at n = 9007199254740993: 5 in b.txt\n", codeMismatch},
		{"diff --json c.txt c.txt", `{"a":"c.txt","b":"c.txt","equal":true,"same":2,"different":0,"only_a":0,"only_b":0}`, codeDone},
		{"diff --json a.txt b.txt", `{"a":"a.txt","b":"b.txt","equal":false,"same":1,"different":1,"only_a":2,"only_b":1,"first":{"n":3,"a":"1","b":"7"},"first_only":{"n":1,"a":"0"}}`, codeMismatch},
		{"diff --json c.txt b.txt", `{"a":"c.txt","b":"b.txt","equal":false,"same":2,"different":0,"only_a":0,"only_b":1,"first_only":{"n":"9007199254740993","b":"5"}}`, codeMismatch},
	} {
		var out, errs strings.Builder
		code := execute(t.Context(), strings.Fields(c.args), streams{in: strings.NewReader(""), out: &out, err: &errs})
		got := out.String()
		if strings.Contains(c.args, "--json") {
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(got)); err != nil {
				t.Fatal(err)
			}
			got = b.String()
		}
		if code != c.code || got != c.want {
			t.Errorf("%s: exit code %d\n%s\nwant %d\n%s", c.args, code, got, c.code, c.want)
		}
	}
}

// TestExportFlags: a flag that would have no effect is refused, and a file's
// name or an A-number gives the format.
func TestExportFlags(t *testing.T) {
	for _, c := range []struct {
		o      exportOptions
		format string
		out    string
		says   string
	}{
		{o: exportOptions{}, format: "csv", out: "-"},
		{o: exportOptions{anumber: "A000788"}, format: "bfile", out: "b000788.txt"},
		{o: exportOptions{anumber: "788", out: "x.txt"}, format: "bfile", out: "x.txt"},
		{o: exportOptions{out: "x.parquet"}, format: "parquet", out: "x.parquet"},
		{o: exportOptions{anumber: "A0007888888", out: "x.txt"}, says: "--anumber: "},
		{o: exportOptions{anumber: "A000788", out: "x.csv", format: "csv"}, says: "--anumber A000788: names a b-file; --format csv has no place for it"},
		{o: exportOptions{oeis: true}, says: "--oeis needs --anumber"},
		{o: exportOptions{format: "xml"}, says: "--format xml: want bfile, csv, jsonl or parquet"},
	} {
		err := c.o.complete()
		switch {
		case c.says != "":
			var coded *codedError
			if !errors.As(err, &coded) || coded.code != codeUsage || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("%+v: %v, want %s", c.o, err, c.says)
			}
		case err != nil || c.o.format != c.format || c.o.out != c.out:
			t.Errorf("%+v: %v, want %s in %s", c.o, err, c.format, c.out)
		}
	}
}
