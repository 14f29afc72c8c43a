package embedredis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// flushEvery is the interval at which changes are written to the file.
const flushEvery = 250 * time.Millisecond

// Options configure a server.
type Options struct {
	// Dir is the folder of the data and the socket; it is made if necessary.
	// When it is empty the server lives in memory only and has no socket.
	Dir string
	// Owner names this process to those who find the folder in use.
	Owner string
	// Persist says which keys are kept in the file. Nil keeps all.
	Persist func(key string) bool
	// OnError is called when writing to the file fails: from then on only the
	// memory has what was acknowledged last. It is called once for each time
	// that writing begins to fail, and must not call the server's methods.
	OnError func(error)
	// Logger receives warnings. Nil means slog.Default().
	Logger *slog.Logger

	maxSize int // of the file, to test a full disk
}

// Server is a Redis server inside this process, the owner of its folder.
type Server struct {
	opts   Options
	log    *slog.Logger
	mini   *miniredis.Miniredis
	serve  *server.Server
	track  *tracker
	disk   *disk   // nil without a folder
	socket *socket // nil without a folder

	mu     sync.RWMutex // closed against connections being added
	closed bool

	syncs   chan chan error
	stop    chan struct{}
	stopped chan struct{}

	errMu sync.Mutex
	err   error
}

// Open starts a server. If another process, or another server of this one, has
// the folder, the error is *InUseError.
func Open(o Options) (*Server, error) {
	if o.Persist == nil {
		o.Persist = func(string) bool { return true }
	}
	s := &Server{
		opts: o, log: o.Logger, mini: miniredis.NewMiniRedis(),
		syncs: make(chan chan error), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	// The first connection starts the server without a listener.
	c, err := s.mini.Dial()
	if err != nil {
		return nil, fmt.Errorf("start the embedded store: %w", err)
	}
	_ = c.Close() // a pipe; it was never used
	s.serve = s.mini.Server()

	s.track = newTracker(s.mini, o.Persist, o.Dir != "")
	if o.Dir != "" {
		if err := s.openDir(); err != nil {
			s.mini.Close()
			return nil, err
		}
	}
	s.serve.SetPreHook(s.track.hook)
	if o.Dir != "" {
		if s.socket, err = listen(o.Dir, s.attach); err != nil {
			// The data is safe without it; only other processes cannot look.
			s.log.Warn("other processes cannot attach to the embedded store", "dir", o.Dir, "err", err)
		}
	}
	go s.loop()
	return s, nil
}

// openDir takes the folder and loads its data.
func (s *Server) openDir() error {
	dir := s.opts.Dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	d, err := openDisk(dir, s.opts.maxSize)
	if err != nil {
		return err
	}
	err = writeOwner(dir, s.opts.Owner)
	if err == nil {
		err = d.load(s.mini.DB(0), s.opts.Persist)
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		// Closing may fault as well; the process is about to end, and with it the
		// lock.
		return err
	}
	if err != nil {
		return errors.Join(fmt.Errorf("load the data in %s: %w", dir, err), d.close())
	}
	s.disk = d
	return nil
}

// Dial opens a connection in memory.
func (s *Server) Dial(context.Context) (net.Conn, error) {
	client, end := newPipe()
	if err := s.attach(end); err != nil {
		return nil, err
	}
	return client, nil
}

var errClosed = errors.New("the embedded store is closed")

// attach serves a connection, which belongs to the server from then on.
func (s *Server) attach(c net.Conn) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		_ = c.Close() // nothing was said over it
		return errClosed
	}
	s.serve.ServeConn(c)
	return nil
}

// loop writes changes to the file and lets time pass, until Close.
func (s *Server) loop() {
	defer close(s.stopped)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	aged, ageAt := time.Now(), time.Now().Add(time.Second)
	for {
		select {
		case <-s.stop:
			return
		case done := <-s.syncs:
			done <- s.flush()
		case <-tick.C:
			_ = s.flush() // kept in Err and given to OnError
			if now := time.Now(); now.After(ageAt) {
				s.mini.FastForward(now.Sub(aged))
				// It looks at every key, so with very many keys it is done
				// less often: at most a fiftieth of the time goes into it.
				aged, ageAt = now, now.Add(max(time.Second, 50*time.Since(now)))
			}
		}
	}
}

// Sync writes all that was acknowledged before the call to the file and to the
// disk below it. It returns the error of writing, or that of ctx.
func (s *Server) Sync(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case s.syncs <- done:
	case <-s.stopped:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flush writes what has changed. Only the loop calls it, and Close after it.
func (s *Server) flush() error {
	if s.disk == nil {
		return nil
	}
	snap := s.track.snapshot(s.disk.keys)
	err := s.disk.write(snap)
	s.track.flushed(snap, err)
	if err != nil {
		err = fmt.Errorf("write the data in %s: %w", s.opts.Dir, err)
	}
	s.errMu.Lock()
	began := err != nil && s.err == nil
	s.err = err
	s.errMu.Unlock()
	if began && s.opts.OnError != nil {
		s.opts.OnError(err)
	}
	return err
}

// Err returns the error of the last attempt to write, or nil. Writing is tried
// again all the time; what could not be written is not forgotten.
func (s *Server) Err() error {
	s.errMu.Lock()
	defer s.errMu.Unlock()
	return s.err
}

// Close ends all connections, writes what is left and gives the folder back.
// Its error says that the last changes are not in the file.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	if s.socket != nil {
		s.socket.close()
	}
	s.track.release() // no writer waits for the file any more
	s.mini.Close()
	close(s.stop)
	<-s.stopped
	if s.disk == nil {
		return nil
	}
	err := s.flush()
	// The lock goes last, with the file.
	if rm := os.Remove(filepath.Join(s.opts.Dir, ownerFile)); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		s.log.Warn("the note about the owner stays", "err", rm)
	}
	return errors.Join(err, s.disk.close())
}
