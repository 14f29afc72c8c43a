package faultproxy

import (
	"strings"
	"sync"
	"time"
)

// Match says whether a rule is about a command. It must not block.
type Match func(Command) bool

// Any matches every command.
func Any(Command) bool { return true }

// Named matches commands by their names in upper case.
func Named(names ...string) Match {
	return func(c Command) bool {
		for _, n := range names {
			if c.Name() == n {
				return true
			}
		}
		return false
	}
}

// Keyed matches a command whose keys contain, in this order, one that ends with
// each of the suffixes: Keyed(":pending", ":active") is a script over those two
// keys, perhaps with others.
func Keyed(suffixes ...string) Match {
	return func(c Command) bool {
		want := suffixes
		for _, k := range c.Keys() {
			if len(want) > 0 && strings.HasSuffix(k, want[0]) {
				want = want[1:]
			}
		}
		return len(want) == 0
	}
}

// All matches what every one of the parts matches.
func All(parts ...Match) Match {
	return func(c Command) bool {
		for _, m := range parts {
			if !m(c) {
				return false
			}
		}
		return true
	}
}

// Fault is what happens to a command.
type Fault struct {
	kind faultKind
	wait time.Duration
}

type faultKind int

const (
	pass faultKind = iota
	reset
	loseReply
	swallow
	hold
)

// Reset closes the connection instead of passing the command on: the server
// never sees it.
func Reset() Fault { return Fault{kind: reset} }

// LoseReply passes the command on, waits for the reply, and closes the
// connection instead of delivering it: the server has done what the client
// does not know of.
func LoseReply() Fault { return Fault{kind: loseReply} }

// Swallow passes the command on and never delivers the reply, nor anything
// after it: the client waits until its own patience ends.
func Swallow() Fault { return Fault{kind: swallow} }

// Hold passes the command on after a while. Others on the same connection wait
// behind it.
func Hold(d time.Duration) Fault { return Fault{kind: hold, wait: d} }

// Rule breaks some of the commands that it matches. It is safe for concurrent
// use.
type Rule struct {
	match Match
	fault Fault

	mu          sync.Mutex
	skip, times int
	seen, fired int
	off         bool
}

// Seen returns how many commands matched so far.
func (r *Rule) Seen() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// Fired returns how many commands were broken so far.
func (r *Rule) Fired() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fired
}

// Stop lets all further commands pass. They are still counted as seen.
func (r *Rule) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.off = true
}

// hit counts a command and returns what to do with it.
func (r *Rule) hit(c Command) Fault {
	if !r.match(c) {
		return Fault{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen++
	if r.off || r.seen <= r.skip || (r.times > 0 && r.fired >= r.times) {
		return Fault{}
	}
	r.fired++
	return r.fault
}
