package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/scheduler"
)

// watched is a run under way with so many workers and failures.
func watched(workers, failures int) (*watcher, view) {
	w := &watcher{pace: newPace()}
	v := view{runStatus: runStatus{Run: "night", Number: 2, State: jobs.Running, Leader: "lab1:7:c7c89a67b881708a",
		Sweeps: []sweepStatus{{Name: "hopping", Disputed: 1}}},
		Progress: scheduler.Progress{Slots: 4 * workers, Sweeps: []scheduler.SweepProgress{
			{Name: "bezout", Done: 3_000_000, Total: 3_000_000, TotalNs: 1e9},
			{Name: "hopping", Done: 1_234_567, Total: 20_000_000, TotalNs: 99e9, OpenNs: 74e9, Checked: 123_456, ToCheck: 400_000}}}}
	id := func(i int) string { return fmt.Sprintf("lab%d:%d:c7c89a67b881708a", i, 4000+i) }
	var tasks []jobs.Task
	beats := func(f float64) (out []jobs.Beat) {
		for i, k := range tasks {
			out = append(out, jobs.Beat{Task: k.ID(), Worker: id(i), Fraction: f, StartedMs: 1, AtMs: 1})
		}
		return out
	}
	for i := range workers {
		v.Workers = append(v.Workers, jobs.Worker{ID: id(i), Slots: 4})
		if i%2 == 0 && i/2 == len(tasks) {
			tasks = append(tasks, jobs.Task{Run: jobs.RunID{Name: "night", Epoch: "e"}, Sweep: "hopping", Lo: int64(1000*i + 1), Hi: int64(1000*i + 1001)})
		}
	}
	now := time.Now()
	w.rates.Look(tasks, beats(0), time.UnixMilli(1), now)
	w.rates.Look(tasks, beats(0), time.UnixMilli(1), now.Add(time.Second))
	// Half of 1000 n in 2 s, averaged over 15: 500/(15 (1 − exp(−2/15))) = 267.
	v.under = w.rates.Look(tasks, beats(0.5), time.UnixMilli(1), now.Add(3*time.Second))
	for i := range failures {
		v.runStatus.Failures = append(v.runStatus.Failures, jobs.Failure{Sweep: "hopping", Lo: int64(i), Hi: int64(i) + 1, Error: "out of memory"})
	}
	return w, v
}

// TestWatchFrame: a frame fits its screen, says what matters, and loses the time
// that is left to nothing.
func TestWatchFrame(t *testing.T) {
	for _, c := range []struct{ workers, failures, cols, rows int }{
		{0, 0, 80, 23}, {1, 0, 80, 23}, {1, 1, 140, 50}, {100, 0, 80, 23}, {3, 100, 80, 23}, {100, 100, 80, 23}, {5, 5, 60, 10}, {5, 5, 20, 3},
	} {
		w, v := watched(c.workers, c.failures)
		frame := w.frame(v, c.cols, c.rows)
		all := strings.Join(frame, "\n")
		if len(frame) > c.rows {
			t.Errorf("%+v: %d lines", c, len(frame))
		}
		if c.rows < 23 {
			continue
		}
		for _, want := range []string{"run night (start 2): running, 26.0 % of the work done", "3,000,000/3,000,000 n", "123,456/400,000 cells confirmed", "of work",
			"sweep hopping: 1 cell disputed", "led by lab1:7:c7c89a67b881708a"} {
			if !strings.Contains(all, want) {
				t.Errorf("%+v: no %q in\n%s", c, want, all)
			}
		}
		if c.workers > 0 && !strings.Contains(all, "of  4 slots busy  267 n/s  hopping 1…1000 50 %") {
			t.Errorf("%+v: no rate in\n%s", c, all)
		}
		if c.workers == 1 && !strings.Contains(all, "1 worker with 4 slots, 1 task under way") {
			t.Errorf("%+v: no count of workers in\n%s", c, all)
		}
		if c.failures > 0 && !strings.Contains(all, "failed: sweep hopping, n = 0: out of memory") {
			t.Errorf("%+v: no failure in\n%s", c, all)
		}
		if (c.workers+c.failures > c.rows) != strings.Contains(all, " more") {
			t.Errorf("%+v: what is left out is not counted, or nothing was:\n%s", c, all)
		}
		for _, line := range frame[:6] {
			if len([]rune(line)) > c.cols {
				t.Errorf("%+v: cut off: %s", c, line)
			}
		}
	}
}

// TestDrawFlickersNot: the screen is never cleared, lines are overwritten and cut.
func TestDrawFlickersNot(t *testing.T) {
	var b bytes.Buffer
	draw(&b, []string{"short", strings.Repeat("ä", 30)}, 20)
	want := "\x1b[Hshort\x1b[K\r\n" + strings.Repeat("ä", 19) + "…\x1b[K\r\n\x1b[J"
	if b.String() != want {
		t.Errorf("drew %q, want %q", b.String(), want)
	}
}
