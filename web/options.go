package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Store is what the dashboard needs of the store.
type Store interface {
	aggregator.Reader
	Controls
	// Where names the store for people, without password.
	Where() string
	// Time is the store's clock.
	Time(context.Context) (time.Time, error)
	// Runs returns the others beside a *jobs.DamagedError.
	Runs(context.Context) ([]jobs.Run, error)
	Counts(context.Context, jobs.RunID) (map[string]jobs.Counts, error)
	Ledger(context.Context, jobs.RunID, jobs.Sweep) (*jobs.Ledger, error)
	// Tasks are the tasks that are given out, Beats the last sign of life of
	// each that a worker has taken, with the store's clock.
	Tasks(context.Context, jobs.RunID) ([]jobs.Task, error)
	Beats(context.Context, jobs.RunID) ([]jobs.Beat, time.Time, error)
	Workers(context.Context) ([]jobs.Worker, error)
	Failures(context.Context, jobs.RunID) ([]jobs.Failure, error)
	Disputes(context.Context, jobs.RunID, jobs.Sweep) ([]jobs.Dispute, error)
	Leader(context.Context, jobs.RunID) (string, error)
	// Quarantines are the workers from which the run takes nothing any more.
	Quarantines(context.Context, jobs.Manifest) ([]jobs.Quarantine, error)
}

// Controls is what the buttons do to the store.
type Controls interface {
	SetState(ctx context.Context, id jobs.RunID, from []jobs.State, to jobs.State, reason string) error
	ClearFailures(context.Context, jobs.RunID) error
	Update(context.Context, jobs.Manifest) (jobs.Run, error)
}

// Plot is one kind of picture that can be had of a sweep.
type Plot struct {
	// Kind is the last part of the picture's address: letters, digits, hyphens.
	Kind string
	// Title is what the reader chooses by, as in "M(n)/n".
	Title string
}

// Fact is one line about a cell.
type Fact struct{ Name, Value string }

// Options are what a server is made of. Only Store is required.
type Options struct {
	Store Store
	// Engines gives the symbols of the functions and estimates what is left.
	// Sweeps of unknown engines are estimated by the number of n.
	Engines *engine.Registry
	// Version is the version of the program, for the foot of the page.
	Version string

	// Token is what a viewer must know, at least MinToken characters. It may
	// be empty only while the server listens on a loopback address.
	Token string
	// Hosts are names, beside IP addresses and localhost, by which the server
	// may be addressed, without port. Requests for others are refused, so that
	// a foreign name made to point here gains nothing.
	Hosts []string
	// ReadOnly leaves out the buttons and refuses what they do.
	ReadOnly bool

	// Plot writes the picture of a sweep's values at n in [lo, hi) as format,
	// "svg" or "png". Kinds lists what there is for a sweep. Without both there
	// are no plots.
	Plot  func(ctx context.Context, w io.Writer, run, sweep, kind, format string, lo, hi int64) error
	Kinds func(jobs.Sweep) []Plot

	// Partial returns what another part of the process has summed up already,
	// so that the dashboard need not.
	Partial func(jobs.RunID) (aggregator.Result, bool)
	// Verified returns which finished cells were computed a second time with
	// the same values.
	Verified func(context.Context, jobs.RunID, jobs.Sweep) (*jobs.Ledger, error)
	// Provenance tells who computed the cell with that grid index, or the point
	// n when the index is −1.
	Provenance func(ctx context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]Fact, error)

	// Metrics is served under /metrics; a new one when nil.
	Metrics *Metrics
	// MetricsOnly leaves out all pages: only /metrics, /healthz and /readyz are
	// served. Hosts matters without Token only.
	MetricsOnly bool
	// QueueDepth returns the number of waiting tasks by queue, for the metrics.
	QueueDepth func(context.Context) (map[string]int, error)

	// Pace is the time between two looks at the store while somebody watches,
	// 500 ms; IdlePace while nobody does, 5 s.
	Pace, IdlePace time.Duration
	// MaxStreams bounds the viewers with an open stream, 64; MaxStreamsPer
	// those from one address, 16; MaxConns all connections, 256.
	MaxStreams, MaxStreamsPer, MaxConns int

	Log *slog.Logger

	waits waits
}

// waits bound how long the server waits for others. Only tests change them.
type waits struct {
	detail time.Duration // a page for its run to be read
	poll   time.Duration // one look at the store
	// A request to come, with its header, and its answer to go; streams move
	// theirs on with each message.
	header, read, write, message time.Duration
	// drain is how long answers under way may take when the server stops.
	drain time.Duration
}

var usualWaits = waits{detail: 3 * time.Second, poll: 15 * time.Second, header: 5 * time.Second, read: 15 * time.Second,
	write: time.Minute, message: 15 * time.Second, drain: 2 * time.Second}

// MinToken is the least length of a token. Tokens are random; this keeps out
// words and dates.
const MinToken = 16

// maxToken bounds what is compared.
const maxToken = 512

// HostName reports whether a text can be one of Options.Hosts: a name alone,
// without scheme, port or path.
func HostName(h string) bool {
	h = strings.TrimSuffix(h, ".")
	return h != "" && !strings.ContainsAny(h, "/: \t")
}

func (o *Options) complete() error {
	if o.Store == nil {
		return errors.New("web: Options.Store is missing")
	}
	if n := len(o.Token); n > 0 && (n < MinToken || n > maxToken) {
		return fmt.Errorf("web: Options.Token has %d characters, want %d to %d", n, MinToken, maxToken)
	}
	if (o.Plot == nil) != (o.Kinds == nil) {
		return errors.New("web: Options.Plot and Options.Kinds go together")
	}
	for _, h := range o.Hosts {
		if !HostName(h) {
			return fmt.Errorf("web: Options.Hosts: %q is no host name", h)
		}
	}
	for _, d := range []struct {
		name string
		v    *time.Duration
		std  time.Duration
	}{{"Pace", &o.Pace, 500 * time.Millisecond}, {"IdlePace", &o.IdlePace, 5 * time.Second}} {
		if *d.v < 0 {
			return fmt.Errorf("web: Options.%s is negative", d.name)
		}
		if *d.v == 0 {
			*d.v = d.std
		}
	}
	for _, d := range []struct {
		name string
		v    *int
		std  int
	}{{"MaxStreams", &o.MaxStreams, 64}, {"MaxStreamsPer", &o.MaxStreamsPer, 16}, {"MaxConns", &o.MaxConns, 256}} {
		if *d.v < 0 {
			return fmt.Errorf("web: Options.%s is negative", d.name)
		}
		if *d.v == 0 {
			*d.v = d.std
		}
	}
	if o.waits == (waits{}) {
		o.waits = usualWaits
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return nil
}
