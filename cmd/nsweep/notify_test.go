package main

import (
	"io"
	"testing"

	"github.com/nsweep/nsweep/jobs"
)

// TestMessengerForgets: the sender of a run ends when the run is gone from the
// store, and not because the run cannot be read.
func TestMessengerForgets(t *testing.T) {
	run := func(epoch string) jobs.Run {
		return jobs.Run{Manifest: jobs.Manifest{ID: jobs.RunID{Name: "r", Epoch: epoch}, Notify: &jobs.Notify{URL: "http://127.0.0.1:1/"}}}
	}
	a, b, c := run("a"), run("b"), run("c")
	m := &messenger{app: &app{streams: streams{err: io.Discard}}, started: map[jobs.RunID]*teller{}}
	for _, r := range []jobs.Run{a, b, c} {
		if m.notifier(t.Context(), r) == nil || m.notifier(t.Context(), r) != m.started[r.ID].notifier {
			t.Fatalf("no sender for epoch %s", r.ID.Epoch)
		}
	}
	m.forget([]jobs.Run{a}, []jobs.DamagedRun{{ID: b.ID}})
	if _, kept := m.started[c.ID]; kept || len(m.started) != 2 {
		t.Errorf("senders for %d epochs, want those of a and b", len(m.started))
	}
	m.forget(nil, nil)
	m.senders.Wait()
}
