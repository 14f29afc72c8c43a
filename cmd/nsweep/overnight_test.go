package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/internal/redistest"
)

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// TestUntil compares with instants known from the rules of the zones: Berlin
// changed on 29 March and 25 October 2026, Lord Howe Island goes back by half
// an hour, São Paulo skipped a midnight, and Samoa a whole day.
func TestUntil(t *testing.T) {
	plain := time.FixedZone("plain", 5*3600+1800)
	berlin, saoPaulo := zone(t, "Europe/Berlin"), zone(t, "America/Sao_Paulo")
	lordHowe, apia := zone(t, "Australia/Lord_Howe"), zone(t, "Pacific/Apia")
	for _, c := range []struct {
		what, now string
		loc       *time.Location
		until     string
		want      string // UTC
	}{
		{"tonight", "2026-07-01T20:00:00+05:30", plain, "23:15", "2026-07-01T17:45:00Z"},
		{"tomorrow", "2026-07-01T20:00:00+05:30", plain, "07:00", "2026-07-02T01:30:00Z"},
		{"with seconds", "2026-07-01T20:00:00+05:30", plain, "20:00:01", "2026-07-01T14:30:01Z"},
		{"just now is tomorrow", "2026-07-01T07:00:00+05:30", plain, "07:00", "2026-07-02T01:30:00Z"},
		{"over the end of the year", "2026-12-31T23:00:00+05:30", plain, "7:00", "2027-01-01T01:30:00Z"},
		{"short night", "2026-03-28T22:00:00+01:00", berlin, "07:00", "2026-03-29T05:00:00Z"},
		{"skipped: the jump", "2026-03-28T22:00:00+01:00", berlin, "02:30", "2026-03-29T01:00:00Z"},
		{"skipped, begin", "2026-03-28T22:00:00+01:00", berlin, "02:00", "2026-03-29T01:00:00Z"},
		{"skipped, end", "2026-03-28T22:00:00+01:00", berlin, "03:00", "2026-03-29T01:00:00Z"},
		{"after the jump", "2026-03-29T03:00:00+02:00", berlin, "02:30", "2026-03-30T00:30:00Z"},
		{"long night", "2026-10-24T22:00:00+02:00", berlin, "07:00", "2026-10-25T06:00:00Z"},
		{"doubled: the first", "2026-10-24T22:00:00+02:00", berlin, "02:30", "2026-10-25T00:30:00Z"},
		{"doubled: the second", "2026-10-25T02:45:00+02:00", berlin, "02:30", "2026-10-25T01:30:00Z"},
		{"doubled: past both", "2026-10-25T02:45:00+01:00", berlin, "02:30", "2026-10-26T01:30:00Z"},
		{"half an hour back", "2026-04-05T01:50:00+11:00", lordHowe, "01:45", "2026-04-04T15:15:00Z"},
		{"skipped midnight", "2018-11-03T22:00:00-03:00", saoPaulo, "00:00", "2018-11-04T03:00:00Z"},
		{"midnight twice", "2018-02-17T23:30:00-02:00", saoPaulo, "23:15", "2018-02-18T02:15:00Z"},
		{"skipped day", "2011-12-29T22:00:00-10:00", apia, "07:00", "2011-12-30T10:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got, flag, err := curfew{untilText: c.until}.end(now.In(c.loc))
		if err != nil || got.UTC().Format(time.RFC3339) != c.want || flag != "--until "+c.until {
			t.Errorf("%s: --until %s at %s is %s (%s, %v), want %s", c.what, c.until, c.now, got.UTC().Format(time.RFC3339), flag, err, c.want)
		}
	}
}

// TestUntilByMinutes compares with a walk along the minutes.
func TestUntilByMinutes(t *testing.T) {
	zones := []*time.Location{time.UTC}
	for _, name := range []string{"Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Beirut", "America/Havana", "Asia/Kathmandu"} {
		zones = append(zones, zone(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		loc := rapid.SampledFrom(zones).Draw(t, "zone")
		now := time.Unix(rapid.Int64Range(1_200_000_000, 1_900_000_000).Draw(t, "now")/60*60, 0).In(loc)
		if rapid.Bool().Draw(t, "near a change") {
			if _, change := now.ZoneBounds(); !change.IsZero() {
				now = change.Truncate(time.Minute).Add(time.Duration(rapid.IntRange(-1500, 90).Draw(t, "minutes")) * time.Minute)
			}
		}
		c := timeOfDay{rapid.IntRange(0, 23).Draw(t, "h"), rapid.IntRange(0, 59).Draw(t, "m"), 0}
		minutes := func(t time.Time) int64 { // of the face of the clock
			y, m, d := t.Date()
			return time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, time.UTC).Unix() / 60
		}
		want := now
		for shown, hit := minutes(now), false; !hit; {
			want = want.Add(time.Minute)
			to := minutes(want)
			for x := shown + 1; x <= to && !hit; x++ { // more than one at a jump
				hit = x%1440 == int64(60*c.h+c.m)
			}
			if to <= shown { // put back
				hit = to%1440 == int64(60*c.h+c.m)
			}
			shown = to
		}
		if got := c.next(now); !got.Equal(want) {
			t.Fatalf("next %v after %s is %s, want %s", c, now, got, want)
		}
	})
}

func TestFor(t *testing.T) {
	now := time.Date(2026, 3, 28, 23, 0, 0, 0, zone(t, "Europe/Berlin"))
	at, flag, err := curfew{forText: "8h"}.end(now)
	if err != nil || at.Sub(now) != 8*time.Hour || flag != "--for 8h" || at.Hour() != 8 {
		t.Errorf("--for 8h ends at %s (%s, %v)", at, flag, err)
	}
	if at, flag, err := (curfew{}).end(now); !at.IsZero() || flag != "" || err != nil {
		t.Errorf("without flags: %s, %s, %v", at, flag, err)
	}
}

// TestCurfewRefused: bad values are bad usage.
func TestCurfewRefused(t *testing.T) {
	for _, c := range []curfew{
		{forText: "8"}, {forText: "0"}, {forText: "-1h"}, {forText: "soon"}, {forText: "99999999h"},
		{untilText: "7"}, {untilText: "24:00"}, {untilText: "07:60"}, {untilText: "7:0"}, {untilText: "07:00:60"}, {untilText: "07:00:00:00"},
		{untilText: "+7:00"}, {untilText: "7am"}, {untilText: " 07:00"}, {untilText: "-1:00"}, {forText: "8h", untilText: "07:00"},
	} {
		_, _, err := c.end(time.Now())
		if exitCode(err) != codeUsage || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, stop := watch(t.Context(), begin.Add(8*time.Hour), "--for 8h")
		<-ctx.Done()
		if took := time.Since(begin); took != 8*time.Hour || why(ctx) != " by --for 8h" {
			t.Errorf("ended after %s%s", took, why(ctx))
		}
		stop()

		parent, cancel := context.WithCancel(t.Context())
		ctx, stop = watch(parent, time.Now().Add(time.Hour), "--for 1h")
		cancel()
		<-ctx.Done()
		stop()
		if why(ctx) != "" {
			t.Errorf("interrupted, but it says%s", why(ctx))
		}
		if ctx, stop := watch(t.Context(), time.Time{}, ""); ctx != t.Context() {
			t.Error("watches for no time")
		} else {
			stop()
		}
	})
}

