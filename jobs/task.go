package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/nsweep/nsweep/engine"
)

// TaskFormat is the version of the task payload. A worker refuses another one.
const TaskFormat = 1

// TaskKind is the asynq type of a compute task.
const TaskKind = "nsweep:compute"

// Task is the payload of one asynq task: a run of consecutive cells of a
// sweep, or some of its points. It carries all a worker needs.
type Task struct {
	Format    int           `json:"v"`
	Run       RunID         `json:"run"`
	Rev       int64         `json:"rev"`
	Sweep     string        `json:"sweep"`
	Engine    string        `json:"engine"`
	Version   int           `json:"version"`
	Priority  Priority      `json:"priority,omitempty"`
	Params    engine.Params `json:"params,omitempty"`
	Algorithm string        `json:"algorithm,omitempty"`
	Keep      Keep          `json:"keep"`
	// Grid is the grid's version; the worker cuts [Lo, Hi) by its engine's grid
	// of the same version.
	Grid int `json:"grid"`
	// Lo and Hi are a range of n that begins and ends at cell borders or at the
	// ends of the sweep. Both are 0 when the task has points.
	Lo     int64   `json:"lo,omitempty"`
	Hi     int64   `json:"hi,omitempty"`
	Points []int64 `json:"points,omitempty"`
	// Checks lists, under KeepSums, the n whose value and partial sums each
	// record must hold, and Sums the powers to sum.
	Checks []int64 `json:"checks,omitempty"`
	Sums   []int   `json:"sums,omitempty"`
	// Attempt counts from 0 how often the same cells were given out.
	Attempt int `json:"attempt"`
	// Deaths counts workers that fell silent while they held the cells.
	Deaths int `json:"deaths,omitempty"`
	// Alone says that the worker computes nothing else meanwhile, so that
	// another death is this task's fault.
	Alone bool `json:"alone,omitempty"`
	// Not lists, for a cell of which there are several values, the workers whose
	// value is known: they hand the task back.
	Not []string `json:"not,omitempty"`
	// Check, when it is not 0, makes the task a second computation of cells and
	// points that are stored: of those cells of [Lo, Hi) that are in this share,
	// in millionths, see [Task.CheckSample], and of all of Points.
	Check int64 `json:"check,omitempty"`
	// Handed counts how often the task was handed back by a worker in Not.
	Handed int `json:"handed,omitempty"`
	// CostNs is the scheduler's estimate, for progress.
	CostNs float64 `json:"cost_ns,omitempty"`
}

// ID is the task's name in asynq and in the store's list of outstanding tasks.
// It is the same for the same cells and attempt, so giving out twice is
// refused by asynq instead of doubling the work.
func (t Task) ID() string {
	end := fmt.Sprintf("#%d.%d", t.Rev, t.Attempt)
	if len(t.Not) > 0 {
		end += fmt.Sprintf("~%d", len(t.Not))
	}
	if t.Check > 0 {
		end += fmt.Sprintf("=%d", t.Handed)
	}
	if len(t.Points) > 0 {
		return fmt.Sprintf("%s:%s:p%d+%d%s", t.Run, t.Sweep, t.Points[0], len(t.Points), end)
	}
	return fmt.Sprintf("%s:%s:%d-%d%s", t.Run, t.Sweep, t.Lo, t.Hi-1, end)
}

// Queue is the asynq queue of the task.
func (t Task) Queue() string { return QueueName(t.Engine, t.Version, t.Priority) }

// Count returns the number of n in the task.
func (t Task) Count() int64 { return t.Hi - t.Lo + int64(len(t.Points)) }

// Encode returns the payload.
func (t Task) Encode() []byte {
	t.Format = TaskFormat
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // only strings, integers and a finite float: cannot fail
	}
	return b
}

