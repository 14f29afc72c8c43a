package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
)

// refusal is a way to address Redis that must end in one line.
type refusal struct {
	what string
	env  []string
	says []string
}

// plantedWrong is the password of those who must not get in.
const plantedWrong = "Wr0ng-planted-Pw7"

// refuseAll tries every refusal with the command that would write, and the first
// with others too. They run at the same time: some wait for an answer that does
// not come.
func refuseAll(t *testing.T, all []refusal) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	type try struct {
		refusal
		p *proc
	}
	var tries []try
	for i, r := range all {
		tries = append(tries, try{r, cli(t, dir, r.env, "submit", "toy.yaml")})
		if i == 0 {
			for _, args := range [][]string{{"worker", "--engine", "toy"}, {"scheduler"}, {"status", "toy"}, {"doctor"}} {
				tries = append(tries, try{r, cli(t, dir, r.env, args...)})
			}
		}
	}
	for _, x := range tries {
		code, args := x.p.wait(), x.p.cmd.Args[1:]
		out, line := x.p.out.String(), x.p.err.String()
		both := out + line
		if args[0] == "doctor" { // its line is one of several
			_, line, _ = strings.Cut(out, "✗ ")
			out = ""
		}
		if code != codeUnreachable || strings.Count(line, "\n") != 1 || out != "" {
			t.Errorf("%s: nsweep %v: exit code %d\n%s", x.what, args, code, both)
		}
		for _, want := range x.says {
			if !strings.Contains(line, want) {
				t.Errorf("%s: nsweep %v says %q, want %q", x.what, args, line, want)
			}
		}
		if strings.Contains(both, plantedWrong) || strings.Contains(both, "goroutine ") {
			t.Errorf("%s: nsweep %v shows what it should not:\n%s", x.what, args, both)
		}
	}
}

// TestRedisRefuses: a Redis that does not let us in, has not what we ask for, or
// will not do.
func TestRedisRefuses(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, "--requirepass", "right", "--databases", "4",
		"--user", "narrow", "on", ">"+plantedWrong, "~nsweep:*", "+ping", "+info")
	old := oldRedis(t, "5.0.14")
	env := func(url string, more ...string) []string { return append(more, "NSWEEP_REDIS_URL="+url) }
	refuseAll(t, []refusal{
		{"no password", env(srv.URL()), []string{srv.Addr(), "asks for a password", "NSWEEP_REDIS_PASSWORD"}},
		{"wrong password", env(srv.URL(), "NSWEEP_REDIS_PASSWORD="+plantedWrong), []string{srv.Addr(), "refuses the user name or password"}},
		{"wrong password in the URL", env("redis://:" + plantedWrong + "@" + srv.Addr()), []string{srv.Addr(), "refuses the user name or password"}},
		{"unknown user", env(srv.URL(), "NSWEEP_REDIS_USERNAME=nobody", "NSWEEP_REDIS_PASSWORD="+plantedWrong), []string{"refuses the user name or password"}},
		{"user without rights", env("redis://narrow:" + plantedWrong + "@" + srv.Addr() + "/1"), []string{"does not let this user do what is needed", "select"}},
		{"no such database", env("redis://:right@" + srv.Addr() + "/4"), []string{"has no database 4", "databases"}},
		{"old version", env("redis://:" + plantedWrong + "@" + old), []string{"version 5.0.14", "6.2 or newer is needed"}},
		{"nobody there", env("redis://:" + plantedWrong + "@127.0.0.1:1"), []string{"127.0.0.1:1", "connection refused"}},
	})
	if out, _ := call(t, t.TempDir(), env("redis://:right@"+srv.Addr()), codeDone, "runs"); !strings.Contains(out, "no runs") {
		t.Errorf("stored: %s", out)
	}
}

// oldRedis is a server that answers as a Redis of another version does, as far as
// anybody asks before it is told to be too old. It ends with the test.
func oldRedis(t *testing.T, version string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	info := "# Server\r\nredis_version:" + version + "\r\nredis_mode:standalone\r\nrun_id:0\r\nrole:master\r\naof_enabled:1\r\naof_last_write_status:ok\r\nmaxmemory_policy:noeviction\r\n"
	serve := func(c net.Conn) {
		defer c.Close()
		for r := bufio.NewReader(c); ; {
			words, err := readCommand(r)
			if err != nil {
				return
			}
			answer := "+OK\r\n"
			switch strings.ToUpper(words[0]) {
			case "HELLO":
				answer = "-ERR unknown command `HELLO`\r\n"
			case "PING":
				answer = "+PONG\r\n"
			case "INFO":
				answer = fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
			case "TIME":
				answer = fmt.Sprintf("*2\r\n$10\r\n%d\r\n$1\r\n0\r\n", time.Now().Unix())
			case "CONFIG", "HGETALL", "HKEYS":
				answer = "*0\r\n"
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Wait() // the clients are gone by now
	})
	return l.Addr().String()
}

// readCommand reads an array of strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	number := func(sign string) (int, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, sign)))
	}
	n, err := number("*")
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%d words, %w", n, err)
	}
	words := make([]string, n)
	for i := range words {
		size, err := number("$")
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		words[i] = string(b[:size])
	}
	return words, nil
}
