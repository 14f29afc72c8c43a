// Package redistest starts real Redis servers for tests. Each server listens
// on a loopback port that is its own until the test ends, also while it is
// stopped, keeps its append-only file in the test's temporary folder and ends
// with the test.
//
// Package redistest imports ownport.
package redistest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/ownport"
)

// Program is the server binary, found along PATH. It is in Debian's package
// redis-server.
const Program = "redis-server"

// startTimeout bounds how long a server may take to load its data and answer,
// and to end; pingTimeout how long it may take to answer once. Both are against
// hanging only.
const (
	startTimeout = 2 * time.Minute
	pingTimeout  = 10 * time.Second
)

// Server is one Redis server of a test. Its methods fail the test on errors
// and are meant for the test's own goroutine.
type Server struct {
	t    testing.TB
	dir  string
	argv func() []string // of the process, once port is known
	port int
	// Where the server speaks TLS only: a client's configuration, and its own.
	tls      *tls.Config
	tlsLines []string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed once cmd has been waited for
}

// Start starts a server with an append-only file, no eviction and no
// snapshots. Further args, such as "--maxmemory", "100mb", come after these
// and override them. Without redis-server the test is skipped, or fails when
// the environment variable CI is set.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir()}
	s.argv = func() []string {
		return append(s.standard("--port", strconv.Itoa(s.port)), args...)
	}
	s.start()
	return s
}

// StartTLS is Start for a server that speaks TLS only, with a certificate of the
// authority for 127.0.0.1, and asks its clients for theirs. Further args can name
// another certificate of the server's.
func StartTLS(t testing.TB, ca *Authority, args ...string) *Server {
	t.Helper()
	own := ca.Issue("redistest", "127.0.0.1")
	s := &Server{t: t, dir: t.TempDir(), tls: ca.TLSConfig(own)}
	// It is this server that is waited for, whatever its certificate says.
	s.tls.InsecureSkipVerify = true
	s.tlsLines = []string{
		"tls-auth-clients yes", "tls-replication yes",
		"tls-cert-file " + own.Cert, "tls-key-file " + own.Key, "tls-ca-cert-file " + ca.File(),
	}
	s.argv = func() []string {
		argv := s.standard("--port", "0", "--tls-port", strconv.Itoa(s.port))
		for _, line := range s.tlsLines {
			key, value, _ := strings.Cut(line, " ")
			argv = append(argv, "--"+key, value)
		}
		return append(argv, args...)
	}
	s.start()
	return s
}

// standard returns the arguments that every server has.
func (s *Server) standard(args ...string) []string {
	return append([]string{
		"--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction",
		"--daemonize", "no",
	}, args...)
}

// StartSentinel starts a sentinel that watches the server under a name. As many
// sentinels as quorum says must agree that the server is gone. It speaks TLS where
// the server does, with the same certificate. Further lines of its configuration
// come last.
func StartSentinel(t testing.TB, master *Server, name string, quorum int, lines ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), tls: master.tls, tlsLines: master.tlsLines}
	s.argv = func() []string {
		// A sentinel keeps what it learns in its configuration file.
		file := filepath.Join(s.dir, "sentinel.conf")
		text := fmt.Sprintf("bind 127.0.0.1\nport %d\n", s.port)
		if s.tls != nil {
			text = fmt.Sprintf("bind 127.0.0.1\nport 0\ntls-port %d\n%s\n", s.port, strings.Join(s.tlsLines, "\n"))
		}
		text += fmt.Sprintf("dir %s\nsentinel monitor %s 127.0.0.1 %d %d\n", s.dir, name, master.port, quorum)
		text += strings.Join(append(lines, ""), "\n")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatalf("redistest: %v", err)
		}
		return []string{file, "--sentinel"}
	}
	s.start()
	return s
}

// start starts the server for the first time.
func (s *Server) start() {
	s.t.Helper()
	if _, err := exec.LookPath(Program); err != nil {
		if os.Getenv("CI") != "" {
			s.t.Fatalf("redis-server is not installed; it is in Debian's package redis-server (≥ 7)")
		}
		s.t.Skip("redis-server is not installed; it is in Debian's package redis-server (≥ 7)")
	}
	// A node of a cluster listens on a second port, 10000 above its own, which can
	// be anybody's.
	var err error
	for range 5 {
		port, release, none := ownport.Take()
		if none != nil {
			s.t.Fatalf("redistest: %v", none)
		}
		s.port = port
		if err = s.launch(); err == nil {
			s.t.Cleanup(release)
			s.t.Cleanup(s.Stop) // before the port is released
			return
		}
		release()
	}
	s.t.Fatalf("redistest: %v", err)
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the server's address as redis://host:port/0, or rediss:// where it
// speaks TLS.
func (s *Server) URL() string {
	if s.tls != nil {
		return "rediss://" + s.Addr() + "/0"
	}
	return "redis://" + s.Addr() + "/0"
}

// Dir returns the folder that holds the server's data.
func (s *Server) Dir() string { return s.dir }

// Stop ends the server in order, so that everything is on disk, and waits for
// it. It does nothing when the server is not running.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server with SIGKILL and waits for it.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Restart starts the server again at the same address with the same data,
// after stopping it when it runs.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.launch(); err != nil {
		s.t.Fatalf("redistest: restart: %v", err)
	}
}

func (s *Server) end(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	// The only error is that the process has ended already.
	_ = s.cmd.Process.Signal(sig)
	select {
	case <-s.exited:
	case <-time.After(startTimeout):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	s.cmd = nil
}

// launch starts the process and waits until it answers. On an error the
// process is gone.
func (s *Server) launch() error {
	log, err := os.Create(filepath.Join(s.dir, "redis.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(Program, s.argv()...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a killed server is no error
		close(exited)
	}()
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.await(ctx, exited); err != nil {
		s.Kill()
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w; its log ends with:\n%s", err, lastLines(text, 10))
	}
	return nil
}

// await polls the server until it answers a PING.
func (s *Server) await(ctx context.Context, exited <-chan struct{}) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		if last = s.ping(ctx); last == nil {
			// Whoever answered is this process only while it is alive.
			select {
			case <-exited:
			default:
				return nil
			}
		}
		select {
		case <-exited:
			return errors.New("redis-server ended at once")
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer: %w", last)
		case <-tick.C:
		}
	}
}

// ping asks the server for a sign of life. A demand for a password is one, a
// server that still loads its data is not.
func (s *Server) ping(ctx context.Context) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(pingTimeout)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.HasPrefix(line, "+PONG") || strings.HasPrefix(line, "-NOAUTH") {
		return nil
	}
	return fmt.Errorf("PING answered %q", strings.TrimSpace(line))
}

func (s *Server) dial(ctx context.Context) (net.Conn, error) {
	if s.tls != nil {
		return (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.Addr())
	}
	return new(net.Dialer).DialContext(ctx, "tcp", s.Addr())
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], []byte("\n"))
}
