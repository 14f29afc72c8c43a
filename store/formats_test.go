package store_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
)

// TestFormatsDocument stores the run that docs/FORMATS.md speaks of and runs
// every redis-cli command that stands there.
func TestFormatsDocument(t *testing.T) {
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("redis-cli is not installed")
	}
	text, err := os.ReadFile("../docs/FORMATS.md")
	if err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	s := openRedis(t, server)
	ctx := context.Background()
	// M(1…50), the first cell of the hopping game, by its table algorithm.
	values := []int64{0, 2, 1, 4, 2, 2, 1, 7, 5, 5, 7, 4, 13, 7, 15, 2, 9, 1, 7, 4, 15, 5, 9, 2, 13,
		20, 4, 25, 28, 2, 9, 0, 25, 22, 28, 5, 33, 28, 20, 28, 5, 13, 1, 2, 45, 33, 37, 35, 7, 48}
	hopping := jobs.Sweep{Name: "hopping", Engine: "hopping", Version: 1, Keep: jobs.KeepValues, Set: jobs.Set{Lo: 1, Hi: 1001}, Grid: gridM}
	bezout := jobs.Sweep{Name: "bezout", Engine: "bezout", Version: 1, Keep: jobs.KeepValues, Set: jobs.Set{Points: []int64{100}}, Grid: gridW}
	run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "euler", Epoch: "k3f9x2m4qy7ta"}, Sweeps: []jobs.Sweep{hopping, bezout}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := jobs.AppendValues(nil, 4, engine.Piece{Lo: 1, Narrow: values})
	if err != nil {
		t.Fatal(err)
	}
	cell, whole := hopping.Cell(0)
	for _, c := range []jobs.Commit{
		{Sweep: "hopping", Cells: []jobs.CellValues{{Cell: cell, Whole: whole, Width: 4, Data: data, CRC: jobs.CRC(data)}}},
		{Sweep: "bezout", Points: []jobs.PointValue{jobs.NewPoint(100, engine.Int128From(2043))}},
	} {
		c.Run, c.Keep = run.ID, jobs.KeepValues
		if _, err := s.Commit(ctx, c); err != nil {
			t.Fatal(err)
		}
	}

	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, block := range strings.Split(string(text), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, example := range strings.Split(block, "$ redis-cli ")[1:] {
			command, want, _ := strings.Cut(example, "\n")
			var args []string
			for _, a := range strings.Fields(command) {
				args = append(args, strings.Trim(a, "'"))
			}
			out, err := exec.Command(cli, append([]string{"-p", port, "--no-raw"}, args...)...).CombinedOutput()
			if err != nil || string(out) != want {
				t.Errorf("redis-cli %s answers\n%s%v, the document says\n%s", command, out, err, want)
			}
			count++
		}
	}
	if count != 7 {
		t.Errorf("%d examples were found in the document, want 7", count)
	}
}
