package redistest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// hang bounds the wait for one answer. A command whose answer is late would be
// sent again, and an INCR counts twice then.
const hang = 2 * time.Minute

func client(t *testing.T, s *Server) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	opt.ReadTimeout = hang
	c := redis.NewClient(opt)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestServerKeepsDataOverStopAndRestart(t *testing.T) {
	s := Start(t)
	c := client(t, s)
	ctx := context.Background()
	if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s.Stop() // a second one does nothing
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := c.Ping(short).Err(); err == nil {
		t.Fatal("a stopped server answers")
	}
	s.Restart()
	if v, err := c.Get(ctx, "k").Result(); err != nil || v != "v" {
		t.Fatalf("after restart k = %q, %v", v, err)
	}
	if v, err := c.ConfigGet(ctx, "maxmemory-policy").Result(); err != nil || v["maxmemory-policy"] != "noeviction" {
		t.Fatalf("policy %v, %v", v, err)
	}
}

func TestKillAndArgs(t *testing.T) {
	s := Start(t, "--requirepass", "secret", "--appendfsync", "always")
	opt, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	opt.Password, opt.ReadTimeout = "secret", hang
	c := redis.NewClient(opt)
	defer c.Close()
	ctx := context.Background()
	before, err := c.Incr(ctx, "k").Result()
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Restart()
	if after, err := c.Incr(ctx, "k").Result(); err != nil || after != before+1 {
		t.Fatalf("after kill and restart k = %d, %v; want %d", after, err, before+1)
	}
}
