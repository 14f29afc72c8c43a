package web

import (
	"net"
	"sync"
	"time"
)

// limiter allows each address some tries at once and one more every so often.
// It remembers a bounded number of addresses.
type limiter struct {
	burst int
	every time.Duration
	now   func() time.Time

	mu   sync.Mutex
	used map[string]bucket
}

type bucket struct {
	used float64
	at   time.Time
}

// maxBuckets bounds the memory of a limiter. When it is full of addresses that
// have tries on them, newcomers share one.
const maxBuckets = 1024

func newLimiter(burst int, every time.Duration, now func() time.Time) *limiter {
	return &limiter{burst: burst, every: every, now: now, used: map[string]bucket{}}
}

func (l *limiter) level(addr string) (key string, b bucket) {
	now := l.now()
	key = addr
	if _, ok := l.used[addr]; !ok && len(l.used) >= maxBuckets {
		for k, b := range l.used {
			if now.Sub(b.at) > time.Duration(b.used*float64(l.every)) {
				delete(l.used, k)
			}
		}
		if len(l.used) >= maxBuckets {
			key = "others"
		}
	}
	b = l.used[key]
	b.used = max(0, b.used-float64(now.Sub(b.at))/float64(l.every))
	b.at = now
	return key, b
}

// allowed reports whether the address has a try left.
func (l *limiter) allowed(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, b := l.level(addr)
	return b.used+1 <= float64(l.burst)
}

// spend takes a try from the address.
func (l *limiter) spend(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, b := l.level(addr)
	b.used++
	l.used[key] = b
}

// capped is a listener with a bounded number of open connections. Those beyond
// are closed at once, so that the ones there are go on being served.
type capped struct {
	net.Listener
	slots chan struct{}
}

func newCapped(l net.Listener, n int) *capped { return &capped{l, make(chan struct{}, n)} }

func (c *capped) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case c.slots <- struct{}{}:
			return &cappedConn{Conn: conn, free: func() { <-c.slots }}, nil
		default:
			_ = conn.Close() // refused
		}
	}
}

type cappedConn struct {
	net.Conn
	once sync.Once
	free func()
}

func (c *cappedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.free)
	return err
}
