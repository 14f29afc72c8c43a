package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that TZ names zones where no zone files are installed

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/report"
)

// curfew is when a process is to stop by itself.
type curfew struct {
	forText, untilText string
}

// register adds the flags.
func (c *curfew) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.forText, "for", "", "stop in good order after a `time` such as 8h or 90m")
	f.StringVar(&c.untilText, "until", "", "stop in good order at the next local `time of day`, such as 07:00")
}

// errTimeUp is the cause of a context that ended because the time was up.
type errTimeUp struct{ flag string }

func (e errTimeUp) Error() string { return "time is up (" + e.flag + ")" }

// end returns the moment to stop, and the flag that says so; a zero moment
// means never. Errors are usage errors.
func (c curfew) end(now time.Time) (time.Time, string, error) {
	switch {
	case c.forText != "" && c.untilText != "":
		return time.Time{}, "", usagef("--for and --until exclude each other")
	case c.forText != "":
		d, err := time.ParseDuration(c.forText)
		if err != nil || d <= 0 {
			return time.Time{}, "", usagef("--for %s: want a time such as 8h, 90m or 7h30m", c.forText)
		}
		return now.Round(0).Add(d), "--for " + c.forText, nil
	case c.untilText != "":
		clock, err := parseTimeOfDay(c.untilText)
		if err != nil {
			return time.Time{}, "", usagef("--until %s: %v", c.untilText, err)
		}
		return clock.next(now), "--until " + c.untilText, nil
	}
	return time.Time{}, "", nil
}

// watch returns a context that ends at the given moment with cause errTimeUp,
// or with ctx. stop ends the watching and waits for it. Both moments are by the
// wall clock, so that the hours in which a machine sleeps count.
func watch(ctx context.Context, at time.Time, flag string) (_ context.Context, stop func()) {
	if at.IsZero() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// A timer alone stands still while the machine sleeps, and a clock that
		// is set changes what is left: look again now and then.
		for {
			left := time.Until(at)
			if left <= 0 {
				cancel(errTimeUp{flag})
				return
			}
			wait(ctx, min(left, 10*time.Second))
			if ctx.Err() != nil {
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// why returns " by --for 8h" for a context that ended for such a reason, or
// nothing.
func why(ctx context.Context) string {
	var up errTimeUp
	var fat errTooFat
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &up):
		return " by " + up.flag
	case errors.As(cause, &fat):
		return " because " + fat.Error()
	}
	return ""
}

// timeOfDay is hours, minutes and seconds on a clock face.
type timeOfDay struct{ h, m, s int }

var errTimeOfDay = errors.New("want a time of day from 00:00 to 23:59, such as 07:00")

// parseTimeOfDay reads HH:MM or HH:MM:SS.
func parseTimeOfDay(text string) (timeOfDay, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 2 && len(parts) != 3 {
		return timeOfDay{}, errTimeOfDay
	}
	var v [3]int
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil || len(p) > 2 || (i > 0 && len(p) != 2) || n > 59 || (i == 0 && n > 23) {
			return timeOfDay{}, errTimeOfDay
		}
		v[i] = int(n)
	}
	return timeOfDay{v[0], v[1], v[2]}, nil
}

// next returns the first moment after now at which the clocks of now's
// location show the time, or pass over it.
//
// Where clocks are put back, some times come twice a night: the first of the
// two that lies ahead counts. Where they are put forward, some do not come at
// all: the moment of the jump counts instead.
func (c timeOfDay) next(now time.Time) time.Time {
	loc := now.Location()
	y, m, d := now.Date()
	// The date of yesterday too: midnight itself can come twice.
	for day := d - 1; ; day++ {
		var best time.Time
		for _, t := range c.on(y, m, day, loc) {
			if t.After(now) && (best.IsZero() || t.Before(best)) {
				best = t
			}
		}
		if !best.IsZero() {
			return best
		}
	}
}

// on returns the moments of one date at which the clocks show the time; where
// they pass over it, the moment of the jump.
func (c timeOfDay) on(y int, m time.Month, d int, loc *time.Location) []time.Time {
	// The face of the clock as if the offset were 0. The true moment lies
	// within 14 hours of it, so the offsets a day earlier and later are all
	// that can be in force: no zone has two changes in two days.
	face := time.Date(y, m, d, c.h, c.m, c.s, 0, time.UTC)
	_, before := face.Add(-24 * time.Hour).In(loc).Zone()
	_, after := face.Add(24 * time.Hour).In(loc).Zone()
	var out []time.Time
	for _, offset := range []int{before, after} {
		t := face.Add(-time.Duration(offset) * time.Second).In(loc)
		if _, o := t.Zone(); o == offset && (len(out) == 0 || !out[0].Equal(t)) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		// Counted on with the old offset, the time lies behind the jump.
		t := face.Add(-time.Duration(before) * time.Second).In(loc)
		jump, _ := t.ZoneBounds()
		out = append(out, jump)
	}
	return out
}

// announceEnd says when a process will stop, so that a wrong zone shows.
func (a *app) announceEnd(at time.Time) {
	if !at.IsZero() {
		fmt.Fprintf(a.err, "stops at %s, in %s\n", at.Format("2006-01-02 15:04:05 -07:00 MST"), report.Span(time.Until(at).Round(time.Second)))
	}
}
