package report

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := WriteFile(path, false, writeText("one")); err != nil || content(t, path) != "one" || names(t, dir) != "a.csv" {
		t.Fatalf("%v, %s", err, names(t, dir))
	}
	if err := WriteFile(path, false, writeText("two")); !errors.Is(err, fs.ErrExist) || content(t, path) != "one" {
		t.Errorf("over an existing file: %v", err)
	}
	boom := errors.New("boom")
	err := WriteFile(path, true, func(w io.Writer) error {
		return errors.Join(writeText("half")(w), boom)
	})
	if !errors.Is(err, boom) || content(t, path) != "one" || names(t, dir) != "a.csv" {
		t.Errorf("failed write: %v, %s, %s", err, content(t, path), names(t, dir))
	}
	if err := WriteFile(path, true, writeText("two")); err != nil || content(t, path) != "two" || names(t, dir) != "a.csv" {
		t.Errorf("with force: %v", err)
	}
	if err := WriteFile(dir, true, writeText("x")); !errors.Is(err, ErrSpecial) {
		t.Errorf("over a directory: %v", err)
	}
	// Somebody else makes the file while it is written.
	late := filepath.Join(dir, "late")
	err = WriteFile(late, false, func(w io.Writer) error { return os.WriteFile(late, []byte("theirs"), 0o600) })
	if !errors.Is(err, fs.ErrExist) || content(t, late) != "theirs" || names(t, dir) != "a.csv late" {
		t.Errorf("made meanwhile: %v, %s", err, names(t, dir))
	}
	f, err := CreateFile(filepath.Join(dir, "b"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil || names(t, dir) != "a.csv b late" {
		t.Errorf("Close after Commit: %v, %s", err, names(t, dir))
	}
}

func TestWriteBundle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "bundle")
	parts := []Part{{"values.csv", writeText("n,value\n1,0\n")}, {"experiment.yaml", writeText("")}}
	if err := WriteBundle(dir, parts, false); err != nil {
		t.Fatal(err)
	}
	// The well-known SHA-256 of nothing, and that of the lines.
	want := fmt.Sprintf("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  experiment.yaml\n%x  values.csv\n",
		sha256.Sum256([]byte("n,value\n1,0\n")))
	if got := content(t, filepath.Join(dir, "SHA256SUMS")); got != want {
		t.Errorf("SHA256SUMS:\n%s\nwant\n%s", got, want)
	}
	if err := WriteBundle(dir, parts, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an existing bundle: %v", err)
	}
	boom := errors.New("boom")
	parts[1].Write = func(io.Writer) error { return boom }
	if err := WriteBundle(dir, parts, true); !errors.Is(err, boom) || strings.Contains(names(t, dir), "SHA256SUMS") {
		t.Errorf("failed bundle: %v, %s", err, names(t, dir))
	}
	for _, bad := range []string{"", "../x", "a/b", "SHA256SUMS"} {
		if err := WriteBundle(dir, []Part{{bad, writeText("")}}, true); err == nil {
			t.Errorf("name %q was accepted", bad)
		}
	}
	if got := names(t, dir); got != "experiment.yaml values.csv" {
		t.Errorf("left behind: %s", got)
	}
}

// TestReadValuesLongLine: a file that is one long line is no list of values, and
// the error says what would be.
func TestReadValuesLongLine(t *testing.T) {
	for _, err := range ReadValues(strings.NewReader("1 0\n" + strings.Repeat("1", 3*lineLimit))) {
		if err != nil {
			if want := "line 2: is longer than 65536 bytes; want an integer n and an integer value"; err.Error() != want {
				t.Errorf("says %q, want %q", err, want)
			}
			return
		}
	}
	t.Error("accepted")
}
