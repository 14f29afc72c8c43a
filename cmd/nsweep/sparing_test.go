package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRepeatedLines: what every loop says each second of an outage is logged once
// a minute, with how often it was held back; other lines are logged, and all of
// them where more is asked for.
func TestRepeatedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		a := &app{streams: streams{err: &b}}
		lines := func() []string {
			defer b.Reset()
			return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		}
		for i := range 150 {
			err := fmt.Errorf("read tcp 10.0.0.1:%d->10.0.0.2:6379: i/o timeout", 40000+i)
			a.log().Warn("store out of reach", "err", err)
			a.log().With("worker", "a").Warn("heartbeat failed", "err", errors.New("no"))
			time.Sleep(time.Second)
		}
		got := lines()
		if len(got) != 6 || !strings.Contains(got[2], "store out of reach") || !strings.HasSuffix(got[2], " repeated=59") ||
			!strings.Contains(got[3], "heartbeat failed") || !strings.HasSuffix(got[3], " repeated=59") {
			t.Errorf("an outage of 150 s gives %q", got)
		}
		for range 5 {
			a.log().Error("run halted", "run", "r")
		}
		if got := lines(); len(got) != 5 {
			t.Errorf("5 errors give %q", got)
		}
		for i := range 10 {
			a.log().Warn("cell failed", "task", i)
			a.log().With("worker", i).Warn("heartbeat failed")
			a.log().WithGroup(fmt.Sprint("g", i)).Warn("heartbeat failed")
		}
		if got := lines(); len(got) != 30 {
			t.Errorf("30 different lines give %q", got)
		}
		for i := range 2 * maxSaid {
			a.log().Warn("cell failed", "task", i)
		}
		if len(a.said.lines) > maxSaid {
			t.Errorf("%d lines are remembered", len(a.said.lines))
		}
		b.Reset()
		a.verbose = 1
		for range 5 {
			a.log().Warn("store out of reach")
		}
		if got := lines(); len(got) != 5 {
			t.Errorf("with -v, 5 lines give %q", got)
		}
	})
}
