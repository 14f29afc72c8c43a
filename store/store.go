package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Store reads and writes runs. It is safe for concurrent use.
type Store struct {
	client   redis.UniversalClient
	where    string // for people, without password
	how      approach
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
	logTo(o.Logger)
	client, err := connect(o)
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, where: o.where(), how: o.approach(), embedded: o.Embedded}
	if o.Unchecked {
		return s, nil
	}
	// The client heeds ctx between two answers, not while it waits for one.
	unwatch := context.AfterFunc(ctx, func() { _ = s.Close() })
	err = s.checkFitness(ctx)
	if !unwatch() {
		err = fmt.Errorf("open %s: %w", s.where, ctx.Err())
	}
	if err != nil {
		_ = s.Close() // nothing was written
		return nil, err
	}
	return s, nil
}

// Client returns the one client of the process. It belongs to the store:
// whoever borrows it does not close it.
func (s *Store) Client() redis.UniversalClient { return s.client }

// Where names the store for people, without user and password.
func (s *Store) Where() string { return s.where }

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
