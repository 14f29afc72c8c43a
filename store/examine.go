package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Verdict says how serious a finding is.
type Verdict string

// The verdicts: fit, not good but no obstacle, and unfit to be a store.
const (
	Fit     Verdict = "ok"
	Warning Verdict = "warning"
	Unfit   Verdict = "unfit"
)

// Finding is one thing that matters about a server. Text goes on after the
// server's name, as in "has version 7.0.15".
type Finding struct {
	Check   string
	Verdict Verdict
	Text    string
}

// Findings judges what a server says about itself, one finding for each thing
// that matters, the same for fit and unfit ones.
func (f Fitness) Findings() []Finding {
	var out []Finding
	judge := func(check string, fit bool, bad Verdict, good, problem string) {
		if fit {
			out = append(out, Finding{check, Fit, good})
		} else {
			out = append(out, Finding{check, bad, problem})
		}
	}
	switch f.Mode {
	case "sentinel":
		judge("kind", false, Unfit, "", "is a sentinel: use redis-sentinel://HOST:PORT?master=NAME")
	case "cluster":
		judge("kind", false, Unfit, "", "is a Redis Cluster: a run needs a single server or a sentinel group")
	default:
		judge("kind", true, Unfit, "is no Cluster", "")
	}
	judge("version", f.Version == "embedded" || atLeast(f.Version, 6, 2), Unfit,
		"has version "+f.Version, "has version "+f.Version+": 6.2 or newer is needed")
	judge("role", f.Role != "slave", Unfit, "is a master", "is a read-only replica: use its master")
	judge("eviction", f.Policy == "noeviction", Unfit, "never throws keys away (noeviction)",
		"has maxmemory-policy "+f.Policy+", which may throw results away: set it to noeviction")
	switch {
	case !f.AOF:
		judge("persistence", false, Warning, "", "keeps no append-only file: a crash of it loses all runs since its last snapshot; set appendonly yes")
	case f.AOFError:
		judge("persistence", false, Warning, "", "could not write its append-only file the last time: is its disk full?")
	case f.Fsync == "no":
		judge("persistence", false, Warning, "", "leaves it to the system when its append-only file reaches the disk: a power cut may lose half a minute; set appendfsync everysec")
	case f.Fsync != "":
		judge("persistence", true, Warning, "writes an append-only file (appendfsync "+f.Fsync+")", "")
	default:
		judge("persistence", true, Warning, "writes an append-only file", "")
	}
	return out
}

// problem says what makes the server unfit, or nothing.
func (f Fitness) problem() string {
	for _, x := range f.Findings() {
		if x.Verdict == Unfit {
			return x.Text
		}
	}
	return ""
}

// Reach asks for a sign of life. The error is *UnreachableError, *UnfitError
// when the server answers with a refusal, or that of ctx.
func (s *Store) Reach(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		return s.classify(ctx, err)
	}
	return nil
}

// MayWrite makes sure that this user may change runs, by removing one that cannot
// be there. Without that right a scheduler would take every refusal for a Redis
// that is away for a while. Errors are those of [Store.Reach].
func (s *Store) MayWrite(ctx context.Context) error {
	if err := s.client.HDel(ctx, keyRuns, "").Err(); err != nil {
		return s.classify(ctx, err)
	}
	return nil
}

// Latency returns the median round trip of so many pings, at least one.
func (s *Store) Latency(ctx context.Context, pings int) (time.Duration, error) {
	times := make([]time.Duration, 0, max(pings, 1))
	for range max(pings, 1) {
		begin := time.Now()
		if err := s.client.Ping(ctx).Err(); err != nil {
			return 0, fmt.Errorf("ping: %w", err)
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// ClockOffset returns how far this machine's clock is ahead of the store's,
// taking the store's answer to be from the middle of the round trip.
func (s *Store) ClockOffset(ctx context.Context) (time.Duration, error) {
	before := time.Now()
	at, err := s.Time(ctx)
	if err != nil {
		return 0, err
	}
	// Without the monotonic part: it is the clocks that are compared.
	return before.Add(time.Since(before) / 2).Round(0).Sub(at), nil
}
