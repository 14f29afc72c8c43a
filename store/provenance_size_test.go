package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/embedredis"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// TestProvenanceSize stores the notes of 2000 tasks of two workers and asks
// Redis what they take: at most 200 bytes a task with the descriptions of the
// workers, even with the longest names and the largest n.
func TestProvenanceSize(t *testing.T) {
	server := redistest.Start(t)
	s := openRedis(t, server)
	ctx := context.Background()
	long := strings.Repeat("n", 64)
	for _, c := range []struct {
		what, run, sweep, algorithm string
		first                       int64
	}{
		{"typical", "overnight", "hopping", "classes", 1},
		{"longest", long, long, long, engine.MaxN - 10_000_000},
	} {
		const tasks = 2000
		var points []int64
		for i := range int64(tasks) {
			points = append(points, c.first+2000*i)
		}
		set, err := jobs.NewSet(0, 0, points)
		if err != nil {
			t.Fatal(err)
		}
		w := jobs.Sweep{Name: c.sweep, Engine: "test", Version: 1, Keep: jobs.KeepValues, Set: set, Grid: gridW}
		run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: c.run}, Sweeps: []jobs.Sweep{w}})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range points {
			_, err := s.Commit(ctx, jobs.Commit{Run: run.ID, Sweep: c.sweep, Keep: jobs.KeepValues, Points: []jobs.PointValue{jobs.NewPoint(n, engine.Int128From(1))},
				Origin: &jobs.Origin{Worker: jobs.Worker{ID: fmt.Sprintf("machine-%d.example:12345:0123456789abcde%d", i%2, i%2), Host: "machine.example", PID: 12345,
					Slots: 16, Build: "commit 0123456789ab go1.26", CPU: "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"},
					Seq: int64(i / 2), Lo: n, Hi: n + 400, Attempt: 1, Algorithm: c.algorithm, Began: time.Now(), Took: 4321 * time.Millisecond}})
			if err != nil {
				t.Fatal(err)
			}
		}
		keys, err := s.Client().Keys(ctx, "nsweep:{"+run.ID.String()+"}:*").Result()
		if err != nil {
			t.Fatal(err)
		}
		total, buckets := int64(0), 0
		for _, k := range keys {
			if strings.Contains(k, "}:prov:") {
				buckets++
			} else if !strings.HasSuffix(k, "}:who") {
				continue
			}
			used, err := s.Client().MemoryUsage(ctx, k, 0).Result()
			if err != nil {
				t.Fatal(err)
			}
			total += used
		}
		each := float64(total) / tasks
		t.Logf("%s: %d buckets, %.1f bytes a task", c.what, buckets, each)
		if each > 200 || buckets == 0 {
			t.Errorf("%s: %.1f bytes a task in %d buckets, want at most 200", c.what, each, buckets)
		}
	}
}

// TestProvenanceOutlivesTheProcess: the file of the embedded store keeps the
// notes.
func TestProvenanceOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	var id jobs.RunID
	for round := range 2 {
		m, err := embedredis.Open(embedredis.Options{Dir: dir, Persist: store.Lasting})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(ctx, store.Options{Embedded: true, Dialer: m.Dial})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			w, cells := filled(1000, gridM)
			run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: []jobs.Sweep{w}})
			if err != nil {
				t.Fatal(err)
			}
			id = run.ID
			_, err = s.Commit(ctx, jobs.Commit{Run: id, Sweep: "s", Keep: jobs.KeepValues, Cells: cells,
				Origin: &jobs.Origin{Worker: jobs.Worker{ID: "h:1:abcd", Host: "h", CPU: "c"}, Lo: 1, Hi: 1001, Algorithm: "a", Began: time.Now()}})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			var got []string
			err := s.Provenance(ctx, id, func(sweep string, o jobs.Origin) error {
				got = append(got, sweep+" "+o.Worker.CPU+" "+o.N())
				return nil
			})
			if err != nil || fmt.Sprint(got) != "[s c 1…1000]" {
				t.Errorf("after a restart the provenance is %q, %v", got, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
