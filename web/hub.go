package web

import (
	"context"
	"errors"
	"sync"
	"time"
)

// interestLasts is how long a page without a stream counts as watched.
const interestLasts = 15 * time.Second

// errBusy says that there are as many streams as are allowed.
var errBusy = errors.New("too many open streams")

// hub stands between the poller and all viewers. Publishing never waits for a
// viewer.
type hub struct {
	most, mostPer int
	now           func() time.Time
	// kick asks the poller for a snapshot at once.
	kick chan struct{}

	mu       sync.Mutex
	latest   *Snapshot
	changed  chan struct{} // closed with the next snapshot
	viewers  map[*viewer]struct{}
	perAddr  map[string]int
	interest map[string]time.Time // by run; "" is the list of runs
	closed   chan struct{}
	refused  int64
	skipped  int64
}

// viewer is one open stream. It belongs to the goroutine that joined.
type viewer struct {
	hub       *hub
	run, addr string
	// wake holds at most one signal: there is a newer snapshot.
	wake chan struct{}
}

func newHub(most, mostPer int, now func() time.Time) *hub {
	return &hub{most: most, mostPer: mostPer, now: now, kick: make(chan struct{}, 1), changed: make(chan struct{}),
		viewers: map[*viewer]struct{}{}, perAddr: map[string]int{}, interest: map[string]time.Time{}, closed: make(chan struct{})}
}

// publish makes s the latest snapshot and wakes everybody.
func (h *hub) publish(s *Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest = s
	close(h.changed)
	h.changed = make(chan struct{})
	for v := range h.viewers {
		select {
		case v.wake <- struct{}{}:
		default:
			h.skipped++ // it is still busy with an older one
		}
	}
}

// current returns the latest snapshot; nil before the first.
func (h *hub) current() *Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest
}

// join adds a viewer of a run, or of the list of runs. The error is errBusy.
func (h *hub) join(run, addr string) (*viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) >= h.most || h.perAddr[addr] >= h.mostPer {
		h.refused++
		return nil, errBusy
	}
	v := &viewer{hub: h, run: run, addr: addr, wake: make(chan struct{}, 1)}
	v.wake <- struct{}{}
	h.viewers[v] = struct{}{}
	h.perAddr[addr]++
	h.ask()
	return v, nil
}

func (v *viewer) leave() {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	delete(v.hub.viewers, v)
	if v.hub.perAddr[v.addr]--; v.hub.perAddr[v.addr] <= 0 {
		delete(v.hub.perAddr, v.addr)
	}
}

// ask has the poller look at the store at once.
func (h *hub) ask() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// look notes that somebody looks at a run, or at the list, without a stream.
func (h *hub) look(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.interest[run] = h.now()
}

// watched returns whether anybody looks, and the runs that are looked at.
func (h *hub) watched() (bool, map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	runs := map[string]bool{}
	for v := range h.viewers {
		runs[v.run] = true
	}
	for run, at := range h.interest {
		if h.now().Sub(at) > interestLasts {
			delete(h.interest, run)
		} else {
			runs[run] = true
		}
	}
	return len(runs) > 0, runs
}

// until waits for a snapshot that ok accepts, at most d, and returns the
// latest in any case; it is nil when there has been none.
func (h *hub) until(ctx context.Context, d time.Duration, ok func(*Snapshot) bool) *Snapshot {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		h.mu.Lock()
		s, changed := h.latest, h.changed
		h.mu.Unlock()
		if s != nil && ok(s) {
			return s
		}
		h.ask()
		select {
		case <-changed:
		case <-timer.C:
			return s
		case <-ctx.Done():
			return s
		case <-h.closed:
			return s
		}
	}
}

// close ends all streams. It is called once.
func (h *hub) close() { close(h.closed) }

// stats returns the number of viewers, of streams refused, and of snapshots
// that a busy viewer never saw.
func (h *hub) stats() (viewers int, refused, skipped int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers), h.refused, h.skipped
}
