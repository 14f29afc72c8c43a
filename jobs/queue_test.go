package jobs

import (
	"slices"
	"strings"
	"testing"
)

func TestQueues(t *testing.T) {
	qs := Queues("bezout", 2)
	if want := []string{"bezout@2:high", "bezout@2", "bezout@2:low"}; !slices.Equal(qs, want) {
		t.Errorf("queues %v, want %v", qs, want)
	}
	w := QueueWeights(append(qs, Queues("hopping", 1)...))
	if len(w) != 6 || w["bezout@2:high"] != 64 || w["bezout@2"] != 8 || w["hopping@1:low"] != 1 {
		t.Errorf("weights %v", w)
	}
	for _, p := range []Priority{Low, Normal, High} {
		s := Sweep{Engine: "bezout", Version: 2, Priority: p}
		task := Task{Engine: "bezout", Version: 2, Priority: p}
		if s.Queue() != task.Queue() || !slices.Contains(qs, s.Queue()) {
			t.Errorf("priority %s: sweep in %s, task in %s", p, s.Queue(), task.Queue())
		}
		if got, err := ParsePriority(p.String()); err != nil || got != p {
			t.Errorf("%s is read as %v, %v", p, got, err)
		}
	}
	if _, err := ParsePriority("urgent"); err == nil {
		t.Error("priority urgent is taken")
	}
	if Low.Raised() != Normal || Normal.Raised() != High || High.Raised() != High {
		t.Error("priorities are not raised one by one")
	}
}

// TestPriorityInPayload: a task of normal priority is written as before there
// were priorities, and an unknown one is refused.
func TestPriorityInPayload(t *testing.T) {
	task := Task{Run: RunID{Name: "r", Epoch: "e"}, Sweep: "s", Engine: "x", Version: 1, Keep: KeepValues, Lo: 1, Hi: 2}
	if b := string(task.Encode()); strings.Contains(b, "priority") {
		t.Errorf("normal priority is written: %s", b)
	}
	task.Priority = High
	if got, err := DecodeTask(task.Encode()); err != nil || got.Priority != High || got.Queue() != "x@1:high" {
		t.Errorf("%+v, %v", got, err)
	}
	task.Priority = "urgent"
	if _, err := DecodeTask(task.Encode()); err == nil {
		t.Error("an unknown priority is taken")
	}
}