// DecodeTask reads a payload and checks its shape. It refuses unknown fields
// and formats, so that an old worker never misreads a newer scheduler.
func DecodeTask(b []byte) (Task, error) {
	var t Task
	var head struct {
		Format int `json:"v"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return t, fmt.Errorf("task payload: %w", err)
	}
	if head.Format != TaskFormat {
		return t, fmt.Errorf("task payload: format %d, this program reads %d", head.Format, TaskFormat)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, fmt.Errorf("task payload: %w", err)
	}
	if d.More() {
		return t, fmt.Errorf("task payload: more than one value")
	}
	switch {
	case !NamePattern.MatchString(t.Run.Name) || !NamePattern.MatchString(t.Sweep) || len(t.Run.Epoch) == 0 || len(t.Run.Epoch) > 32:
		return t, fmt.Errorf("task payload: impossible run or sweep name %q, %q", t.Run, t.Sweep)
	case t.Keep != KeepValues && t.Keep != KeepSums:
		return t, fmt.Errorf("task payload: keep %q", t.Keep)
	case len(t.Points) > 0 && (t.Lo != 0 || t.Hi != 0):
		return t, fmt.Errorf("task payload: both a range and points")
	case len(t.Points) == 0 && (t.Lo < 1 || t.Hi <= t.Lo || t.Hi-1 > engine.MaxN):
		return t, fmt.Errorf("task payload: range %d…%d", t.Lo, t.Hi-1)
	case t.Check < 0 || t.Check > All || t.Handed < 0:
		return t, fmt.Errorf("task payload: check of %d millionths, handed back %d times", t.Check, t.Handed)
	case t.Attempt < 0 || t.Deaths < 0 || t.Rev < 0:
		return t, fmt.Errorf("task payload: attempt %d, deaths %d, revision %d", t.Attempt, t.Deaths, t.Rev)
	}
	if err := t.Priority.check(); err != nil {
		return t, fmt.Errorf("task payload: %w", err)
	}
	for i, n := range t.Points {
		if n < 1 || n > engine.MaxN || (i > 0 && n <= t.Points[i-1]) {
			return t, fmt.Errorf("task payload: points do not rise within 1…%d", engine.MaxN)
		}
	}
	return t, nil
}

// Beat is a worker's sign of life about one task.
type Beat struct {
	Task     string  `json:"task"`
	Worker   string  `json:"worker"`
	Fraction float64 `json:"fraction"`
	// StartedMs and AtMs are the store's clock in Unix milliseconds.
	StartedMs int64 `json:"started_ms"`
	AtMs      int64 `json:"at_ms"`
	// Waiting says that the worker has the task but does not compute it yet.
	Waiting bool `json:"waiting,omitempty"`
	// Ended says that the worker has let go of the task, with Error when it
	// could not compute it.
	Ended bool   `json:"ended,omitempty"`
	Error string `json:"error,omitempty"`
}

// Worker is a worker process as the store knows it.
type Worker struct {
	ID    string `json:"id"`
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Slots int    `json:"slots"`
	// Build names the program, CPU the processor's model.
	Build     string   `json:"build,omitempty"`
	CPU       string   `json:"cpu,omitempty"`
	Queues    []string `json:"queues"`
	StartedMs int64    `json:"started_ms"`
	AtMs      int64    `json:"at_ms"`
}

// Failure is a stretch of n that could not be computed.
type Failure struct {
	Sweep  string  `json:"sweep"`
	Lo     int64   `json:"lo,omitempty"`
	Hi     int64   `json:"hi,omitempty"`
	Points []int64 `json:"points,omitempty"`
	// Check says that it was a second computation which failed.
	Check  bool   `json:"check,omitempty"`
	Error  string `json:"error"`
	Worker string `json:"worker,omitempty"`
	AtMs   int64  `json:"at_ms"`
}

// Counts is the store's running view of one sweep, for progress bars only: the
// truth is the ledger.
type Counts struct {
	Cells    int64 `json:"cells"`    // committed cells and points
	Values   int64 `json:"values"`   // committed n
	Repeated int64 `json:"repeated"` // cells that were committed again, with the same values
	Disputed int64 `json:"disputed"`
	// Confirmed counts cells and points that a second computation confirmed.
	Confirmed int64 `json:"confirmed"`
}
