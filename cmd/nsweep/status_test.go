package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/jobs"
)

// TestStatusWithoutWorkers: a run whose only workers are in quarantine says so,
// and does not count them.
func TestStatusWithoutWorkers(t *testing.T) {
	s := runStatus{Run: "r", State: jobs.Running, Workers: []jobs.Worker{{ID: "bad", Slots: 3}},
		Quarantine: []jobs.Quarantine{{Worker: "bad", Sweep: "s", N: 7, Value: "8", Won: "7", By: "c", Reopened: 1234}}}
	var b bytes.Buffer
	s.print(&b)
	for _, want := range []string{"0 workers with 0 slots", "no worker is at hand but those in quarantine", "worker bad, since 1970",
		"it computed 8 for n = 7 of sweep s, two others 7; 1,234 cells that only it had computed were opened again"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	s.Workers = append(s.Workers, jobs.Worker{ID: "good", Slots: 2})
	s.Quarantine = append(s.Quarantine, jobs.Quarantine{Worker: "other", Sweep: "s", N: 51, Pending: true})
	b.Reset()
	s.print(&b)
	for _, want := range []string{"1 worker with 2 slots", "two others agree on another result for the cell of n = 51 of sweep s; its cells are about to be computed again"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "no worker is at hand") {
		t.Errorf("a worker is at hand:\n%s", b.String())
	}
}
