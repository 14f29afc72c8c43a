package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/leaks"
	"github.com/nsweep/nsweep/internal/redistest"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// hang bounds the wait for a reply that must come.
const hang = 2 * time.Minute

// client is a connection that speaks the protocol by hand.
type client struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(args ...string) {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c.c, b.String()); err != nil {
		c.t.Fatal(err)
	}
}

// reply returns the next reply, waiting at most d.
func (c *client) reply(d time.Duration) (string, error) {
	c.c.SetReadDeadline(time.Now().Add(d))
	b, err := readReply(c.r)
	return string(b), err
}

// do sends a command and expects the reply.
func (c *client) do(want string, args ...string) {
	c.t.Helper()
	c.send(args...)
	if got, err := c.reply(hang); err != nil || got != want {
		c.t.Fatalf("%v: %q, %v; want %q", args, got, err, want)
	}
}

// broken expects the connection to end without another reply.
func (c *client) broken() {
	c.t.Helper()
	if got, err := c.reply(hang); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("got %q, %v; want a closed connection", got, err)
	}
}

func setUp(t *testing.T) (*Proxy, string) {
	srv := redistest.Start(t)
	return Start(t, srv.Addr()), srv.Addr()
}

func TestPasses(t *testing.T) {
	p, _ := setUp(t)
	seen := p.Count(Any)
	c := dial(t, p.Addr())
	c.do("+OK\r\n", "SET", "k", "v\r\nw")
	c.do("$4\r\nv\r\nw\r\n", "GET", "k")
	c.do("$-1\r\n", "GET", "none")
	c.do("*2\r\n$4\r\nv\r\nw\r\n$-1\r\n", "MGET", "k", "none")
	c.do("*2\r\n:1\r\n*2\r\n:2\r\n$1\r\nx\r\n", "EVAL", "return {1,{2,'x'}}", "0")
	big := strings.Repeat("x", 1<<20)
	c.do("+OK\r\n", "SET", "big", big)
	c.do(fmt.Sprintf("$%d\r\n%s\r\n", len(big), big), "GET", "big")
	// Commands sent together get their replies in order.
	c.send("INCR", "i")
	c.send("INCR", "i")
	for i := 1; i <= 2; i++ {
		if got, err := c.reply(hang); err != nil || got != fmt.Sprintf(":%d\r\n", i) {
			t.Fatalf("reply %d is %q, %v", i, got, err)
		}
	}
	io.WriteString(c.c, "PING\r\n") // a command as a line
	if got, err := c.reply(hang); err != nil || got != "+PONG\r\n" {
		t.Fatalf("PING: %q, %v", got, err)
	}
	if seen.Seen() != 10 || seen.Fired() != 10 {
		t.Errorf("saw %d commands, want 10", seen.Seen())
	}
}

func TestSubscription(t *testing.T) {
	p, addr := setUp(t)
	c, d := dial(t, p.Addr()), dial(t, addr)
	c.do("*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n", "SUBSCRIBE", "ch")
	for range 3 {
		d.do(":1\r\n", "PUBLISH", "ch", "hi")
		if got, err := c.reply(hang); err != nil || !strings.Contains(got, "hi") {
			t.Fatalf("message %q, %v", got, err)
		}
	}
}

// TestKthCommand: a rule breaks just the commands it says, whichever
// connection they come on.
func TestKthCommand(t *testing.T) {
	p, addr := setUp(t)
	r := p.Break(LoseReply(), All(Named("INCR"), Keyed("k")), 1, 1)
	c := dial(t, p.Addr())
	c.do(":1\r\n", "INCR", "k")
	c.do(":1\r\n", "INCR", "other")
	c.send("INCR", "k")
	c.broken()
	if r.Fired() != 1 || r.Seen() != 2 {
		t.Errorf("fired %d of %d", r.Fired(), r.Seen())
	}
	// The server has done it.
	dial(t, addr).do("$1\r\n2\r\n", "GET", "k")
	dial(t, p.Addr()).do(":3\r\n", "INCR", "k")
}

func TestReset(t *testing.T) {
	p, addr := setUp(t)
	r := p.Break(Reset(), Named("INCR"), 0, 0)
	c := dial(t, p.Addr())
	c.send("INCR", "k")
	c.broken()
	dial(t, addr).do("$-1\r\n", "GET", "k") // the server has not seen it
	r.Stop()
	dial(t, p.Addr()).do(":1\r\n", "INCR", "k")
	if r.Fired() != 1 || r.Seen() != 2 {
		t.Errorf("fired %d of %d", r.Fired(), r.Seen())
	}
}

