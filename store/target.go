package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Timeouts of the client. Reading waits longer than the slowest script takes,
// commands are repeated three times when a connection breaks.
const (
	dialTimeout = 5 * time.Second
	ioTimeout   = 10 * time.Second
)

// target is a store's address taken apart.
type target struct {
	display  string // without user and password
	network  string // "tcp" or "unix"
	addrs    []string
	master   string // of the sentinels, or empty
	db       int
	user     string
	password string
	tls      *tls.Config
}

// parseTarget takes the options' URL apart. It is done by hand: net/url refuses
// several ports in one host, and its errors quote what may be a password.
func parseTarget(o Options) (target, error) {
	if o.Dialer != nil {
		return target{display: "embedded", network: "tcp", addrs: []string{"embedded"}, user: o.Username, password: o.Password}, nil
	}
	t := target{network: "tcp"}
	scheme, rest, ok := strings.Cut(o.URL, "://")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	userinfo := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		userinfo, authority = authority[:i], authority[i+1:]
	}
	t.display = scheme + "://" + authority + path
	unfit := func(format string, args ...any) (target, error) {
		return target{}, &UnfitError{Store: t.display, Problem: fmt.Sprintf(format, args...)}
	}
	if !ok {
		t.display = "the Redis URL"
		return unfit("has no scheme, want redis://, rediss://, redis-socket:// or redis-sentinel://")
	}
	if strings.Contains(path, "@") && scheme != "redis-socket" {
		// A slash in a password that was not written as %2F ends up here.
		t.display = "the " + scheme + " URL"
		return unfit("has an @ after a slash: write special characters of a password as %%xx, or give it apart from the URL")
	}
	user, password, _ := strings.Cut(userinfo, ":")
	var err1, err2 error
	if t.user, err1 = url.PathUnescape(user); err1 == nil {
		t.password, err2 = url.PathUnescape(password)
	}
	if err1 != nil || err2 != nil {
		return unfit("user or password has a %% that is not followed by two hex digits")
	}
	if o.Username != "" {
		t.user = o.Username
	}
	if o.Password != "" {
		t.password = o.Password
	}

	db := ""
	secure := false
	switch scheme {
	case "redis", "rediss":
		secure = scheme == "rediss"
		db = strings.Trim(path, "/")
		t.addrs = []string{withPort(authority, "6379")}
		if authority == "" {
			return unfit("names no host")
		}
	case "redis-socket":
		if authority != "" || len(path) < 2 {
			return unfit("must look like redis-socket:///run/redis/redis.sock")
		}
		t.network, t.addrs = "unix", []string{path}
	case "redis-sentinel", "rediss-sentinel":
		secure = scheme == "rediss-sentinel"
		t.master = strings.Trim(path, "/")
		if t.master == "" || authority == "" {
			return unfit("must look like redis-sentinel://host:26379,host:26379/master")
		}
		for _, a := range strings.Split(authority, ",") {
			t.addrs = append(t.addrs, withPort(a, "26379"))
		}
	default:
		return unfit("has scheme %s, want redis, rediss, redis-socket or redis-sentinel", scheme)
	}
	for _, a := range t.addrs {
		if t.network != "tcp" {
			break
		}
		_, port, err := net.SplitHostPort(a)
		if p, err2 := strconv.ParseUint(port, 10, 16); err != nil || err2 != nil || p == 0 {
			return unfit("%s is no host with a port", a)
		}
	}
	for _, kv := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' }) {
		name, value, _ := strings.Cut(kv, "=")
		if name != "db" || db != "" {
			return unfit("has %s after the question mark, which is not known; only db=NUMBER is, once", name)
		}
		db = value
	}
	if db != "" {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil {
			return unfit("database %q is no number", db)
		}
		t.db = int(n)
	}
	if !secure && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != "") {
		return unfit("is not over TLS, but a CA or certificate file is given: use rediss://")
	}
	if secure {
		cfg, err := tlsConfig(o)
		if err != nil {
			return unfit("%v", err)
		}
		if t.master == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(t.addrs[0])
		}
		t.tls = cfg
	}
	return t, nil
}

// withPort adds a port to an address that has none.
func withPort(addr, port string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), port)
}

// tlsConfig reads the certificate files. Errors name the file.
func tlsConfig(o Options) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no certificate", o.CAFile)
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, fmt.Errorf("a client certificate needs both a certificate and a key file")
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", o.CertFile, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// client makes the client. It connects when it is first used.
func (t target) client(o Options) redis.UniversalClient {
	if t.master != "" {
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: t.master, SentinelAddrs: t.addrs,
			SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
			Username: t.user, Password: t.password, DB: t.db, TLSConfig: t.tls, Protocol: 2,
			DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, ContextTimeoutEnabled: true,
			DialerRetries: 1, DisableIdentity: true,
		})
	}
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opt := &redis.Options{
		Network: t.network, Addr: t.addrs[0],
		Username: t.user, Password: t.password, DB: t.db, TLSConfig: t.tls, Protocol: 2,
		DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, ContextTimeoutEnabled: true,
		DialerRetries: 1, DisableIdentity: true, MaintNotificationsConfig: quiet,
	}
	if o.Dialer != nil {
		opt.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dialer(ctx) }
	}
	return redis.NewClient(opt)
}
