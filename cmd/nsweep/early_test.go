package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
)

// mute is a server that takes connections and says nothing. told is closed with
// the first word to it.
func mute(t *testing.T) (addr string, told <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{})
	var once sync.Once
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				for b := make([]byte, 512); ; once.Do(func() { close(heard) }) {
					if _, err := c.Read(b); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Wait() // the clients are gone by now
	})
	return l.Addr().String(), heard
}

// TestStoppedBeforeItIsReady: what is told to stop while it still waits for its
// store leaves in as good an order as later.
func TestStoppedBeforeItIsReady(t *testing.T) {
	t.Parallel()
	for args, end := range map[string]struct {
		code int
		says string
	}{
		"scheduler": {codeDone, ""}, "worker --engine toy": {codeDone, ""}, "serve --listen :0": {codeDone, ""},
		"run":         {codeStopped, "nsweep: stopped by a signal before the end\n"},
		"submit":      {codeStopped, "nsweep: stopped by a signal before the end\n"},
		"status toy":  {codeStopped, "nsweep: stopped by a signal before the end\n"},
		"report toy":  {codeStopped, "nsweep: stopped by a signal before the end\n"},
		"runs --json": {codeStopped, "nsweep: stopped by a signal before the end\n"},
	} {
		t.Run(strings.Fields(args)[0], func(t *testing.T) {
			t.Parallel()
			addr, told := mute(t)
			p := cli(t, t.TempDir(), []string{fmt.Sprintf("NSWEEP_REDIS_URL=redis://%s/0", addr)}, strings.Fields(args)...)
			select {
			case <-told:
			case <-p.done:
			}
			p.cmd.Process.Signal(os.Interrupt)
			if code := p.wait(); code != end.code || p.err.String() != end.says || p.out.String() != "" {
				t.Errorf("exit code %d, says %q; want %d and %q", code, p.err.String(), end.code, end.says)
			}
		})
	}
}

// TestTimeUpAtOnce: a time that is up before anything has begun ends a run and a
// worker in the usual way.
func TestTimeUpAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	_, errs := call(t, dir, nil, codeStopped, "run", "toy.yaml", "--for", "1ms")
	if strings.Count(errs, "nsweep: stopped by --for 1ms ") != 1 {
		t.Errorf("run says %q", errs)
	}
	_, errs = call(t, dir, []string{"NSWEEP_REDIS_URL=redis://127.0.0.1:1/0"}, codeDone, "worker", "--for", "1ms")
	if errs != "worker stopped by --for 1ms\n" {
		t.Errorf("worker says %q", errs)
	}
}
