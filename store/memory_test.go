package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
)

// TestMemory commits 10^6 values in pieces and asks the server what they take,
// all keys of the run together: as they are stored, and when each is confirmed.
func TestMemory(t *testing.T) {
	server := redistest.Start(t)
	s := openRedis(t, server)
	ctx := context.Background()
	for _, c := range []struct {
		name string
		grid engine.Grid
		// Bytes a value, stored and confirmed.
		max, confirmed float64
	}{{"m", gridM, 4.3, 4.4}, {"w", gridW, 8.6, 8.6}} {
		const n = 1_000_000
		w, cells := filled(n, c.grid)
		run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: c.name}, Sweeps: []jobs.Sweep{w}})
		if err != nil {
			t.Fatal(err)
		}
		// Pieces of 1 to 40 cells, the even ones first, so that every block is
		// begun by a part of it.
		var pieces [2][][2]int
		for lo, size := 0, 1; lo < len(cells); size = size%40 + 7 {
			hi := min(len(cells), lo+size)
			odd := (len(pieces[0]) + len(pieces[1])) % 2
			pieces[odd] = append(pieces[odd], [2]int{lo, hi})
			lo = hi
		}
		origin := &jobs.Origin{Worker: jobs.Worker{ID: "w"}, Lo: 1, Hi: 2, Algorithm: "a", Began: time.Now()}
		for _, p := range append(pieces[0], pieces[1]...) {
			if _, err := s.Commit(ctx, jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues, Cells: cells[p[0]:p[1]], Origin: origin}); err != nil {
				t.Fatal(err)
			}
		}
		l, err := s.Ledger(ctx, run.ID, w)
		if err != nil || l.DoneCells() != int64(len(cells)) {
			t.Fatalf("%d of %d cells, %v", l.DoneCells(), len(cells), err)
		}
		bytes := func(what string, most float64) {
			keys, err := s.Client().Keys(ctx, "nsweep:{"+run.ID.String()+"}:*").Result()
			if err != nil {
				t.Fatal(err)
			}
			var total int64
			for _, k := range keys {
				used, err := s.Client().MemoryUsage(ctx, k, 0).Result()
				if err != nil {
					t.Fatal(err)
				}
				total += used
			}
			got := float64(total) / n
			t.Logf("%s %s: %d keys, %.3f bytes a value", c.name, what, len(keys), got)
			if got > most {
				t.Errorf("%s %s: %.3f bytes a value, want at most %.1f", c.name, what, got, most)
			}
		}
		bytes("stored", c.max)
		for lo := 0; lo < len(cells); lo += 1000 {
			c := jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues, Cells: cells[lo:min(lo+1000, len(cells))], Origin: origin, Check: true}
			if _, err := s.Commit(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		bytes("confirmed", c.confirmed)
	}
	used, err := s.Fitness(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("INFO memory: %d bytes used for both", used.UsedMemory)
}
