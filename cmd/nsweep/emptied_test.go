package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmptiedStore: a store whose file was emptied is not taken for a new one, by
// those who look nor by those who would write.
func TestEmptiedStore(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "nsweep.db")
	write(t, dir, "nsweep.db", "")
	for _, args := range []string{"status euler", "runs", "run", "delete euler --yes"} {
		var out, errs strings.Builder
		code := execute(t.Context(), append(strings.Fields(args), "--data-dir", dir), streams{in: strings.NewReader(""), out: &out, err: &errs})
		want := "nsweep: data file " + file + " is damaged (it is empty): move it away to begin anew, or put a copy in its place\n"
		if code != codeFailed || out.Len() > 0 || errs.String() != want {
			t.Errorf("nsweep %s: exit code %d, prints %q, says %q, want %q", args, code, out.String(), errs.String(), want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
