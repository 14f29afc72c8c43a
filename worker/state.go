package worker

import (
	"context"
	"sync"
	"time"
)

// stateBox holds the last state an engine offered until the heartbeat saves
// it. The engine's goroutine puts, the heartbeat's flushes.
type stateBox struct {
	mu     sync.Mutex
	key    string
	state  []byte // offered and not saved yet
	stored bool   // the store holds a state under key
}

// loaded notes the key of the work that begins, and whether the store has a
// state of it.
func (b *stateBox) loaded(key string, stored bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key, b.state, b.stored = key, nil, stored
}

// put takes an offered state. The engine may reuse its memory.
func (b *stateBox) put(key string, state []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key, b.state = key, append(b.state[:0], state...)
}

// flush saves the offered state. At the end of a task it saves for the next
// attempt when the task was cut short (the context is cancelled), and drops
// what is stored when the work is done.
func (b *stateBox) flush(ctx context.Context, j *job, running bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st, run := j.worker.store, j.task.Run
	short := ctx.Err() != nil
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.worker.opts.FlushTimeout)
	defer cancel()
	switch {
	case b.key == "":
	case running || short:
		if b.state == nil {
			return
		}
		begin := time.Now()
		if err := st.SaveState(out, run, b.key, b.state); err != nil {
			j.log.Warn("state not saved", "key", b.key, "err", err)
			return
		}
		j.log.Debug("state saved", "key", b.key, "bytes", len(b.state), "took", time.Since(begin))
		b.state, b.stored = nil, true
	case b.stored:
		if err := st.DropState(out, run, b.key); err != nil {
			j.log.Warn("state not dropped", "key", b.key, "err", err)
		}
		b.stored = false
	}
}
