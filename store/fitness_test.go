package store_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/store"
)

// unfit opens a store that must be refused for a reason.
func unfit(t *testing.T, o store.Options, reason string) {
	t.Helper()
	s, err := store.Open(context.Background(), o)
	if err == nil {
		s.Close()
	}
	var u *store.UnfitError
	if !errors.As(err, &u) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
		t.Errorf("want unfit because of %q, got %v", reason, err)
	}
}

func TestFitness(t *testing.T) {
	server := redistest.Start(t, "--maxmemory", "200mb")
	s := openRedis(t, server)
	f, err := s.Fitness(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(f.RunID) != 40 || !f.AOF || f.AOFError || f.Policy != "noeviction" || f.MaxMemory != 200<<20 || f.UsedMemory < 100_000 || f.Mode != "standalone" || f.Role != "master" {
		t.Errorf("%+v", f)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
	server.Restart()
	if g, err := s.Fitness(context.Background()); err != nil || g.RunID == f.RunID {
		t.Errorf("after a restart: %+v, %v", g, err)
	}
	before := time.Now()
	now, err := s.Time(context.Background())
	if d := now.Sub(before); err != nil || d < -time.Second || d > time.Minute {
		t.Errorf("the clock differs by %v, %v", d, err)
	}
}

func TestUnfit(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
	}{
		{"maxmemory-policy allkeys-lru", []string{"--maxmemory-policy", "allkeys-lru"}},
		{"Redis Cluster", []string{"--cluster-enabled", "yes"}},
		{"asks for a password", []string{"--requirepass", "secret"}},
		{"read-only replica", []string{"--replicaof", "127.0.0.1", "1"}},
	} {
		server := redistest.Start(t, c.args...)
		unfit(t, store.Options{Addrs: []string{server.Addr()}}, c.reason)
	}
	server := redistest.Start(t, "--requirepass", "other", "--user", "reader", "on", ">secret", "~*", "+ping", "--appendonly", "no")
	addr := []string{server.Addr()}
	unfit(t, store.Options{Addrs: addr, Password: "secret"}, "refuses the user name or password")
	unfit(t, store.Options{Addrs: addr, Username: "nobody", Password: "secret"}, "refuses the user name or password")
	unfit(t, store.Options{Addrs: addr, Username: "reader", Password: "secret"}, "does not let this user")
	unfit(t, store.Options{}, "needs one address")
	unfit(t, store.Options{Addrs: []string{"a:1", "b:2"}}, "needs one address")
	unfit(t, store.Options{Master: "m"}, "no sentinel")

	s, err := store.Open(context.Background(), store.Options{Addrs: addr, Password: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "appendonly yes") || strings.Contains(w[0], "other") {
		t.Errorf("warnings %q", w)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	var u *store.UnreachableError
	for what, o := range map[string]store.Options{
		"port":     {Addrs: []string{addr}, Password: "secret"},
		"socket":   {Addrs: []string{filepath.Join(t.TempDir(), "none")}, Unix: true},
		"sentinel": {Addrs: []string{addr}, Master: "m", SentinelPassword: "secret"},
	} {
		_, err := store.Open(context.Background(), o)
		if !errors.As(err, &u) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := store.Open(ctx, store.Options{Addrs: []string{addr}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// works opens a store and writes to it.
func works(t *testing.T, o store.Options) {
	t.Helper()
	s, err := store.Open(context.Background(), o)
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	if err := s.Client().Set(context.Background(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
}

func TestSocketAndACL(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "s")
	redistest.Start(t, "--unixsocket", sock, "--user", "nsweep", "on", ">secret", "~nsweep:*", "~asynq:*", "~k", "&*", "+@all", "-@admin", "-config")
	works(t, store.Options{Addrs: []string{sock}, Unix: true})
	// No right to CONFIG, and to the keys that are needed only.
	works(t, store.Options{Addrs: []string{sock}, Unix: true, Username: "nsweep", Password: "secret"})
}

func TestSentinel(t *testing.T) {
	server := redistest.Start(t)
	sentinel := redistest.StartSentinel(t, server, "mymaster")
	works(t, store.Options{Addrs: []string{sentinel.Addr()}, Master: "mymaster"})
	unfit(t, store.Options{Addrs: []string{sentinel.Addr()}}, "is a sentinel")
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca := certificate(t, dir, "ca", nil)
	certificate(t, dir, "server", ca)
	client := certificate(t, dir, "client", ca)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	file := func(name string) string { return filepath.Join(dir, name) }
	redistest.Start(t, "--tls-port", port, "--tls-cert-file", file("server.pem"), "--tls-key-file", file("server.key"), "--tls-ca-cert-file", file("ca.pem"))
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	works(t, store.Options{Addrs: []string{addr}, TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{*client}}})
	// An authority that the client does not know.
	var u *store.UnreachableError
	if _, err := store.Open(context.Background(), store.Options{Addrs: []string{addr}, TLS: &tls.Config{}}); !errors.As(err, &u) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: %v", err)
	}
}

// certificate makes a key and a certificate of it, signed by ca or by itself,
// and writes both as PEM.
func certificate(t *testing.T, dir, name string, ca *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: ca == nil, BasicConstraintsValid: true,
	}
	if ca == nil {
		template.KeyUsage = x509.KeyUsageCertSign
	}
	parent, signer := template, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}
