package storetest

import (
	"strings"
	"testing"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// testForeign puts things of the wrong kind under each key and expects errors:
// no panic, no half commit, nothing read from them.
func testForeign(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 8001, 9000))
	id, w := f.run.ID, f.sweep()
	prefix := "nsweep:{" + id.String() + "}:"
	points := f.commitOf(0, 0)
	points.Points = []jobs.PointValue{jobs.NewPoint(9000, Value(9000))}
	commit := func() error { _, err := s.Commit(f.ctx, f.commitOf(70, 90)); return err }
	commitPoints := func() error { _, err := s.Commit(f.ctx, points); return err }
	ledger := func() error { _, err := s.Ledger(f.ctx, id, w); return err }
	read := func() error { _, err := s.ReadCells(f.ctx, id, w, 0, 160); return err }
	readPoints := func() error { _, err := s.ReadPoints(f.ctx, id, "s", []int64{9000}); return err }
	counts := func() error { _, err := s.Counts(f.ctx, id); return err }
	update := func() error { _, err := s.Update(f.ctx, f.run.Manifest); return err }
	disputes := func() error { _, err := s.Disputes(f.ctx, id, w); return err }
	marks := func() error { _, err := s.Marks(f.ctx, id, w); return err }
	run := func() error { _, err := s.Run(f.ctx, "r"); return err }
	runs := func() error { _, err := s.Runs(f.ctx); return err }

	const list, short, hash = "list", "short", "hash"
	for _, c := range []struct {
		key, kind string
		calls     []func() error
	}{
		{"done:s:0", list, []func() error{commit, ledger}},
		{"done:s:0", short, []func() error{commit, ledger}},
		{"crc:s:0", list, []func() error{commit, read}},
		{"val:s:0", list, []func() error{commit, read}},
		{"val:s:1", list, []func() error{commit, read}},
		{"val:s:1", "long", []func() error{commit}},
		{"clips:s", list, []func() error{commit, update}},
		{"disputes:s", list, []func() error{commit, commitPoints, disputes}},
		{"disputes:s", hash, []func() error{disputes}},
		{"counts", list, []func() error{commit, commitPoints, counts}},
		{"counts", hash, []func() error{commit, commitPoints, counts}},
		{"points:s", list, []func() error{commitPoints, readPoints, ledger}},
		{"points:s", hash, []func() error{readPoints}},
		{"pcrc:s", list, []func() error{commitPoints, readPoints}},
		{"by:s:0", list, []func() error{commit, marks}},
		{"by:s:0", short, []func() error{marks}},
		{"chk:s:0", list, []func() error{commit, marks}},
		{"hands", list, []func() error{commit, commitPoints, marks}},
		{"hands", hash, []func() error{marks}},
		{"quarantine", list, []func() error{commit, commitPoints}},
		{"beats", list, []func() error{func() error { _, _, err := s.Beats(f.ctx, id); return err }, func() error { _, err := s.Beat(f.ctx, id, jobs.Beat{Task: "t"}); return err }}},
		{"beats", hash, []func() error{func() error { _, _, err := s.Beats(f.ctx, id); return err }}},
		{"failures", hash, []func() error{func() error { _, err := s.Failures(f.ctx, id); return err }}},
		{"tasks", list, []func() error{func() error { _, err := s.Tasks(f.ctx, id); return err }}},
	} {
		key := prefix + c.key
		before := dump(f)
		switch c.kind {
		case list:
			s.Client().RPush(f.ctx, key, "x")
		case short:
			s.Client().Set(f.ctx, key, "x", 0)
		case "long":
			s.Client().Set(f.ctx, key, strings.Repeat("x", 16_001), 0)
		case hash:
			s.Client().HSet(f.ctx, key, "s:cells", "many", "9000", "?", "0/0 t", "x")
		}
		for i, call := range c.calls {
			if err := call(); err == nil {
				t.Errorf("%s holding a %s: call %d made no error", c.key, c.kind, i)
			}
		}
		if err := s.Client().Del(f.ctx, key).Err(); err != nil {
			t.Fatal(err)
		}
		if after := dump(f); len(after) != len(before) {
			t.Errorf("%s holding a %s: a refused commit wrote %d keys", c.key, c.kind, len(after)-len(before))
		}
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}

	manifest := prefix + "manifest"
	for field, value := range map[string]string{"manifest": "{", "rev": "x", "number": "", "created": "?"} {
		old, err := s.Client().HGet(f.ctx, manifest, field).Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Client().HSet(f.ctx, manifest, field, value).Err(); err != nil {
			t.Fatal(err)
		}
		for i, call := range []func() error{run, runs, update} {
			if err := call(); err == nil || !strings.Contains(err.Error(), manifest) {
				t.Errorf("manifest with %s %q: call %d: %v", field, value, i, err)
			}
		}
		if err := s.Client().HSet(f.ctx, manifest, field, old).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
}

// testMissing takes stored bytes away behind the store's back. What is read
// must be too short, never zeros.
func testMissing(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 1_000_001))
	w := f.sweep()
	first, last := w.Cells()
	long := w.Grid.CellAt(900_000) // five blocks
	f.commit(f.commitOf(first, last), jobs.Committed{Stored: int(last - first)})
	prefix := "nsweep:{" + f.run.ID.String() + "}:"
	read := func(index int64) jobs.CellValues {
		t.Helper()
		got, err := s.ReadCells(f.ctx, f.run.ID, w, index, index+1)
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	want := Cells(w, long.Index, long.Index+1)[0]

	// The third block of a long cell: its first two are left.
	if err := s.Client().Del(f.ctx, prefix+"val:s:222").Err(); err != nil {
		t.Fatal(err)
	}
	if got := read(long.Index); len(got.Data) != 2*4000*8 || string(got.Data) != string(want.Data[:len(got.Data)]) || got.CRC != want.CRC {
		t.Fatalf("%d bytes of cell %d…%d", len(got.Data), long.Lo, long.Hi-1)
	}
	// A block cut short in the middle of a cell, and the cells after it.
	if err := s.Client().Set(f.ctx, prefix+"val:s:0", string(make([]byte, 102)), 0).Err(); err != nil {
		t.Fatal(err)
	}
	for index, n := range map[int64]int{0: 102, 1: 0, 79: 0, 80: 200} {
		if got := read(index); len(got.Data) != n {
			t.Errorf("cell %d has %d bytes, want %d", index, len(got.Data), n)
		}
	}
	// CRCs that are not there read as 0.
	if err := s.Client().Del(f.ctx, prefix+"crc:s:0").Err(); err != nil {
		t.Fatal(err)
	}
	if got := read(100); got.CRC != 0 || len(got.Data) != 200 {
		t.Fatalf("CRC %x", got.CRC)
	}
	if _, err := s.ReadCells(f.ctx, f.run.ID, w, 0, last+1); err == nil {
		t.Fatal("read beyond the sweep")
	}
	if got, err := s.ReadCells(f.ctx, f.run.ID, w, 5, 5); err != nil || len(got) != 0 {
		t.Fatalf("no cells: %v, %v", got, err)
	}
}
