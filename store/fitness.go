package store

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Fitness is what a server says about itself.
type Fitness struct {
	Version string
	// RunID is drawn anew whenever the server process starts.
	RunID string
	// AOF says that the server writes an append-only file.
	AOF bool
	// Policy is maxmemory-policy.
	Policy string
	// UsedMemory and MaxMemory are in bytes; MaxMemory is 0 for no limit.
	UsedMemory, MaxMemory int64
	// Mode is "standalone", "cluster", "sentinel" or "embedded"; Role is
	// "master" or "slave".
	Mode, Role string
	// AOFError says that the last write to the append-only file failed.
	AOFError bool
	// Fsync is appendfsync, or empty where this user may not ask.
	Fsync string
	// SystemMemory is the memory of the server's machine in bytes, or 0.
	SystemMemory int64
}

// Fitness asks the server about itself.
func (s *Store) Fitness(ctx context.Context) (Fitness, error) {
	if s.embedded {
		return Fitness{Version: "embedded", RunID: "embedded", AOF: true, Policy: "noeviction", Mode: "embedded", Role: "master"}, nil
	}
	text, err := s.client.Info(ctx).Result()
	if err != nil {
		return Fitness{}, fmt.Errorf("ask Redis about itself: %w", err)
	}
	f := parseInfo(text)
	// Many servers do not let everybody ask for this; it is good to know only.
	if c, err := s.client.ConfigGet(ctx, "appendfsync").Result(); err == nil {
		f.Fsync = c["appendfsync"]
	}
	return f, nil
}

// Incarnation returns a name of the server process that is new whenever Redis
// was started again or another server took over: what was committed in the
// last seconds before may be lost then.
func (s *Store) Incarnation(ctx context.Context) (string, error) {
	if s.embedded {
		return "embedded", nil
	}
	text, err := s.client.Info(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("ask Redis about itself: %w", err)
	}
	return parseInfo(text).RunID, nil
}

// parseInfo reads the answer of INFO. What is not there stays zero.
func parseInfo(text string) Fitness {
	var f Fitness
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version":
			f.Version = value
		case "run_id":
			f.RunID = value
		case "redis_mode":
			f.Mode = value
		case "cluster_enabled":
			if value == "1" {
				f.Mode = "cluster"
			}
		case "role":
			f.Role = value
		case "aof_enabled":
			f.AOF = value == "1"
		case "aof_last_write_status":
			f.AOFError = value != "ok"
		case "maxmemory_policy":
			f.Policy = value
		case "used_memory":
			f.UsedMemory, _ = strconv.ParseInt(value, 10, 64)
		case "total_system_memory":
			f.SystemMemory, _ = strconv.ParseInt(value, 10, 64)
		case "maxmemory":
			f.MaxMemory, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return f
}

// checkFitness decides whether the server will do.
func (s *Store) checkFitness(ctx context.Context) error {
	if err := s.Reach(ctx); err != nil {
		return err
	}
	f, err := s.Fitness(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	if problem := f.problem(); problem != "" {
		return &UnfitError{Store: s.where, Problem: problem}
	}
	for _, x := range f.Findings() {
		if x.Verdict == Warning {
			s.warnings = append(s.warnings, s.where+" "+x.Text)
		}
	}
	return nil
}

// atLeast compares the first two numbers of a version.
func atLeast(version string, major, minor int) bool {
	p := strings.SplitN(version, ".", 3)
	if len(p) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(p[0])
	b, err2 := strconv.Atoi(p[1])
	return err1 == nil && err2 == nil && (a > major || (a == major && b >= minor))
}

// clientLog passes on what the client library says, which otherwise goes to
// the standard error in the middle of a progress bar. The library has one
// logger for all clients; the last one opened decides.
type clientLog struct{ to atomic.Pointer[slog.Logger] }

var libraryLog clientLog

func init() { redis.SetLogger(&libraryLog) }

func logTo(l *slog.Logger) {
	if l == nil {
		l = slog.Default()
	}
	libraryLog.to.Store(l)
}

func (c *clientLog) Printf(ctx context.Context, format string, v ...any) {
	if l := c.to.Load(); l != nil && l.Enabled(ctx, slog.LevelDebug) {
		l.DebugContext(ctx, fmt.Sprintf(format, v...))
	}
}
