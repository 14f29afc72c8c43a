package worker

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
)

// What goes with the error of a task that fails: whoever looks at the failure
// later has neither this machine's log nor its terminal.
const (
	keptLines = 6    // last lines of the task's log
	maxLine   = 240  // bytes of each
	maxStack  = 1200 // bytes of an engine's stack
)

// lines keeps the last lines of one task's log, from Info on.
type lines struct {
	mu   sync.Mutex
	last []string
}

// String returns the lines, oldest first, each with an LF before it.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, s := range l.last {
		b.WriteString("\n" + s)
	}
	return b.String()
}

func (l *lines) keep(r slog.Record) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", r.Time.UTC().Format("15:04:05Z"), r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return b.Len() < maxLine
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == keptLines {
		l.last = append(l.last[:0], l.last[1:]...)
	}
	l.last = append(l.last, cut(strings.ReplaceAll(b.String(), "\n", " "), maxLine))
}

// logged returns a logger that writes to the same place and keeps its last lines.
func logged(log *slog.Logger) (*slog.Logger, *lines) {
	l := &lines{}
	return slog.New(&keeper{log.Handler(), l}), l
}

// keeper is a handler that keeps lines whether or not they are written.
type keeper struct {
	slog.Handler
	lines *lines
}

// Enabled implements slog.Handler.
func (k *keeper) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || k.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (k *keeper) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		k.lines.keep(r)
	}
	if !k.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return k.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (k *keeper) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &keeper{k.Handler.WithAttrs(attrs), k.lines}
}

// WithGroup implements slog.Handler.
func (k *keeper) WithGroup(name string) slog.Handler {
	return &keeper{k.Handler.WithGroup(name), k.lines}
}

// panicStack returns where a panic that was recovered came from, without the
// frames of the panic itself and of whoever recovered it, each line after an LF.
func panicStack() string {
	_, from, found := strings.Cut(string(debug.Stack()), "\npanic(")
	if !found {
		return ""
	}
	list := strings.Split(strings.TrimSpace(from), "\n")
	if len(list) <= 2 {
		return ""
	}
	return "\n" + cut(strings.Join(list[2:], "\n"), maxStack) // without panic's own two lines
}

// cut shortens a text to so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
