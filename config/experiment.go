package config

import (
	"math/big"
	"path/filepath"
	"regexp"
	"strings"
)

// namePattern is what an experiment, a sweep, an engine and an algorithm may be
// called.
var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// nameForm is the hint of all errors about names.
const nameForm = "want 1 to 64 of a-z, 0-9, ., _ and -, beginning with a letter or digit"

// Experiment is what an experiment file says, with flags, variables and
// defaults applied.
type Experiment struct {
	// Name is the name of the run.
	Name string
	// Priority is PriorityLow, PriorityNormal or PriorityHigh: how urgent the
	// run is among those that share workers. Empty means PriorityNormal.
	Priority string
	// Verify is the share of the cells, in millionths, that a second computation
	// must confirm before the run is complete: 0 … 1000000.
	Verify int64
	// VerifySame has that computation made by the sweep's own algorithm instead of
	// another one where there is one.
	VerifySame bool
	// Notify says whom to tell how the run ends; nil for nobody.
	Notify *Notify
	Settings
	Sweeps []Sweep

	// file and root are what the experiment was read from, settingsAt where
	// each setting came from; At reads them. An experiment built by hand has
	// none of them.
	file       string
	root       *node
	settingsAt map[string]origin
}

// Settings are what concerns this machine rather than the values: the store, the
// workers and where they can be watched.
type Settings struct {
	Redis Redis
	// DataDir holds the files of the embedded store. A relative path counts
	// from the working directory.
	DataDir string
	Workers Workers
	Metrics Metrics
}

// Workers says how this process computes.
type Workers struct {
	// Concurrency is the number of tasks at a time, 0 for one for each core.
	Concurrency int
}

// Sweep is one engine with its parameters over one set of n.
type Sweep struct {
	Name string
	// Engine names the engine and Algorithm one of its algorithms; an empty
	// Algorithm leaves the choice to the engine. Params are its parameters.
	Engine, Algorithm string
	Params            map[string]int64
	// Keep is KeepValues or KeepSums.
	Keep string
	N    N
	// Sums are the powers whose sums over all n are wanted.
	Sums        []int
	Checkpoints []Checkpoint
	// Compare names a b-file or CSV whose values are checkpoints too. A relative
	// path counts from the folder of the experiment's file; see ComparePath.
	Compare string
}

// ComparePath returns the path of the sweep's file of known values, or an empty
// string where there is none.
func (e *Experiment) ComparePath(s Sweep) string {
	if s.Compare == "" || filepath.IsAbs(s.Compare) || strings.HasPrefix(e.file, "built-in ") {
		return s.Compare
	}
	return filepath.Join(filepath.Dir(e.file), s.Compare)
}

// How urgent a run is.
const (
	PriorityLow    = "low"
	PriorityNormal = "normal"
	PriorityHigh   = "high"
)

// What a sweep stores.
const (
	KeepValues = "values"
	KeepSums   = "sums"
)

// Limits of a sweep's sums and of the experiment.
const (
	// MaxPower is the largest power that is summed.
	MaxPower = 64
	// MaxSweeps is the largest number of sweeps in an experiment.
	MaxSweeps = 1000
	// MaxConcurrency is the largest number of tasks at a time in one process.
	MaxConcurrency = 1024
)

// Checkpoint is a number that is known beforehand. Either Value is set, the
// value at N, or Power and Equals are: the sum of the Power-th powers of the
// values at all n ≤ N of the sweep.
type Checkpoint struct {
	N      int64
	Value  *big.Int
	Power  int
	Equals *big.Int
}

// Want returns the known number, whichever kind it is.
func (c Checkpoint) Want() *big.Int {
	if c.Power == 0 {
		return c.Value
	}
	return c.Equals
}
