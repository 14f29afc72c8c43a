package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// wholeCells checks that the finished cells of killSweep hold their values and
// returns how many there are.
func wholeCells(t *testing.T, s *store.Store, run jobs.Run) int64 {
	t.Helper()
	ctx := context.Background()
	l, err := s.Ledger(ctx, run.ID, killSweep)
	if err != nil {
		t.Fatal(err)
	}
	for i := l.NextDone(0); i < l.Count; i = l.NextDone(i) {
		to := min(l.NextOpen(i), i+5000)
		got, err := s.ReadCells(ctx, run.ID, killSweep, i, to)
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range killCells(i, to) {
			if string(got[k].Data) != string(want.Data) || got[k].CRC != want.CRC {
				t.Fatalf("cell %d is marked as finished, but its values or CRC are not there", i+int64(k))
			}
		}
		i = to
	}
	return l.DoneCells()
}

func killCommit(run jobs.Run, first, last int64) jobs.Commit {
	return jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues, Rev: run.Rev, Cells: killCells(first, last), Worker: "w"}
}

// TestOutOfMemory fills a server that may not evict. A commit that it refuses
// leaves nothing of itself, and goes through when there is room.
func TestOutOfMemory(t *testing.T) {
	server := redistest.Start(t, "--maxmemory", "8mb")
	s := openRedis(t, server)
	ctx := context.Background()
	run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: []jobs.Sweep{killSweep}})
	if err != nil {
		t.Fatal(err)
	}
	first := int64(0)
	const step = 37
	for ; err == nil; first += step {
		if first > 100_000 {
			t.Fatal("8 MB never fill up")
		}
		_, err = s.Commit(ctx, killCommit(run, first, first+step))
	}
	first -= step
	if !strings.Contains(err.Error(), "OOM") {
		t.Fatal(err)
	}
	if n := wholeCells(t, s, run); n != first {
		t.Fatalf("%d cells are finished, want %d", n, first)
	}
	if err := s.Client().ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Commit(ctx, killCommit(run, first, first+step)); err != nil || got.Stored != step {
		t.Fatal(got, err)
	}
	if n := wholeCells(t, s, run); n != first+step {
		t.Fatalf("%d cells are finished, want %d", n, first+step)
	}
}

// TestTornAppendOnlyFile kills a server, cuts the end of its append-only file
// at any place and starts it twice, with a commit in between: a Redis that
// finds half a transaction leaves its beginning in the file and runs it at the
// second start. Each time every finished cell must be whole.
func TestTornAppendOnlyFile(t *testing.T) {
	server := redistest.Start(t, "--appendfsync", "always")
	s := openRedis(t, server)
	ctx := context.Background()
	run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: []jobs.Sweep{killSweep}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(server.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files %v, %v", files, err)
	}
	next := int64(0)
	commit := func() {
		t.Helper()
		if got, err := s.Commit(ctx, killCommit(run, next, next+100)); err != nil || got.Stored != 100 {
			t.Fatal(got, err)
		}
		next += 100
	}
	for range 8 {
		commit()
	}
	lost := false
	for _, cut := range []int64{1, 14, 15, 60, 100, 130, 170, 210, 300, 700, 7001, 20_000, 33_333} {
		server.Kill()
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(files[0], info.Size()-cut); err != nil {
			t.Fatal(err)
		}
		server.Restart()
		before := wholeCells(t, s, run)
		lost = lost || before < next
		commit()
		server.Kill()
		server.Restart()
		if n := wholeCells(t, s, run); n < before || n%100 != 0 {
			t.Fatalf("after cutting %d bytes %d cells were finished, after another start %d", cut, before, n)
		}
		commit()
	}
	if !lost {
		t.Fatal("nothing was cut off that mattered")
	}
	// Whatever was lost is taken again.
	if got, err := s.Commit(ctx, killCommit(run, 0, next)); err != nil || int64(got.Stored+got.Same) != next || got.Stored == 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if n := wholeCells(t, s, run); n != next {
		t.Fatalf("%d cells are finished, want %d", n, next)
	}
}

// TestServerGone shows what callers see of a server that is not there, and
// that the same store works when it is back.
func TestServerGone(t *testing.T) {
	server := redistest.Start(t)
	s := openRedis(t, server)
	ctx := context.Background()
	run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: []jobs.Sweep{killSweep}})
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	if _, err := s.Commit(ctx, killCommit(run, 0, 10)); err == nil || errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("commit to nobody: %v", err)
	}
	if _, err := s.Ledger(ctx, run.ID, killSweep); err == nil || errors.Is(err, jobs.ErrFenced) {
		t.Fatalf("ledger of nobody: %v", err)
	}
	server.Restart()
	if got, err := s.Commit(ctx, killCommit(run, 0, 10)); err != nil || got.Stored != 10 {
		t.Fatal(got, err)
	}
	if n := wholeCells(t, s, run); n != 10 {
		t.Fatalf("%d cells are finished", n)
	}
}
