package embedredis

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// newPipe returns the two ends of a connection in memory. Unlike net.Pipe it
// has a buffer: a client that sends many commands before it reads the first
// answer would otherwise wait for a server that waits for it. A write never
// blocks, so the buffer grows to what the other end has not read; a client
// reads all answers to what it sends, so that is one pipeline's worth.
func newPipe() (net.Conn, net.Conn) {
	a, b := newStream(), newStream()
	return &pipeEnd{in: a, out: b}, &pipeEnd{in: b, out: a}
}

// keepBuffer is the memory that a drained stream keeps for the next bytes.
const keepBuffer = 1 << 20

// stream is one direction of a pipe.
type stream struct {
	mu       sync.Mutex
	changed  *sync.Cond // bytes came, an end was closed, or the deadline moved or passed
	buf      bytes.Buffer
	closed   bool
	deadline time.Time // of the reader
	timer    *time.Timer
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.buf.Len() == 0 {
		switch {
		case s.closed:
			return 0, io.EOF
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		}
		s.changed.Wait()
	}
	n, _ := s.buf.Read(b) // never fails: the buffer is not empty
	if s.buf.Len() == 0 && s.buf.Cap() > keepBuffer {
		s.buf = bytes.Buffer{}
	}
	return n, nil
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.changed.Broadcast()
	return s.buf.Write(b)
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
	}
	if !t.IsZero() && !s.closed {
		if s.timer == nil {
			s.timer = time.AfterFunc(time.Until(t), s.wake)
		} else {
			s.timer.Reset(time.Until(t))
		}
	}
	s.changed.Broadcast()
}

func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}

// pipeEnd is one end of a pipe.
type pipeEnd struct{ in, out *stream }

func (p *pipeEnd) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *pipeEnd) Write(b []byte) (int, error) { return p.out.write(b) }

// Close ends both directions. What was written before can still be read at
// the other end.
func (p *pipeEnd) Close() error {
	p.in.close()
	p.out.close()
	return nil
}

func (p *pipeEnd) LocalAddr() net.Addr  { return pipeAddr{} }
func (p *pipeEnd) RemoteAddr() net.Addr { return pipeAddr{} }

func (p *pipeEnd) SetDeadline(t time.Time) error {
	p.in.setDeadline(t)
	return nil
}

func (p *pipeEnd) SetReadDeadline(t time.Time) error { return p.SetDeadline(t) }

// SetWriteDeadline does nothing: writes do not block.
func (p *pipeEnd) SetWriteDeadline(time.Time) error { return nil }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "memory" }
func (pipeAddr) String() string  { return "embedded" }
