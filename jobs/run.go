package jobs

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/nsweep/nsweep/engine"
)

// NamePattern is what a run and a sweep may be called.
var NamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// RunID names one start from nothing of a run. The epoch is random, so work
// handed out before a deletion or a --fresh start can never touch what came
// after it.
type RunID struct {
	Name  string `json:"name"`
	Epoch string `json:"epoch"`
}

func (r RunID) String() string { return r.Name + "." + r.Epoch }

// NewEpoch returns 64 random bits as 13 lower-case letters and digits.
func NewEpoch() string {
	var b [8]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// State is where a run stands. The transitions are in docs/ARCHITECTURE.md.
type State string

// The states of a run. Commits are accepted while it is running, paused,
// failed or complete (the ledger then only compares), and refused when it is
// halted or cancelled.
const (
	Running   State = "running"
	Paused    State = "paused"
	Complete  State = "complete"
	Halted    State = "halted"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Accepts reports whether commits are taken in this state.
func (s State) Accepts() bool {
	return s == Running || s == Paused || s == Failed || s == Complete
}

// Ended reports whether nothing goes on until a user acts.
func (s State) Ended() bool {
	return s == Complete || s == Halted || s == Failed || s == Cancelled
}

// Keep says what is stored for each cell.
type Keep string

// KeepValues stores every value, KeepSums a fixed-size record for each cell.
const (
	KeepValues Keep = "values"
	KeepSums   Keep = "sums"
)

// Checkpoint is a number known beforehand: the value at N when Power is 0, the
// sum of the Power-th powers of all values at n ≤ N of the sweep otherwise.
type Checkpoint struct {
	N     int64    `json:"n"`
	Power int      `json:"power,omitempty"`
	Want  *big.Int `json:"want"`
}

// String writes what the checkpoint is about: "n = 20", "Σ f³ to n = 20".
func (c Checkpoint) String() string {
	if c.Power == 0 {
		return fmt.Sprintf("value at n = %d", c.N)
	}
	return fmt.Sprintf("sum of power %d to n = %d", c.Power, c.N)
}

// Sweep is one engine with its parameters over one set of n.
type Sweep struct {
	Name      string        `json:"name"`
	Engine    string        `json:"engine"`
	Version   int           `json:"version"`
	Priority  Priority      `json:"priority,omitempty"`
	Params    engine.Params `json:"params,omitempty"`
	Algorithm string        `json:"algorithm,omitempty"`
	Keep      Keep          `json:"keep"`
	Set       Set           `json:"set"`
	// Grid is the engine's grid when the run was created. Its Version is part
	// of the identity.
	Grid        engine.Grid  `json:"grid"`
	Sums        []int        `json:"sums,omitempty"`
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
}

// Queue is the name of the asynq queue for the sweep's tasks.
func (s Sweep) Queue() string { return QueueName(s.Engine, s.Version, s.Priority) }

// Cell returns the cell with the given index, clipped to the set, and whether
// it is whole.
func (s Sweep) Cell(index int64) (c engine.Cell, whole bool) {
	full := s.Grid.Cell(index)
	c = full.Clip(s.Set.Lo, s.Set.Hi)
	return c, c == full
}

// Cells returns the indices [first, last) of the dense part's cells.
func (s Sweep) Cells() (first, last int64) { return s.Grid.Range(s.Set.Lo, s.Set.Hi) }

// CellCount returns the number of ledger cells: those of the dense part and
// one for each point.
func (s Sweep) CellCount() int64 {
	first, last := s.Cells()
	return last - first + int64(len(s.Set.Points))
}

// Powers returns, rising, the exponents of all sums that the sweep needs: those
// to be reported and those of its checkpoints.
func (s Sweep) Powers() []int {
	powers := slices.Clone(s.Sums)
	for _, c := range s.Checkpoints {
		if c.Power > 0 {
			powers = append(powers, c.Power)
		}
	}
	slices.Sort(powers)
	return slices.Compact(powers)
}

// CheckNs returns, rising, the n of the dense part at which a checkpoint stands.
func (s Sweep) CheckNs() []int64 {
	var ns []int64
	for _, c := range s.Checkpoints {
		if c.N >= s.Set.Lo && c.N < s.Set.Hi {
			ns = append(ns, c.N)
		}
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

// Differences lists what keeps stored values of sweep s from being values of
// sweep t, one line each; none when t can go on where s stands. Algorithm,
// priority, n, sums and checkpoints may differ freely.
func (s Sweep) Differences(t Sweep) []string {
	var d []string
	add := func(what string, a, b any) {
		d = append(d, fmt.Sprintf("sweep %s: %s is %v in the stored run and %v now", s.Name, what, a, b))
	}
	if s.Engine != t.Engine {
		add("engine", s.Engine, t.Engine)
	} else if s.Version != t.Version {
		add("value version of engine "+s.Engine, s.Version, t.Version)
	}
	if a, b := s.Params.String(), t.Params.String(); a != b {
		add("params", "{"+a+"}", "{"+b+"}")
	}
	if s.Keep != t.Keep {
		add("keep", s.Keep, t.Keep)
	}
	if s.Keep == KeepSums && t.Keep == KeepSums {
		// Records hold what was asked for when they were computed, no more.
		if a, b := s.Powers(), t.Powers(); slices.ContainsFunc(b, func(p int) bool { return !slices.Contains(a, p) }) {
			add("kept sums of powers", a, b)
		}
		a, b := s.CheckNs(), t.CheckNs()
		if slices.ContainsFunc(b, func(n int64) bool { return s.Set.Contains(n) && !slices.Contains(a, n) }) {
			add("kept checkpoints at n", a, b)
		}
	}
	if s.Grid.Version != t.Grid.Version {
		add("grid version", s.Grid.Version, t.Grid.Version)
	}
	return d
}

// Manifest describes a run. It is all that a scheduler, a worker or a reader
// needs to know about it; progress is in the ledger.
type Manifest struct {
	// Format is the version of this structure and of the store's layout.
	Format int   `json:"format"`
	ID     RunID `json:"id"`
	// Number counts the epochs of a name from 1, for people.
	Number int `json:"number"`
	// CreatedMs is the store's clock when the epoch began, in Unix milliseconds.
	CreatedMs int64 `json:"created_ms"`
	// Rev counts the changes of Sweeps within the epoch from 0. It fences
	// clipped cells of an older range.
	Rev int64 `json:"rev"`
	// Verify is the share of the cells, in millionths, that a second computation
	// must confirm before the run is complete.
	Verify int64 `json:"verify,omitempty"`
	// VerifySame has it made by the sweep's own algorithm instead of another one.
	VerifySame bool `json:"verify_same,omitempty"`
	// Notify says whom to tell how the run ends; nil for nobody.
	Notify *Notify `json:"notify,omitempty"`
	Sweeps []Sweep `json:"sweeps"`
}

// Notify says where to send messages about a run.
type Notify struct {
	URL     string   `json:"url"`
	On      []string `json:"on,omitempty"`
	StallMs int64    `json:"stall_ms,omitempty"`
}

// ManifestFormat is the format this program writes and reads.
const ManifestFormat = 1

// Sweep returns the named sweep.
func (m Manifest) Sweep(name string) (Sweep, bool) {
	for _, s := range m.Sweeps {
		if s.Name == name {
			return s, true
		}
	}
	return Sweep{}, false
}

// Run is a run as the store holds it.
type Run struct {
	Manifest
	State State `json:"state"`
	// Reason says why the run is halted, failed or cancelled.
	Reason string `json:"reason,omitempty"`
	// Result is the aggregator's last finished result in its own encoding, or
	// nil.
	Result []byte `json:"-"`
}

// Errors that callers of the store branch on.
var (
	// ErrNoRun says that no run has this name.
	ErrNoRun = errors.New("no such run")
	// ErrRunExists says that a run of this name exists already.
	ErrRunExists = errors.New("run exists already")
	// ErrFenced says that the run's epoch is gone: it was deleted or started
	// afresh. Whoever gets it must drop the work.
	ErrFenced = errors.New("run was deleted or started afresh")
	// ErrQuarantined says that the worker has lost a dispute about a value of the
	// run: nothing more is taken from it there.
	ErrQuarantined = errors.New("the worker is quarantined: it computed a wrong value")
	// ErrChanged says that somebody else changed the run's plan first.
	ErrChanged = errors.New("the run's plan was changed meanwhile")
)

// StateError says that the run is in a state that does not allow the step.
type StateError struct {
	Run   RunID
	State State
}

func (e *StateError) Error() string { return fmt.Sprintf("run %s is %s", e.Run.Name, e.State) }
