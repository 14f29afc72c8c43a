package store_test

import (
	"context"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/internal/testengine"
	"github.com/nsweep/nsweep/jobs"
)

// TestLastingErrors: a key of the wrong type, bytes of the wrong length and a
// commit that contradicts itself are told apart from a store that is full or
// gone.
func TestLastingErrors(t *testing.T) {
	ctx := context.Background()
	server := redistest.Start(t)
	s := openRedis(t, server)
	eng := testengine.New(testengine.Options{}).Info()
	set, err := jobs.NewSet(1, 101, nil)
	if err != nil {
		t.Fatal(err)
	}
	sweep := jobs.Sweep{Name: "s", Engine: "toy", Version: 1, Keep: jobs.KeepValues, Set: set, Grid: eng.Grid}
	run, err := s.Create(ctx, jobs.Manifest{Format: jobs.ManifestFormat, ID: jobs.RunID{Name: "r", Epoch: jobs.NewEpoch()}, Sweeps: []jobs.Sweep{sweep}})
	if err != nil {
		t.Fatal(err)
	}
	cell, whole := sweep.Cell(0)
	data, err := jobs.AppendValues(nil, 8, engine.Piece{Lo: 1, Narrow: make([]int64, 50)})
	if err != nil {
		t.Fatal(err)
	}
	commit := jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues,
		Cells: []jobs.CellValues{{Cell: cell, Whole: whole, Width: 8, Data: data, CRC: jobs.CRC(data)}}}

	done := "nsweep:{" + run.ID.String() + "}:done:s:0"
	for what, spoil := range map[string]func() error{
		"wrong type":   func() error { return s.Client().HSet(ctx, done, "a", "b").Err() },
		"wrong length": func() error { return s.Client().Set(ctx, done, "abc", 0).Err() },
	} {
		if err := s.Client().Del(ctx, done).Err(); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, commit); !jobs.IsLasting(err) {
			t.Errorf("%s: commit gives %v", what, err)
		}
		if _, err := s.Ledger(ctx, run.ID, sweep); !jobs.IsLasting(err) {
			t.Errorf("%s: ledger gives %v", what, err)
		}
	}
	bad := commit
	bad.Cells = []jobs.CellValues{bad.Cells[0]}
	bad.Cells[0].CRC++
	if _, err := s.Commit(ctx, bad); !jobs.IsLasting(err) {
		t.Errorf("a wrong CRC gives %v", err)
	}

	if err := s.Client().Del(ctx, done).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Client().ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, commit); err == nil || jobs.IsLasting(err) {
		t.Errorf("a full store gives %v", err)
	}
	server.Kill()
	if _, err := s.Commit(ctx, commit); err == nil || jobs.IsLasting(err) {
		t.Errorf("a store that is gone gives %v", err)
	}
	server.Restart() // without the limit
	if got, err := s.Commit(ctx, commit); err != nil || got.Stored != 1 {
		t.Errorf("afterwards %+v, %v", got, err)
	}
}

// TestIncarnation: it changes with the server process and with nothing else.
func TestIncarnation(t *testing.T) {
	ctx := context.Background()
	server := redistest.Start(t)
	s := openRedis(t, server)
	ask := func() string {
		t.Helper()
		name, err := s.Incarnation(ctx)
		if err != nil || name == "" {
			t.Fatalf("incarnation %q, %v", name, err)
		}
		return name
	}
	before := ask()
	if again := ask(); again != before {
		t.Errorf("%s became %s", before, again)
	}
	server.Restart()
	if after := ask(); after == before {
		t.Error("a restarted server has the same name")
	}
	e := openEmbedded(t)
	if name, err := e.Incarnation(ctx); err != nil || name == "" {
		t.Errorf("embedded: %q, %v", name, err)
	}
}
