package store_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/ownport"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/store"
)

// unfit opens a store that must be refused for a reason.
func unfit(t *testing.T, o store.Options, reason string) {
	t.Helper()
	s, err := store.Open(context.Background(), o)
	if err == nil {
		s.Close()
	}
	var u *store.UnfitError
	if !errors.As(err, &u) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
		t.Errorf("want unfit because of %q, got %v", reason, err)
	}
}

func TestFitness(t *testing.T) {
	server := redistest.Start(t, "--maxmemory", "200mb")
	s := openRedis(t, server)
	f, err := s.Fitness(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.RunID) != 40 || !f.AOF || f.AOFError || f.Policy != "noeviction" || f.MaxMemory != 200<<20 || f.UsedMemory < 100_000 || f.Mode != "standalone" || f.Role != "master" {
		t.Errorf("%+v", f)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
	server.Restart()
	if g, err := s.Fitness(context.Background()); err != nil || g.RunID == f.RunID {
		t.Errorf("after a restart: %+v, %v", g, err)
	}
	before := time.Now()
	now, err := s.Time(context.Background())
	if d := now.Sub(before); err != nil || d < -time.Second || d > time.Since(before)+time.Second {
		t.Errorf("the clock differs by %v, %v", d, err)
	}
}

func TestUnfit(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
	}{
		{"maxmemory-policy allkeys-lru", []string{"--maxmemory-policy", "allkeys-lru"}},
		{"Redis Cluster", []string{"--cluster-enabled", "yes"}},
		{"asks for a password", []string{"--requirepass", "secret"}},
		{"read-only replica", []string{"--replicaof", "127.0.0.1", "1"}},
	} {
		server := redistest.Start(t, c.args...)
		unfit(t, store.Options{Addrs: []string{server.Addr()}}, c.reason)
	}
	server := redistest.Start(t, "--requirepass", "other", "--user", "reader", "on", ">secret", "~*", "+ping", "--appendonly", "no")
	addr := []string{server.Addr()}
	unfit(t, store.Options{Addrs: addr, Password: "secret"}, "refuses the user name or password")
	unfit(t, store.Options{Addrs: addr, Username: "nobody", Password: "secret"}, "refuses the user name or password")
	unfit(t, store.Options{Addrs: addr, Username: "reader", Password: "secret"}, "does not let this user")
	unfit(t, store.Options{}, "needs one address")
	unfit(t, store.Options{Addrs: []string{"a:1", "b:2"}}, "needs one address")
	unfit(t, store.Options{Master: "m"}, "no sentinel")

	s, err := store.Open(context.Background(), store.Options{Addrs: addr, Password: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "appendonly yes") || strings.Contains(w[0], "other") {
		t.Errorf("warnings %q", w)
	}
}

func TestUnreachable(t *testing.T) {
	port, release, err := ownport.Take()
	if err != nil {
		t.Fatal(err)
	}
	defer release() // until then nobody listens there
	addr := fmt.Sprint("127.0.0.1:", port)
	var u *store.UnreachableError
	for what, o := range map[string]store.Options{
		"port":     {Addrs: []string{addr}, Password: "secret"},
		"socket":   {Addrs: []string{filepath.Join(t.TempDir(), "none")}, Unix: true},
		"sentinel": {Addrs: []string{addr}, Master: "m", SentinelPassword: "secret"},
		// The client joins what it heard from each of them with line breaks.
		"sentinels": {Addrs: []string{addr, "127.0.0.1:1"}, Master: "m", SentinelPassword: "secret"},
	} {
		_, err := store.Open(context.Background(), o)
		if !errors.As(err, &u) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := store.Open(ctx, store.Options{Addrs: []string{addr}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// works opens a store and writes to it.
func works(t *testing.T, o store.Options) {
	t.Helper()
	s, err := store.Open(context.Background(), o)
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	if err := s.Client().Set(context.Background(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
}

func TestSocketAndACL(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "s")
	redistest.Start(t, "--unixsocket", sock, "--user", "nsweep", "on", ">secret", "~nsweep:*", "~asynq:*", "~k", "&*", "+@all", "-@admin", "-config")
	works(t, store.Options{Addrs: []string{sock}, Unix: true})
	// No right to CONFIG, and to the keys that are needed only.
	works(t, store.Options{Addrs: []string{sock}, Unix: true, Username: "nsweep", Password: "secret"})
}

func TestSentinel(t *testing.T) {
	server := redistest.Start(t)
	sentinel := redistest.StartSentinel(t, server, "mymaster", 1)
	works(t, store.Options{Addrs: []string{sentinel.Addr()}, Master: "mymaster"})
	unfit(t, store.Options{Addrs: []string{sentinel.Addr()}}, "is a sentinel")
}

func TestTLS(t *testing.T) {
	ca := redistest.NewAuthority(t)
	server := redistest.StartTLS(t, ca)
	addr := []string{server.Addr()}
	works(t, store.Options{Addrs: addr, TLS: ca.TLSConfig(ca.Issue("client"))})
	// An authority that the client does not know.
	var u *store.UnreachableError
	if _, err := store.Open(context.Background(), store.Options{Addrs: addr, TLS: &tls.Config{}}); !errors.As(err, &u) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: %v", err)
	}
}