func TestSwallow(t *testing.T) {
	p, addr := setUp(t)
	p.Break(Swallow(), Named("INCR"), 0, 1)
	c := dial(t, p.Addr())
	c.send("INCR", "k")
	c.send("INCR", "k")
	// The server has done both, and says so to nobody.
	for d, end := dial(t, addr), time.Now().Add(hang); ; {
		d.send("GET", "k")
		got, err := d.reply(hang)
		if err != nil || time.Now().After(end) {
			t.Fatalf("the server has %q, %v", got, err)
		}
		if got == "$1\r\n2\r\n" {
			break
		}
	}
	if got, err := c.reply(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %q, %v; want nothing", got, err)
	}
	dial(t, p.Addr()).do(":3\r\n", "INCR", "k")
}

func TestHold(t *testing.T) {
	p, _ := setUp(t)
	p.Break(Hold(60*time.Millisecond), Named("INCR"), 0, 1)
	c := dial(t, p.Addr())
	begin := time.Now()
	c.do(":1\r\n", "INCR", "k")
	if d := time.Since(begin); d < 60*time.Millisecond {
		t.Errorf("held for %s only", d)
	}
}

func TestScriptKeys(t *testing.T) {
	c := Command{"evalsha", "abc", "2", "q:pending", "q:active", "x:pending"}
	for _, x := range []struct {
		m    Match
		want bool
	}{
		{Keyed(":pending", ":active"), true}, {Keyed(":active"), true}, {Keyed(":active", ":pending"), false},
		{Keyed("x:pending"), false}, {Named("EVALSHA", "EVAL"), true}, {Named("GET"), false}, {All(Any, Keyed(":active")), true},
	} {
		if got := x.m(c); got != x.want {
			t.Errorf("match is %t, want %t", got, x.want)
		}
	}
	for _, c := range []Command{{}, {"EVAL"}, {"EVAL", "s", "x"}, {"EVAL", "s", "3", "a"}, {"EVAL", "s", "-1"}} {
		if k := c.Keys(); len(k) != 0 {
			t.Errorf("%q has keys %q", c, k)
		}
	}
}

func TestCutRefuseHeal(t *testing.T) {
	p, _ := setUp(t)
	c := dial(t, p.Addr())
	c.do("+PONG\r\n", "PING")
	p.Cut()
	c.broken()
	c = dial(t, p.Addr())
	c.do("+PONG\r\n", "PING")
	p.Refuse()
	p.Refuse()
	c.broken()
	if x, err := net.Dial("tcp", p.Addr()); err == nil {
		x.Close()
		t.Fatal("a connection was accepted")
	}
	for range 2 {
		if err := p.Heal(); err != nil {
			t.Fatal(err)
		}
	}
	dial(t, p.Addr()).do("+PONG\r\n", "PING")
}

func TestBlackhole(t *testing.T) {
	p, addr := setUp(t)
	old := dial(t, p.Addr())
	old.do("+PONG\r\n", "PING")
	p.Blackhole()
	fresh := dial(t, p.Addr())
	for i, c := range []*client{old, fresh} {
		c.send("INCR", "k")
		if got, err := c.reply(30 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("client %d got %q, %v; want silence", i, got, err)
		}
	}
	dial(t, addr).do("$-1\r\n", "GET", "k")
	if err := p.Heal(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{old, fresh} {
		if got, err := c.reply(hang); err != nil || !strings.HasPrefix(got, ":") {
			t.Fatalf("after healing: %q, %v", got, err)
		}
	}
	p.Blackhole()
	old.send("PING")
	p.Close() // also while everything is swallowed
	old.broken()
}

// TestServerGone: connections end with the server's, and work again when it is
// back.
func TestServerGone(t *testing.T) {
	srv := redistest.Start(t)
	p := Start(t, srv.Addr())
	c := dial(t, p.Addr())
	c.do("+PONG\r\n", "PING")
	srv.Kill()
	c.broken()
	dial(t, p.Addr()).broken()
	srv.Restart()
	dial(t, p.Addr()).do("+PONG\r\n", "PING")
}

func FuzzReadCommand(f *testing.F) {
	for _, s := range []string{"PING\r\n", "*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "*-1\r\n", "*1\r\n$-1\r\n", "\n", "*1\r\n:1\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<12 {
			return
		}
		c, raw, err := readCommand(bufio.NewReader(strings.NewReader(string(b))))
		if err == nil && !strings.HasPrefix(string(b), string(raw)) {
			t.Errorf("raw bytes %q are not what came: %q", raw, b)
		}
		if err == nil {
			c.Keys()
		}
	})
}
