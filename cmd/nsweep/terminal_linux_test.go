package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// onTerminal starts nsweep on a terminal of that many columns. What it shows comes
// in p.out.
func onTerminal(t *testing.T, columns uint16, dir string, env []string, args ...string) *proc {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	ask := func(request uintptr, about unsafe.Pointer) {
		t.Helper()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(about)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var unlocked, number int32
	ask(syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	ask(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{40, columns}
	ask(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &proc{t: t, cmd: exec.Command(bin, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, tty, tty
	p.cmd.Env = append(environ(env...), "TERM=xterm")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close() // the process has it
	go func() {
		defer close(p.done)
		b := make([]byte, 4096)
		for {
			n, err := screen.Read(b)
			p.out.Write(b[:n])
			if err != nil { // EIO: nobody has the terminal any more
				break
			}
		}
		p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.done
		screen.Close()
	})
	return p
}

// TestBarsOnTerminal: a run shows bars with figures while it lasts, a computation
// that keeps one waiting shows one that is gone afterwards, and no line of either
// is wider than the screen.
func TestBarsOnTerminal(t *testing.T) {
	t.Parallel()
	const columns = 80
	narrow := func(p *proc) {
		t.Helper()
		for line := range strings.SplitSeq(p.out.String(), "\n") {
			for shown := range strings.SplitSeq(strings.TrimSuffix(line, "\r"), "\r") {
				if _, after, ok := strings.Cut(shown, "\x1b[J"); ok {
					shown = after
				}
				if n := len([]rune(shown)); strings.Contains(shown, "░") && n > columns {
					t.Errorf("%d columns: %q", n, shown)
				}
			}
		}
	}
	shows := func(p *proc, all ...string) func() bool {
		return func() bool {
			for _, s := range all {
				if !strings.Contains(p.out.String(), s) {
					return false
				}
			}
			return true
		}
	}

	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, 200*time.Millisecond)
	run := onTerminal(t, columns, dir, slow, "run", "toy.yaml", "--concurrency", "2")
	until(t, "the bar", shows(run, "toy ", "█", "░", " %  ", "/5,000 n", " n/s  ", " left"))
	hurry()
	run.ends(codeDone)
	narrow(run)
	if s := run.out.String(); !strings.Contains(s, "every n exactly once") {
		t.Errorf("shows %q", s)
	}

	slow, hurry = atPace(t, 500*time.Millisecond)
	one := onTerminal(t, columns, dir, slow, "compute", "toy", "1..5000", "--summary")
	until(t, "the bar", shows(one, "n = 1…5,000 ", "█", "░", " %"))
	hurry()
	one.ends(codeDone)
	narrow(one)
	s := one.out.String()
	if i := strings.LastIndex(s, "\x1b[J"); i < 0 || strings.Contains(s[i:], "n = 1…") || !strings.Contains(s[i:], "count    5000") {
		t.Errorf("the bar stays: %q", s)
	}
}
