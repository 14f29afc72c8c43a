package store

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options say where the store is and how to reach it.
type Options struct {
	// URL is one of
	//
	//	redis://[user:password@]host[:6379][/db]
	//	rediss://…                                 the same over TLS
	//	redis-socket://[user:password@]/path[?db=n]
	//	redis-sentinel://[user:password@]host:26379,host:26379/master[?db=n]
	//	rediss-sentinel://…                        the same over TLS
	//
	// It is not looked at when Dialer is set.
	URL string
	// Username and Password go before those in the URL.
	Username, Password string
	// SentinelUsername and SentinelPassword are for sentinels that ask for
	// them; they are often not those of the server.
	SentinelUsername, SentinelPassword string
	// CAFile is a PEM file of the authorities to trust, CertFile and KeyFile
	// are the client's certificate and its key. They are for TLS only.
	CAFile, CertFile, KeyFile string
	// Dialer opens connections to a server inside this or another process.
	Dialer func(ctx context.Context) (net.Conn, error)
	// Embedded says that the server behind Dialer is the embedded one, which
	// is always fit and knows no INFO.
	Embedded bool
	// Logger receives what the client library has to say, on level debug. Nil
	// means slog.Default().
	Logger *slog.Logger
}

// Store reads and writes runs. It is safe for concurrent use.
type Store struct {
	client   redis.UniversalClient
	addr     string // for people, without password
	embedded bool
	warnings []string
	closing  sync.Once
	closeErr error
}

// Open connects to the store and makes sure that it is fit to keep results: it
// answers, is Redis 6.2 or newer, no Cluster, no replica, and evicts nothing.
// Less serious things are in [Store.Warnings]. The error is *UnreachableError,
// *UnfitError, or that of ctx.
func Open(ctx context.Context, o Options) (*Store, error) {
	t, err := parseTarget(o)
	if err != nil {
		return nil, err
	}
	logTo(o.Logger)
	s := &Store{client: t.client(o), addr: t.display, embedded: o.Embedded}
	if err := s.checkFitness(ctx); err != nil {
		_ = s.client.Close() // nothing was written
		return nil, err
	}
	return s, nil
}

// Client returns the one client of the process. It belongs to the store:
// whoever borrows it does not close it.
func (s *Store) Client() redis.UniversalClient { return s.client }

// Addr returns where the store is, for people, without user and password.
func (s *Store) Addr() string { return s.addr }

// Warnings returns what Open found that is not good but no obstacle, one line
// each.
func (s *Store) Warnings() []string { return s.warnings }

// Close closes the client. Later calls do nothing.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closeErr = s.client.Close() })
	return s.closeErr
}

// Time returns the store's clock, with a precision of a microsecond. All times
// in the store are by this clock, so that the clocks of the machines do not
// matter.
func (s *Store) Time(ctx context.Context) (time.Time, error) {
	t, err := s.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("read the store's clock: %w", err)
	}
	return t, nil
}
