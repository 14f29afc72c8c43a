package jobs

import (
	"fmt"
	"strings"
)

// Priority says whose tasks go first where a worker has a choice. It is a
// matter of the run, decides nothing about values and may change at any time.
type Priority string

// The priorities. Normal is empty, so that manifests and payloads from before
// there were priorities mean what they meant.
const (
	Low    Priority = "low"
	Normal Priority = ""
	High   Priority = "high"
)

// ParsePriority reads low, normal or high; empty is normal.
func ParsePriority(text string) (Priority, error) {
	switch text {
	case "low", "high":
		return Priority(text), nil
	case "", "normal":
		return Normal, nil
	}
	return Normal, fmt.Errorf("priority %q, want low, normal or high", text)
}

// String writes the priority for people.
func (p Priority) String() string {
	if p == Normal {
		return "normal"
	}
	return string(p)
}

// Raised returns the next higher priority, or the highest.
func (p Priority) Raised() Priority {
	if p == Low {
		return Normal
	}
	return High
}

func (p Priority) check() error {
	if p != Low && p != Normal && p != High {
		return fmt.Errorf("priority %q", string(p))
	}
	return nil
}

// weights are how often a worker looks into a queue first. Of 73 tasks that
// start while all three have some, 64 are high, 8 normal and 1 is low: an
// urgent run overtakes, and nobody starves. The shares are of tasks, not of
// time; all tasks but the last of a run take about as long.
var weights = map[Priority]int{High: 64, Normal: 8, Low: 1}

// QueueName returns the asynq queue for tasks of an engine's value version:
// "engine@version" with ":high" or ":low" behind it.
func QueueName(engine string, version int, p Priority) string {
	base := fmt.Sprintf("%s@%d", engine, version)
	if p == Normal {
		return base
	}
	return base + ":" + string(p)
}

// Queues returns the queues from which a worker with this engine takes tasks,
// the most urgent first.
func Queues(engine string, version int) []string {
	return []string{QueueName(engine, version, High), QueueName(engine, version, Normal), QueueName(engine, version, Low)}
}

// QueueWeights returns the queues with asynq's weights for them.
func QueueWeights(queues []string) map[string]int {
	m := map[string]int{}
	for _, q := range queues {
		_, p, _ := strings.Cut(q, ":")
		m[q] = weights[Priority(p)]
	}
	return m
}
