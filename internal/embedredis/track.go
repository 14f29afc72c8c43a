package embedredis

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// maxBehind is how far the file may be behind before writers have to wait.
const maxBehind = 800 * time.Millisecond

// tracker finds out which keys change, and takes snapshots of them.
//
// It must be right about two things. First, no change is missed: every key that
// a command writes is marked before the snapshot that first sees the write is
// taken, or a later one takes it. Second, no change is torn: a snapshot never
// holds some of the keys that a script or transaction wrote without the others.
//
// Commands come to the hook before they are executed, in two ways.
//
// A command from a connection that may write is not left to the server: the
// hook executes it itself, holding the gate for reading from before the marks
// are made until the command has been executed. A snapshot holds the gate for
// writing. So every such command, with its marks and all its writes, lies
// wholly before or wholly after a snapshot. EXEC is such a command too, and
// marks again what was queued before it, so that it does not matter whether a
// snapshot took the first marks away.
//
// A command within a script comes to the hook while the script's EVAL holds
// the gate, and is only marked: its mark and its write lie between the same
// two snapshots as all others of the script.
//
// Taken together: at a snapshot, all that was ever written is in memory, and
// for each write the mark was made after the previous snapshot exactly when
// the write was executed after it. The marked keys, read under the gate, are
// therefore all keys that changed since the previous snapshot, as they stand
// after a whole number of commands.
//
// Read-only commands pass without the gate, so readers never wait for a
// snapshot longer than for one command. Nothing waits for the gate while it
// holds the server's own lock, and the snapshot takes that lock only inside the
// gate, so the two cannot block each other.
type tracker struct {
	mini    *miniredis.Miniredis
	srv     *server.Server
	persist func(string) bool
	active  bool // there is a file

	gate  sync.RWMutex
	peers sync.Map // *server.Peer of connections → *peerState

	mu      sync.Mutex
	moved   *sync.Cond // a flush ended, or the tracker was released
	dirty   map[string]struct{}
	all     bool      // any key may have changed
	since   time.Time // of the oldest mark that no snapshot has taken
	writing time.Time // of the oldest mark in the snapshot being written
	free    bool      // nobody waits: writing fails, or the server is closing
	closed  bool
}

// peerState is what the tracker knows of a connection. Only the goroutine that
// serves the connection uses it.
type peerState struct {
	running bool     // the hook is executing the command that comes now
	multi   bool     // between MULTI and EXEC
	queued  []string // keys that EXEC will write
}

// newTracker makes the tracker of a server that has been started.
func newTracker(m *miniredis.Miniredis, persist func(string) bool, active bool) *tracker {
	t := &tracker{mini: m, srv: m.Server(), persist: persist, active: active, dirty: map[string]struct{}{}}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// hook is called before each command; true means that the command is done.
func (t *tracker) hook(p *server.Peer, cmd string, args ...string) bool {
	kind, known := commands[cmd]
	if kind == refused {
		p.WriteError("ERR " + cmd + " is not served by the embedded store")
		return true
	}
	if !t.active {
		return false
	}
	st := t.state(p)
	if st == nil { // within a script
		if kind != harmless && !(!known && t.srv.IsReadOnlyCommand(cmd)) {
			t.markCommand(kind, args)
		}
		return false
	}
	if st.running || kind == harmless || (!known && t.srv.IsReadOnlyCommand(cmd)) {
		if cmd == "MULTI" {
			st.multi = true
		}
		if cmd == "DISCARD" {
			st.multi, st.queued = false, nil
		}
		return false
	}
	if t.mine(kind, args) {
		t.wait()
	}
	t.gate.RLock()
	defer t.gate.RUnlock()
	if cmd == "EXEC" {
		t.mark(st.queued...)
		st.multi, st.queued = false, nil
	} else {
		keys := t.markCommand(kind, args)
		if st.multi {
			st.queued = append(st.queued, keys...)
		}
	}
	st.running = true
	defer func() { st.running = false }()
	t.srv.Dispatch(p, append([]string{cmd}, args...))
	return true
}

// state returns what is known of a connection, or nil for a command from
// within a script. A connection's first command finds an empty Ctx, which the
// server fills in when it executes it; a script's peer is born with one.
func (t *tracker) state(p *server.Peer) *peerState {
	if st, ok := t.peers.Load(p); ok {
		return st.(*peerState)
	}
	if p.Ctx != nil {
		return nil
	}
	st := &peerState{}
	t.peers.Store(p, st)
	p.OnDisconnect(func() { t.peers.Delete(p) })
	return st
}

// markCommand marks what a command may write and returns the keys.
func (t *tracker) markCommand(kind kind, args []string) []string {
	switch kind {
	case scripts, exec:
		return nil // what is inside comes by itself
	case firstKey:
		args = args[:min(1, len(args))]
	case everything:
		t.mu.Lock()
		t.all = true
		t.touch()
		t.mu.Unlock()
	}
	t.mark(args...)
	return args
}

func (t *tracker) mark(keys ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		if t.persist(k) {
			t.dirty[k] = struct{}{}
			t.touch()
		}
	}
}

