package store_test

import (
	"context"
	"testing"

	"github.com/nsweep/nsweep/internal/embedredis"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/store"
	"github.com/nsweep/nsweep/store/storetest"
)

// openEmbedded opens a store on an empty in-memory server.
func openEmbedded(t *testing.T) *store.Store {
	m, err := embedredis.Open(embedredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s, err := store.Open(context.Background(), store.Options{Embedded: true, Dialer: m.Dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openRedis(t testing.TB, server *redistest.Server) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{Addrs: []string{server.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestEmbedded(t *testing.T) { storetest.Run(t, openEmbedded) }

func TestRedis(t *testing.T) {
	server := redistest.Start(t)
	storetest.Run(t, func(t *testing.T) *store.Store {
		s := openRedis(t, server)
		if err := s.Client().FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		return s
	})
}
