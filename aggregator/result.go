package aggregator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Int is an integer that JSON writes as a number up to 2^53 in size and as a
// string beyond, where readers that use doubles would lose digits. It reads
// both forms.
type Int int64

const maxExact = 1 << 53

// MarshalJSON implements json.Marshaler.
func (n Int) MarshalJSON() ([]byte, error) {
	if n > maxExact || n < -maxExact {
		return strconv.AppendQuote(nil, strconv.FormatInt(int64(n), 10)), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Int) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(string(bytes.Trim(b, `"`)), 10, 64)
	if err != nil {
		return fmt.Errorf("integer %s: %w", b, err)
	}
	*n = Int(v)
	return nil
}

// Status says how a checkpoint stands.
type Status string

// Pending: what the checkpoint needs is not finished.
const (
	Pending  Status = "pending"
	OK       Status = "ok"
	Mismatch Status = "mismatch"
)

// PowerSum is the exact sum of the powers of all values folded.
type PowerSum struct {
	Power int    `json:"power"`
	Value string `json:"value"`
}

// CheckResult is a checkpoint: the value at N when Power is 0, the sum of the
// powers of all values at n ≤ N otherwise. Got is empty while it is pending.
type CheckResult struct {
	N      Int    `json:"n"`
	Power  int    `json:"power,omitempty"`
	Want   string `json:"want"`
	Got    string `json:"got,omitempty"`
	Status Status `json:"status"`
}

// ValueAt is a value with its n.
type ValueAt struct {
	N     Int    `json:"n"`
	Value string `json:"value"`
}

// SweepResult is what is known of one sweep. Values and sums are decimal
// strings.
type SweepResult struct {
	Name      string        `json:"name"`
	Engine    string        `json:"engine"`
	Version   int           `json:"version"`
	Params    engine.Params `json:"params,omitempty"`
	Algorithm string        `json:"algorithm,omitempty"`
	Keep      jobs.Keep     `json:"keep"`
	Grid      int           `json:"grid"`
	// N describes the set of n for people, as in "1…1000".
	N     string `json:"n"`
	Count Int    `json:"count"`
	// Done is the number of n folded, without a gap from the first on; sums,
	// extremes and First to Last are over these.
	Done     Int  `json:"done"`
	Complete bool `json:"complete"`

	Sums        []PowerSum    `json:"sums,omitempty"`
	Checkpoints []CheckResult `json:"checkpoints,omitempty"`
	First       *ValueAt      `json:"first,omitempty"`
	Last        *ValueAt      `json:"last,omitempty"`
	Min         *ValueAt      `json:"min,omitempty"`
	Max         *ValueAt      `json:"max,omitempty"`

	// Text and Tree are the digests in hex once the sweep is complete; Text
	// only where values are kept.
	Text string `json:"text,omitempty"`
	Tree string `json:"tree,omitempty"`

	// ElapsedMs is the time that workers spent on the sweep, all tasks added up,
	// if known: set by the caller.
	ElapsedMs int64 `json:"elapsed_ms,omitempty"`
}

// Checks counts the checkpoints by how they stand.
func (s SweepResult) Checks() (ok, mismatch, pending int) {
	for _, c := range s.Checkpoints {
		switch c.Status {
		case OK:
			ok++
		case Mismatch:
			mismatch++
		default:
			pending++
		}
	}
	return ok, mismatch, pending
}

// Result returns what is known so far. It costs one copy of the sums and both
// hashes' states.
func (f *Fold) Result() SweepResult {
	s := f.s
	r := SweepResult{Name: s.Name, Engine: s.Engine, Version: s.Version, Params: s.Params, Algorithm: s.Algorithm,
		Keep: s.Keep, Grid: s.Grid.Version, N: s.Set.String(), Count: Int(s.Set.Count()), Done: Int(f.done), Complete: f.Complete()}
	reported := map[int]bool{}
	for _, p := range s.Sums {
		reported[p] = true
	}
	for _, sum := range f.sums {
		if reported[sum.Power()] {
			r.Sums = append(r.Sums, PowerSum{sum.Power(), sum.Value().String()})
		}
	}
	for _, c := range f.checks.all {
		out := CheckResult{N: Int(c.N), Power: c.Power, Want: c.Want.String(), Status: c.status()}
		if c.got != nil {
			out.Got = c.got.String()
		}
		r.Checkpoints = append(r.Checkpoints, out)
	}
	if f.done > 0 {
		at := func(n int64, v engine.Int128) *ValueAt { return &ValueAt{Int(n), v.String()} }
		r.First, r.Last = at(s.Set.First(), f.first), at(f.lastN, f.last)
		r.Min, r.Max = at(f.minN, f.min), at(f.maxN, f.max)
	}
	if r.Complete {
		r.Tree = f.tree.sum()
		if f.text != nil {
			r.Text = f.text.sum()
		}
	}
	return r
}

// ResultFormat is the format of an encoded Result.
const ResultFormat = 1

// Result is what is known of a run.
type Result struct {
	Format int    `json:"format"`
	Run    string `json:"run"`
	Epoch  string `json:"epoch"`
	// Number counts the epochs of the run's name.
	Number int `json:"number"`
	// Rev is the revision of the plan that the result is about.
	Rev int64 `json:"rev"`
	// Complete says that every n of every sweep is folded exactly once.
	Complete bool          `json:"complete"`
	Sweeps   []SweepResult `json:"sweeps"`
	// ElapsedMs is the time from the run's start to its end, pauses included, if
	// known: set by the caller.
	ElapsedMs int64 `json:"elapsed_ms,omitempty"`
}

// Sweep returns the named sweep's result.
func (r Result) Sweep(name string) (SweepResult, bool) {
	for _, s := range r.Sweeps {
		if s.Name == name {
			return s, true
		}
	}
	return SweepResult{}, false
}

// Passed reports whether the run is complete and every checkpoint is met.
func (r Result) Passed() bool {
	for _, s := range r.Sweeps {
		if ok, _, _ := s.Checks(); ok != len(s.Checkpoints) {
			return false
		}
	}
	return r.Complete
}

// Encode returns the result as JSON.
func (r Result) Encode() []byte {
	r.Format = ResultFormat
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and integers only: cannot fail
	}
	return b
}

// ErrResult is wrapped by every error of Decode.
var ErrResult = errors.New("stored result is unreadable")

// Decode reads an encoded result.
func Decode(b []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(b, &r); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrResult, err)
	}
	if r.Format != ResultFormat {
		return Result{}, fmt.Errorf("%w: format %d, this program reads %d", ErrResult, r.Format, ResultFormat)
	}
	for _, s := range r.Sweeps {
		for _, p := range s.Sums {
			if _, ok := new(big.Int).SetString(p.Value, 10); !ok {
				return Result{}, fmt.Errorf("%w: sum %q of sweep %s", ErrResult, p.Value, s.Name)
			}
		}
	}
	return r, nil
}