// touch starts the clock of a new set of marks. The caller holds mu.
func (t *tracker) touch() {
	if t.since.IsZero() {
		t.since = time.Now()
	}
}

// mine reports whether a command writes, or may write, keys that are kept.
func (t *tracker) mine(kind kind, args []string) bool {
	if kind == scripts { // script, number of keys, keys
		if len(args) < 3 {
			return false
		}
		if n, err := strconv.Atoi(args[1]); err != nil || n < 1 {
			return false
		}
		return t.persist(args[2])
	}
	return len(args) > 0 && t.persist(args[0])
}

// wait holds a writer back while the file is too far behind, so that it never
// falls behind without bound.
func (t *tracker) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.free {
		oldest := t.writing
		if oldest.IsZero() {
			oldest = t.since
		}
		if oldest.IsZero() || time.Since(oldest) < maxBehind {
			return
		}
		t.moved.Wait()
	}
}

// release lets all writers go on, for good.
func (t *tracker) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed, t.free = true, true
	t.moved.Broadcast()
}

// snapshot takes the marks and the present state of the marked keys. onDisk
// are the keys that the file has.
func (t *tracker) snapshot(onDisk map[string]struct{}) snapshot {
	t.gate.Lock()
	defer t.gate.Unlock()
	t.mu.Lock()
	s := snapshot{keys: t.dirty, all: t.all, entries: map[string]entry{}}
	t.dirty, t.all = map[string]struct{}{}, false
	t.writing, t.since = t.since, time.Time{}
	t.mu.Unlock()

	db := t.mini.DB(0)
	look := func(k string) {
		if t.persist(k) {
			if e, ok := read(db, k); ok {
				s.entries[k] = e
			} else if _, there := onDisk[k]; there {
				s.entries[k] = entry{gone: true}
			}
		}
	}
	for k := range s.keys {
		look(k)
	}
	if s.all {
		for _, k := range db.Keys() {
			look(k)
		}
		for k := range onDisk {
			look(k)
		}
	}
	return s
}

// flushed notes the end of writing a snapshot. After an error its marks are
// put back, so that the next snapshot holds the keys again.
func (t *tracker) flushed(s snapshot, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		for k := range s.keys {
			t.dirty[k] = struct{}{}
		}
		t.all = t.all || s.all
		t.since = t.writing
	}
	t.writing = time.Time{}
	t.free = t.closed || err != nil
	t.moved.Broadcast()
}

// kind says what a command may write.
type kind int

const (
	allArgs    kind = iota // any argument may be a key: what is not in the list below
	firstKey               // its first argument
	scripts                // what the commands inside do
	exec                   // what was queued
	everything             // the whole database
	harmless               // no key
	refused                // not served: see refusals
)

// commands lists what is known of commands. Those that miniredis calls
// read-only and that are not here write nothing; all others that are not here
// are taken to write to any key among their arguments.
//
// Refused are commands that wait, for they would hold the gate, and those that
// give fields of a hash a time to live, for fields would vanish without a
// command.
var commands = func() map[string]kind {
	m := map[string]kind{}
	for k, names := range map[kind]string{
		firstKey: `SET SETEX PSETEX SETNX SETRANGE SETBIT APPEND INCR INCRBY INCRBYFLOAT DECR DECRBY GETSET GETDEL GETEX
			HSET HSETNX HMSET HDEL HINCRBY HINCRBYFLOAT EXPIRE EXPIREAT PEXPIRE PEXPIREAT PERSIST
			LPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LREM LSET LTRIM LINSERT SADD SREM SPOP ZADD ZREM ZINCRBY
			ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE XADD XDEL XTRIM XACK PFADD GEOADD
			RESTORE MOVE`,
		scripts:    "EVAL EVALSHA EVAL_RO EVALSHA_RO",
		exec:       "EXEC",
		everything: "FLUSHALL FLUSHDB SWAPDB",
		harmless: `AUTH CLIENT CLUSTER COMMAND DISCARD ECHO HELLO INFO MEMORY MULTI OBJECT PING PSUBSCRIBE PUBLISH PUBSUB
			PUNSUBSCRIBE QUIT SCAN SCRIPT SELECT SUBSCRIBE TIME UNSUBSCRIBE UNWATCH WATCH`,
		refused: `BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT XREAD XREADGROUP
			HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HSETEX HGETEX`,
	} {
		for _, name := range strings.Fields(names) {
			m[name] = k
		}
	}
	return m
}()
