package scheduler

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// TestDamagedRunBeside: a run that cannot be read is named once, and the other
// one is led to its end.
func TestDamagedRunBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := newIdleBench(t, 3001)
		b.svc.Options.Log = slog.New(slog.NewTextHandler(&log, nil))
		b.store.beside = errors.New("key k: unexpected end of JSON input")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.svc.Run(ctx) }()
		b.pass(time.Second)
		b.drainAll("w")
		b.pass(10 * time.Second)
		if b.store.run.State != jobs.Complete {
			t.Errorf("the other run is %s", b.store.run.State)
		}
		b.store.set(func() { b.store.beside = nil })
		b.pass(2 * time.Second)
		b.store.set(func() { b.store.down = true })
		b.pass(2 * time.Second)
		b.store.set(func() { b.store.down, b.store.beside = false, errors.New("another") })
		b.pass(2 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		text := log.String()
		for _, once := range []string{"run a cannot be read: key k: unexpected end of JSON input", "run a cannot be read: another"} {
			if strings.Count(text, once) != 1 {
				t.Errorf("%q is not said once in\n%s", once, text)
			}
		}
	})
}
