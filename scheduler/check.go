package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/nsweep/nsweep/jobs"
)

// checkLoop runs a Checker in a goroutine of its own, so that reading millions
// of values never keeps tasks from being given out. It always works on the
// newest ledger it was offered.
type checkLoop struct {
	check  Checker
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
	kick   chan struct{} // capacity 1: there is something to look at
	woke   chan struct{} // capacity 1: a check ended

	mu      sync.Mutex
	offered map[string]*jobs.Ledger
	final   map[string]*jobs.Ledger // ledgers to finish with, or nil
	result  []byte
	err     error // *jobs.HaltError
	busy    bool
}

func newCheckLoop(c Checker, log *slog.Logger) *checkLoop {
	ctx, cancel := context.WithCancel(context.Background())
	k := &checkLoop{check: c, log: log, cancel: cancel, kick: make(chan struct{}, 1), woke: make(chan struct{}, 1),
		offered: map[string]*jobs.Ledger{}}
	k.done.Go(func() { k.run(ctx) })
	return k
}

func (k *checkLoop) close() {
	k.cancel()
	k.done.Wait()
	k.check.Close()
}

// offer hands over a newer ledger.
func (k *checkLoop) offer(sweep string, l *jobs.Ledger) {
	k.mu.Lock()
	k.offered[sweep] = l
	k.mu.Unlock()
	signal(k.kick)
}

// halted returns the reason to halt the run, or nil.
func (k *checkLoop) halted() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// finish asks for the result with complete ledgers. It returns false until it
// is there; the caller asks again with ledgers read anew each time.
func (k *checkLoop) finish(ledgers map[string]*jobs.Ledger) ([]byte, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.result != nil {
		return k.result, true, nil
	}
	if k.final == nil && !k.busy {
		k.final = ledgers
		signal(k.kick)
	}
	return nil, false, nil
}

func (k *checkLoop) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		}
		k.mu.Lock()
		offered, final := k.offered, k.final
		k.offered, k.final = map[string]*jobs.Ledger{}, nil
		k.busy = true
		k.mu.Unlock()

		var err error
		var result []byte
		for sweep, l := range offered {
			if err = k.check.Advance(ctx, sweep, l); err != nil {
				break
			}
		}
		if err == nil && final != nil {
			result, err = k.check.Finish(ctx, final)
		}
		k.mu.Lock()
		k.busy = false
		var halt *jobs.HaltError
		switch {
		case errors.As(err, &halt):
			k.err = halt
		case err != nil && ctx.Err() == nil:
			// The store was out of reach: go on with the next ledger, and at
			// the latest when the feeder asks for the result.
			k.log.Warn("check put off", "err", err)
		case result != nil:
			k.result = result
		}
		k.mu.Unlock()
		signal(k.woke)
	}
}

// signal wakes the receiver of a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
