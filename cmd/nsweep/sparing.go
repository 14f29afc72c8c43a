package main

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// sayAgain is how long a line that was logged is not logged again. An outage
	// of a night has every loop that waits for the store say so every second.
	sayAgain = time.Minute
	// maxSaid bounds the lines that are remembered.
	maxSaid = 1000
)

// said remembers the lines of the last minute for all loggers of a process.
type said struct {
	mu    sync.Mutex
	lines map[string]*repeat
}

// repeat is a line that was logged, and how often it was held back since.
type repeat struct {
	at    time.Time
	times int
}

// again counts a line. It reports whether the line is to be held back and, when
// it is not, how many times it was.
func (s *said) again(line string, now time.Time) (bool, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.lines[line]
	if r != nil && now.Sub(r.at) < sayAgain {
		r.times++
		return true, 0
	}
	if s.lines == nil || len(s.lines) >= maxSaid {
		s.lines = map[string]*repeat{}
	}
	s.lines[line] = &repeat{at: now}
	if r == nil {
		return false, 0
	}
	return false, r.times
}

// sparing is a handler that logs the same warning at most once a minute. Errors
// are always logged.
type sparing struct {
	slog.Handler
	said *said
	with string // what all lines of this logger have
}

// ephemeral is the part of an error that is another one for each connection.
var ephemeral = regexp.MustCompile(`:\d+->`)

// Handle logs a record, or counts it when its line was logged just now.
func (h sparing) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		return h.Handler.Handle(ctx, r)
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%s %s %s", r.Level, h.with, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&line, " %s", a)
		return true
	})
	hold, times := h.said.again(ephemeral.ReplaceAllString(line.String(), "->"), r.Time)
	if hold {
		return nil
	}
	if times > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", times))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler whose lines have the attributes too.
func (h sparing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return sparing{h.Handler.WithAttrs(attrs), h.said, h.with + fmt.Sprint(attrs)}
}

// WithGroup returns a handler whose further attributes belong to a group.
func (h sparing) WithGroup(name string) slog.Handler {
	return sparing{h.Handler.WithGroup(name), h.said, h.with + " " + name + ":"}
}
