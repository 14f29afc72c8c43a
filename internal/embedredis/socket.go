package embedredis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// maxSocketPath is the longest path that a Unix socket may have everywhere:
// 104 bytes on macOS and the BSDs, 108 on Linux, with a zero at the end.
const maxSocketPath = 103

// ErrNotRunning says that no process owns the folder now.
var ErrNotRunning = errors.New("no process is running on this data folder")

// socket listens for other processes.
type socket struct {
	path     string
	listener *net.UnixListener

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
	wg     sync.WaitGroup
}

// listen makes the socket of a folder, taking the place of one that a crashed
// owner left, and hands each connection to attach.
func listen(dir string, attach func(net.Conn) error) (*socket, error) {
	// The socket gets its permissions in a folder that nobody else can enter,
	// then its name, so that at no moment others can connect.
	private, err := os.MkdirTemp(dir, ".s")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	var l *net.UnixListener
	err = withShortPath(private, "s", func(path string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then it has another name
	path := filepath.Join(dir, socketFile)
	err = os.Chmod(filepath.Join(private, "s"), 0o600)
	if err == nil {
		err = os.Rename(filepath.Join(private, "s"), path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &socket{path: path, listener: l, conns: map[net.Conn]struct{}{}}
	s.wg.Add(1)
	go s.accept(attach)
	return s, nil
}

// accept serves connections until the listener is closed.
func (s *socket) accept(attach func(net.Conn) error) {
	defer s.wg.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // closed; nothing else ends it
		}
		// Through a pipe in memory, whose buffer lets the server answer while
		// the client still sends.
		near, far := newPipe()
		s.mu.Lock()
		if s.closed || attach(far) != nil {
			s.mu.Unlock()
			_ = c.Close() // the server is closing; nothing was said
			return
		}
		s.conns[c] = struct{}{}
		s.wg.Add(2)
		s.mu.Unlock()
		go s.copy(near, c, c, near)
		go s.copy(c, near, c, near)
	}
}

// copy carries one direction. When it ends, so does the other.
func (s *socket) copy(to io.Writer, from io.Reader, c, near net.Conn) {
	defer s.wg.Done()
	// An error means that one end was closed: the connection is over.
	_, _ = io.Copy(to, from)
	_ = c.Close()
	_ = near.Close()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// close ends listening and all connections, and removes the socket.
func (s *socket) close() {
	// Errors would mean that it is gone already.
	_ = os.Remove(s.path)
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// Attach returns a function that opens connections to the process that owns
// the folder. Without one the error is ErrNotRunning.
func Attach(dir string) (func(context.Context) (net.Conn, error), error) {
	dial := func(ctx context.Context) (net.Conn, error) {
		var c net.Conn
		err := withShortPath(dir, socketFile, func(path string) error {
			var d net.Dialer
			var err error
			c, err = d.DialContext(ctx, "unix", path)
			return err
		})
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, ErrNotRunning
		}
		if err != nil {
			return nil, fmt.Errorf("attach to %s: %w", dir, err)
		}
		return c, nil
	}
	c, err := dial(context.Background())
	if err != nil {
		return nil, err
	}
	_ = c.Close() // it was only to see whether somebody is there
	return dial, nil
}

// withShortPath calls f with a path of the file in the folder that is short
// enough for a socket. On Linux a long path is replaced by one that goes
// through an open descriptor of the folder; elsewhere it is refused.
func withShortPath(dir, file string, f func(path string) error) error {
	path := filepath.Join(dir, file)
	if len(path) <= maxSocketPath {
		return f(path)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the path %s has %d bytes, a socket's may have %d: choose a shorter folder", path, len(path), maxSocketPath)
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return f(filepath.Join("/proc/self/fd", strconv.FormatUint(uint64(d.Fd()), 10), file))
}
