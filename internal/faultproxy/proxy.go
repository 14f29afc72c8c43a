package faultproxy

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/ownport"
)

// dialTimeout bounds the wait for the server to accept a connection.
const dialTimeout = 2 * time.Minute

// Proxy passes connections on to a Redis server. It is safe for concurrent use.
type Proxy struct {
	target, addr string
	release      func()         // gives the port back
	conns        sync.WaitGroup // accept loop and both directions of all links

	mu       sync.Mutex
	changed  *sync.Cond
	listener net.Listener // nil while it refuses
	links    map[*link]bool
	rules    []*Rule
	silent   bool // everything is swallowed
	closed   bool
}

// Start returns a proxy to the server at target, a host:port, like [New]. It ends
// with the test.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// New returns a proxy to the server at target on a loopback port that is its own
// until Close, also while it refuses connections. The server need not run yet.
func New(target string) (*Proxy, error) {
	p := &Proxy{target: target, links: map[*link]bool{}}
	p.changed = sync.NewCond(&p.mu)
	port, release, err := ownport.Take()
	if err != nil {
		return nil, err
	}
	p.addr, p.release = net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		release()
		return nil, fmt.Errorf("listen: %w", err)
	}
	p.serve(l)
	return p, nil
}

// Addr returns the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.addr }

// URL returns the address as redis://host:port/0.
func (p *Proxy) URL() string { return "redis://" + p.addr + "/0" }

// Break adds a rule: of the commands that match, the first skip pass, the next
// times are broken, the others pass; times = 0 breaks all. The first rule that
// breaks a command decides.
func (p *Proxy) Break(f Fault, m Match, skip, times int) *Rule {
	r := &Rule{match: m, fault: f, skip: skip, times: times}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
	return r
}

// Count adds a rule that breaks nothing and counts what matches.
func (p *Proxy) Count(m Match) *Rule { return p.Break(Fault{}, m, 0, 0) }

// Cut closes every connection; new ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// cut closes every connection. The caller holds the lock.
func (p *Proxy) cut() {
	for l := range p.links {
		l.close()
	}
	p.changed.Broadcast()
}

// Refuse closes every connection and refuses new ones until Heal.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.cut()
}

// Blackhole swallows everything in both directions until Heal: connections
// stay open, and new ones are accepted, but no byte passes. What was sent
// meanwhile arrives after Heal, as it does when a cable is plugged in again.
func (p *Proxy) Blackhole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
}

// Heal ends Refuse and Blackhole. Rules stay.
func (p *Proxy) Heal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = false
	p.changed.Broadcast()
	if p.listener != nil || p.closed {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("listen again: %w", err)
	}
	p.serve(l)
	return nil
}

// Close ends the proxy and waits for its goroutines.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed, p.silent = true, false
	p.mu.Unlock()
	p.Refuse()
	p.conns.Wait()
	p.release()
}

// serve accepts connections on l. The caller holds the lock, or is alone.
func (p *Proxy) serve(l net.Listener) {
	p.listener = l
	p.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed by Refuse
			}
			p.mu.Lock()
			if p.listener != l {
				p.mu.Unlock()
				c.Close()
				return
			}
			k := &link{proxy: p, client: c, broken: make(chan struct{})}
			p.links[k] = true
			p.conns.Go(k.run)
			p.mu.Unlock()
		}
	})
}

// fault asks the rules about a command.
func (p *Proxy) fault(c Command) Fault {
	p.mu.Lock()
	rules := slices.Clone(p.rules)
	p.mu.Unlock()
	for _, r := range rules {
		if f := r.hit(c); f.kind != pass {
			return f
		}
	}
	return Fault{}
}

// gate waits while the proxy swallows everything. It reports false when the
// link is broken.
func (p *Proxy) gate(k *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.silent && !k.isBroken() {
		p.changed.Wait()
	}
	return !k.isBroken()
}

// link is one connection of a client with the one to the server behind it.
type link struct {
	proxy  *Proxy
	client net.Conn

	once   sync.Once
	broken chan struct{}

	mu         sync.Mutex
	server     net.Conn
	due        []faultKind // what happens to the replies that are due, in order
	subscribed bool        // replies no longer match commands one by one
}

func (k *link) isBroken() bool {
	select {
	case <-k.broken:
		return true
	default:
		return false
	}
}

// close ends both connections. The goroutines of the link notice.
func (k *link) close() {
	k.once.Do(func() { close(k.broken) })
	k.client.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server != nil {
		k.server.Close()
	}
}

func (k *link) run() {
	defer func() {
		k.close()
		k.proxy.mu.Lock()
		defer k.proxy.mu.Unlock()
		delete(k.proxy.links, k)
		k.proxy.changed.Broadcast()
	}()
	if !k.proxy.gate(k) {
		return
	}
	server, err := net.DialTimeout("tcp", k.proxy.target, dialTimeout)
	if err != nil {
		return
	}
	k.mu.Lock()
	k.server = server
	k.mu.Unlock()
	if k.isBroken() {
		server.Close()
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		defer k.close()
		defer k.wake()
		k.replies(server)
	})
	k.commands(server)
	k.close()
	k.wake()
	back.Wait()
}

// wake lets goroutines of this link that wait at the gate see that it is
// broken.
func (k *link) wake() {
	k.once.Do(func() { close(k.broken) })
	k.proxy.mu.Lock()
	defer k.proxy.mu.Unlock()
	k.proxy.changed.Broadcast()
}

// commands passes on what the client says until either side ends.
func (k *link) commands(server net.Conn) {
	r := bufio.NewReader(k.client)
	for {
		c, raw, err := readCommand(r)
		if err != nil || !k.proxy.gate(k) {
			return
		}
		f := k.proxy.fault(c)
		switch f.kind {
		case reset:
			return
		case hold:
			t := time.NewTimer(f.wait)
			select {
			case <-t.C:
			case <-k.broken:
				t.Stop()
				return
			}
		}
		if len(c) > 0 {
			k.mu.Lock()
			k.due = append(k.due, f.kind)
			k.subscribed = k.subscribed || Named("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR")(c)
			k.mu.Unlock()
		}
		if _, err := server.Write(raw); err != nil {
			return
		}
	}
}

// replies passes on what the server says until either side ends.
func (k *link) replies(server net.Conn) {
	r := bufio.NewReader(server)
	mute := false
	for {
		raw, err := readReply(r)
		if err != nil || !k.proxy.gate(k) {
			return
		}
		k.mu.Lock()
		kind := pass
		if !k.subscribed && len(k.due) > 0 {
			kind, k.due = k.due[0], k.due[1:]
		}
		k.mu.Unlock()
		switch {
		case kind == loseReply:
			return
		case kind == swallow:
			mute = true
		}
		if mute {
			continue
		}
		if _, err := k.client.Write(raw); err != nil {
			return
		}
	}
}