// TestForAndUntil: a run that its time cuts short leaves with code 4 and goes on
// where it stood.
func TestForAndUntil(t *testing.T) {
	for _, flag := range []string{"--for", "--until"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "toy.yaml", toyYAML)
			// The first part leaves off when it has values, so that the second one need
			// not have any in its time.
			env := []string{"NSWEEP_TOY_PER_CELL=1s", "TZ=Asia/Kathmandu"}
			first := cli(t, dir, env, "run", "toy.yaml", "--concurrency", "2")
			begun(t, dir, nil)
			first.cmd.Process.Signal(os.Interrupt)
			first.ends(codeStopped)
			value := "2s"
			if flag == "--until" {
				value = time.Now().In(zone(t, "Asia/Kathmandu")).Add(8 * time.Second).Format("15:04:05")
			}
			_, errs := call(t, dir, env, codeStopped, "run", "toy.yaml", "--concurrency", "2", flag, value)
			for _, want := range []string{"stops at ", "+05:45", "stopped by " + flag + " " + value, "run again to resume"} {
				if !strings.Contains(errs, want) {
					t.Errorf("no %q in: %s", want, errs)
				}
			}
			_, errs = call(t, dir, nil, codeDone, "run", "toy.yaml", "--for", "8h")
			if values, again := computed(t, errs); values == "5,000" || again != "0" {
				t.Errorf("after the stop computed %s values, %s cells again", values, again)
			}
		})
	}
}

