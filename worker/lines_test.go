package worker

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nsweep/nsweep/internal/testengine"
)

// TestErrorsBringTheirLog: the error of a task that failed ends with what its
// worker logged about it meanwhile.
func TestErrorsBringTheirLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.refuse = 2
		if err := process(newWorker(f, testengine.Options{FailAt: 777}), task(1, 2001)); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(f.last().Error, "\n")
		if !strings.HasSuffix(got[0], "told to fail at n = 777") {
			t.Errorf("the first line is %q", got[0])
		}
		if len(got) != 3 || !strings.Contains(got[1], "Z WARN commit failed, trying again err=") {
			t.Errorf("the log is %q", got[1:])
		}
	})
}

// TestLines: the last lines are kept, each short and in one piece, also those
// that are not written, and those that are go where they went.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	log, last := logged(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	log = log.With("run", "r")
	log.Debug("never")
	for i := range 2 * keptLines {
		log.Info("told", "i", i)
	}
	log.Warn("torn\napart", "text", strings.Repeat("ä", 300))
	got := strings.Split(last.String(), "\n")[1:]
	if len(got) != keptLines {
		t.Fatalf("kept %q", got)
	}
	for i, line := range got[:keptLines-1] {
		if want := fmt.Sprintf("INFO told i=%d", keptLines+1+i); !strings.HasSuffix(line, want) {
			t.Errorf("line %q, want %q", line, want)
		}
	}
	if line := got[keptLines-1]; !strings.Contains(line, "WARN torn apart text=ä") || len(line) > maxLine+len("…") || !strings.HasSuffix(line, "ä…") {
		t.Errorf("line of %d bytes: %q", len(line), line)
	}
	if s := out.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "run=r") {
		t.Errorf("wrote %q", s)
	}
}

// TestPanicStack begins where the panic was.
func TestPanicStack(t *testing.T) {
	var got string
	func() {
		defer func() {
			recover()
			got = panicStack()
		}()
		blowUp()
	}()
	if !strings.HasPrefix(got, "\ngithub.com/nsweep/nsweep/worker.blowUp(") || len(got) > maxStack+10 {
		t.Errorf("the stack is %q", got)
	}
	if panicStack() != "" {
		t.Error("a stack without a panic")
	}
}

//go:noinline
func blowUp() { panic("boom") }
