package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/store"
)

func TestFindings(t *testing.T) {
	good := store.Fitness{Version: "7.0.15", AOF: true, Policy: "noeviction", Mode: "standalone", Role: "master", Fsync: "everysec"}
	for _, c := range []struct {
		what   string
		change func(*store.Fitness)
		check  string // the only one that is not fit
		want   store.Verdict
		text   string
	}{
		{"fit", func(*store.Fitness) {}, "", "", ""},
		{"oldest", func(f *store.Fitness) { f.Version = "6.2.0" }, "", "", ""},
		{"embedded", func(f *store.Fitness) { f.Version, f.Mode = "embedded", "embedded" }, "", "", ""},
		{"no CONFIG", func(f *store.Fitness) { f.Fsync = "" }, "", "", ""},
		{"old", func(f *store.Fitness) { f.Version = "6.0.16" }, "version", store.Unfit, "6.0.16: 6.2 or newer"},
		{"no version", func(f *store.Fitness) { f.Version = "" }, "version", store.Unfit, "6.2 or newer"},
		{"cluster", func(f *store.Fitness) { f.Mode = "cluster" }, "kind", store.Unfit, "Redis Cluster"},
		{"sentinel", func(f *store.Fitness) { f.Mode = "sentinel" }, "kind", store.Unfit, "redis-sentinel://"},
		{"replica", func(f *store.Fitness) { f.Role = "slave" }, "role", store.Unfit, "replica"},
		{"evicts", func(f *store.Fitness) { f.Policy = "volatile-ttl" }, "eviction", store.Unfit, "volatile-ttl"},
		{"no AOF", func(f *store.Fitness) { f.AOF = false }, "persistence", store.Warning, "appendonly yes"},
		{"full disk", func(f *store.Fitness) { f.AOFError = true }, "persistence", store.Warning, "disk full"},
		{"no fsync", func(f *store.Fitness) { f.Fsync = "no" }, "persistence", store.Warning, "appendfsync everysec"},
	} {
		f := good
		c.change(&f)
		seen := map[string]bool{}
		for _, x := range f.Findings() {
			if seen[x.Check] || x.Text == "" {
				t.Errorf("%s: finding %+v", c.what, x)
			}
			seen[x.Check] = true
			switch {
			case x.Check == c.check && (x.Verdict != c.want || !strings.Contains(x.Text, c.text)):
				t.Errorf("%s: %+v, want %s with %q", c.what, x, c.want, c.text)
			case x.Check != c.check && x.Verdict != store.Fit:
				t.Errorf("%s: %+v is not fit", c.what, x)
			}
		}
		if len(seen) != 5 {
			t.Errorf("%s: %d findings", c.what, len(seen))
		}
	}
}

// TestExamine measures both kinds of servers, and an unchecked store opens where
// nobody answers.
func TestExamine(t *testing.T) {
	ctx := context.Background()
	for name, s := range map[string]*store.Store{"embedded": openEmbedded(t), "redis": openRedis(t, redistest.Start(t))} {
		if err := s.Reach(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		begin := time.Now()
		if d, err := s.Latency(ctx, 3); err != nil || d <= 0 || d > time.Since(begin) {
			t.Errorf("%s: latency %s, %v", name, d, err)
		}
		if d, err := s.Latency(ctx, 0); err != nil || d <= 0 {
			t.Errorf("%s: latency %s of no pings, %v", name, d, err)
		}
		// The same machine has one clock; what the answer takes may be counted.
		begin = time.Now()
		if off, err := s.ClockOffset(ctx); err != nil || off.Abs() > time.Since(begin)+time.Second {
			t.Errorf("%s: clock off by %s, %v", name, off, err)
		}
	}
	s, err := store.Open(ctx, store.Options{Addrs: []string{"127.0.0.1:1"}, Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Reach(ctx); err == nil {
		t.Error("nobody is there and answers")
	}
	if _, err := s.Latency(ctx, 3); err == nil {
		t.Error("nobody is there and has a latency")
	}
	if _, err := s.ClockOffset(ctx); err == nil {
		t.Error("nobody is there and has a clock")
	}
}
