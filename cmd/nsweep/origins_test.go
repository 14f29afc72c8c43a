package main

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/engine/hopping"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// noted is a run of cells of 50 zeros in a store of its own.
func noted(t testing.TB, cells int64) (*opened, jobs.Run) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Addrs: []string{redistest.Start(t).Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	info := hopping.New().Info()
	set, err := jobs.NewSet(1, 50*cells+1, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := jobs.Sweep{Name: "s", Engine: info.Name, Version: info.Version, Keep: jobs.KeepValues, Set: set, Grid: info.Grid}
	run, err := st.Create(t.Context(), jobs.Manifest{ID: jobs.RunID{Name: "noted"}, Sweeps: []jobs.Sweep{w}})
	if err != nil {
		t.Fatal(err)
	}
	return &opened{Store: st}, run
}

// commitNoted commits the cells [first, last) as one task.
func commitNoted(t testing.TB, st *opened, run jobs.Run, worker string, seq, first, last int64, second bool) {
	t.Helper()
	w := run.Sweeps[0]
	c := jobs.Commit{Run: run.ID, Sweep: w.Name, Keep: w.Keep, Rev: run.Rev, Worker: worker, Task: fmt.Sprint(worker, seq), Check: second}
	for i := first; i < last; i++ {
		cell, whole := w.Cell(i)
		width := w.Grid.Width(cell.Lo)
		data, err := jobs.AppendValues(nil, width, engine.Piece{Lo: cell.Lo, Narrow: make([]int64, cell.Len())})
		if err != nil {
			t.Fatal(err)
		}
		c.Cells = append(c.Cells, jobs.CellValues{Cell: cell, Whole: whole, Width: width, Data: data, CRC: jobs.CRC(data)})
	}
	c.Origin = &jobs.Origin{Worker: jobs.Worker{ID: worker, Host: "h"}, Seq: seq, Lo: c.Cells[0].Cell.Lo, Hi: c.Cells[len(c.Cells)-1].Cell.Hi,
		Algorithm: "plain", Second: second, Began: time.Now(), Took: time.Second}
	if _, err := st.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// TestMarkedAsSearched: what the mark of a cell leads to is what all notes say; a
// run that was changed is searched whole, and tells of what was before.
func TestMarkedAsSearched(t *testing.T) {
	st, run := noted(t, 60)
	ctx, w := t.Context(), run.Sweeps[0]
	workers := []string{"h:1:aaaa", "h:1:bbbb", "h:1:cccc"}
	seq := map[string]int64{}
	commit := func(worker string, first, last int64, second bool) {
		t.Helper()
		commitNoted(t, st, run, worker, seq[worker], first, last, second)
		seq[worker]++
	}
	for i := range int64(10) { // the cells of 50 on stay open
		commit(workers[i*7%3], 5*i, 5*i+5, false)
	}
	commit(workers[0], 20, 23, true)
	commit(workers[2], 2, 3, true)
	for i := range int64(60) {
		n := 50*i + 17
		fast, ok, err := marked(ctx, st, run.ID, w, i, n)
		if err != nil || !ok {
			t.Fatalf("cell %d: %v, %v", i, ok, err)
		}
		whole, err := searched(ctx, st, run.ID, w, i, n)
		if err != nil || fmt.Sprint(fast) != fmt.Sprint(whole) {
			t.Errorf("cell %d: %v by its mark, %v by all notes, %v", i, fast, whole, err)
		}
		want := 0
		if i < 50 {
			want++
		}
		if i == 2 || i >= 20 && i < 23 {
			want++
		}
		if len(fast) != want {
			t.Errorf("cell %d: %v, want %d facts", i, fast, want)
		}
	}
	if err := st.Reopen(ctx, run.ID, "s", []int64{7}, nil); err != nil {
		t.Fatal(err)
	}
	commit(workers[0], 7, 8, false)
	facts, err := originsOf(st)(ctx, run.ID, w, 7, 360)
	if err != nil || len(facts) != 2 || facts[0].Name != "computed" || facts[1].Name != "before" {
		t.Errorf("computed again: %v, %v", facts, err)
	}
}

// BenchmarkOrigins asks for one cell of a run of a hundred thousand tasks of a
// single worker: by its mark, and by all notes.
func BenchmarkOrigins(b *testing.B) {
	const tasks = 100_000
	st, run := noted(b, tasks)
	commitNoted(b, st, run, "h:1:aaaa", 0, 70_000, 70_001, false)
	ctx, prefix := context.Background(), "nsweep:{"+run.ID.String()+"}:"
	pipe := st.Client().Pipeline()
	for i := range int64(tasks) {
		text := fmt.Sprintf("%s 1e 0 rs plain 1700000000000", strconv.FormatInt(50*i+1, 36))
		pipe.HSet(ctx, fmt.Sprintf("%sprov:s:aaaa:%d", prefix, i/100), i%100, text)
	}
	pipe.HSet(ctx, prefix+"who", "s:aaaa", tasks)
	if _, err := pipe.Exec(ctx); err != nil {
		b.Fatal(err)
	}
	b.Run("mark", func(b *testing.B) {
		for b.Loop() {
			if facts, ok, err := marked(ctx, st, run.ID, run.Sweeps[0], 70_000, 3_500_001); err != nil || !ok || len(facts) != 1 {
				b.Fatal(facts, ok, err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if facts, err := searched(ctx, st, run.ID, run.Sweeps[0], 70_000, 3_500_001); err != nil || len(facts) != 1 {
				b.Fatal(facts, err)
			}
		}
	})
}
