package report

import (
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
)

// TestDuckDBReads has DuckDB read what Export writes. It runs where the
// environment variable NSWEEP_DUCKDB names a directory whose node_modules holds
// @duckdb/node-api.
func TestDuckDBReads(t *testing.T) {
	dir := os.Getenv("NSWEEP_DUCKDB")
	if dir == "" {
		t.Skip("NSWEEP_DUCKDB is not set")
	}
	script, err := os.ReadFile(filepath.Join("testdata", "duckdb", "check.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	run := t.TempDir()
	if err := os.WriteFile(filepath.Join(run, "check.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(filepath.Join(dir, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(run, "node_modules")); err != nil {
		t.Fatal(err)
	}
	long := engine.Piece{Lo: 1}
	for n := range int64(2_500_000) { // three row groups
		long.Narrow = append(long.Narrow, (n*0x5851f42d4c957f2d)>>13)
	}
	wide := engine.Piece{Lo: 6_742_000_000, Wide: []engine.Int128{{Lo: 1 << 63}, {Hi: -1}, maxDecimal, maxDecimal.Neg(), {Hi: 1, Lo: 5}}}
	for name, c := range map[string]struct {
		piece engine.Piece
		typ   string
	}{"narrow": {long, "BIGINT"}, "wide": {wide, "DECIMAL(38,0)"}, "few": {hop20, "BIGINT"}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(run, name+".parquet")
			o := ExportOptions{Format: Parquet, Wide: c.piece.Wide != nil, Provenance: Provenance{Symbol: "f(n)", Engine: "e", Version: 3}}
			err := WriteFile(path, false, func(w io.Writer) error {
				_, err := Export(w, pieces(c.piece), o)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("node", filepath.Join(run, "check.mjs"), path).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			sum := new(big.Int)
			for i := range c.piece.Len() {
				sum.Add(sum, c.piece.At(i).Big())
			}
			want := strings.Join([]string{"column n BIGINT", "column value " + c.typ,
				"rows " + big.NewInt(int64(c.piece.Len())).String() + " n " + big.NewInt(c.piece.Lo).String() + " to " +
					big.NewInt(c.piece.Lo+int64(c.piece.Len())-1).String() + " sum " + sum.String(),
				"falls 0", "nsweep.engine = e version 3", "nsweep.function = f(n)", ""}, "\n")
			if string(out) != want {
				t.Errorf("DuckDB says\n%s\nwant\n%s", out, want)
			}
		})
	}
}