// TestWorkersComeAndGo: workers join in the middle, one leaves by its time, one
// by a signal, and nothing is computed twice.
func TestWorkersComeAndGo(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, 200*time.Millisecond)
	env := on(srv, slow...)
	cli(t, dir, env, "scheduler")
	first := cli(t, dir, env, "worker", "--concurrency", "1", "--for", "2s")
	second := cli(t, dir, env, "worker", "--concurrency", "1")
	wait := cli(t, dir, env, "submit", "toy.yaml", "--wait")
	if code := first.wait(); code != codeDone || !strings.Contains(first.err.String(), "worker stopped by --for 2s") {
		t.Errorf("exit code %d: %s", code, first.err.String())
	}
	cli(t, dir, env, "worker", "--concurrency", "2") // joins
	until(t, "the second worker's start", func() bool { return strings.Contains(second.err.String(), "slots on") })
	second.cmd.Process.Signal(syscall.SIGTERM)
	second.ends(codeDone)
	hurry()
	wait.ends(codeDone)
	if _, again := computed(t, wait.err.String()); again != "0" {
		t.Errorf("%s cells were computed again", again)
	}
	if s, _ := result(t, dir, env, "toy").Sweep("toy"); s.Done != 5000 {
		t.Errorf("result %+v", s)
	}
}

// TestDrainTimeout: a worker whose engine is deaf leaves all the same.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	env := on(srv, "NSWEEP_TOY_PER_CELL=1h", "NSWEEP_TOY_DEAF=1")
	cli(t, dir, env, "scheduler")
	call(t, dir, env, codeDone, "submit", "toy.yaml")
	p := cli(t, dir, env, "worker", "--drain-timeout", "300ms")
	until(t, "a task", func() bool {
		q := cli(t, dir, env, "status", "toy", "--json")
		return q.wait() == codeDone && strings.Contains(q.out.String(), `"fraction"`)
	})
	p.cmd.Process.Signal(os.Interrupt)
	if code := p.wait(); code != codeDone {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if !strings.Contains(p.err.String(), "left behind") || !strings.Contains(p.err.String(), "waited=300ms") {
		t.Errorf("says %s", p.err.String())
	}
}

func TestWhyOfOthers(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("something else"))
	if why(ctx) != "" {
		t.Errorf("says %q", why(ctx))
	}
	var b bytes.Buffer
	a := &app{streams: streams{err: &b}}
	a.announceEnd(time.Time{})
	if b.Len() != 0 {
		t.Errorf("announces %q", b.String())
	}
	a.announceEnd(time.Now().Add(90 * time.Minute))
	if !strings.Contains(b.String(), fmt.Sprint("stops at ", time.Now().Add(90*time.Minute).Format("2006-01-02"))) {
		t.Errorf("announces %q", b.String())
	}
}
