package store

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options say where the store is and how to reach it.
type Options struct {
	// Addrs is the server's host:port, or the path of its Unix socket, or with
	// Master the host:port of each sentinel.
	Addrs []string
	// Unix says that Addrs is a path.
	Unix bool
	// Master is the name by which the sentinels know the server.
	Master string
	// DB is the number of the database.
	DB int
	// TLS, if set, is used for the server and the sentinels. The name to
	// verify is filled in by the client.
	TLS *tls.Config
	// Username and Password are the server's, the others are for sentinels
	// that ask for them. None of them is ever shown.
	Username, Password                 string
	SentinelUsername, SentinelPassword string
	// Dialer opens connections to a server inside this or another process.
	// Addrs is not looked at then.
	Dialer func(ctx context.Context) (net.Conn, error)
	// Embedded says that the server behind Dialer is the embedded one, which
	// is always fit and knows no INFO.
	Embedded bool
	// Unchecked lets Open return a store that may be out of reach or unfit, for
	// those who want to say what is wrong with it.
	Unchecked bool
	// Logger receives what the client library has to say, on level debug. Nil
	// means slog.Default().
	Logger *slog.Logger
}

// where names the server for people.
func (o Options) where() string {
	switch {
	case o.Dialer != nil:
		return "embedded store"
	case o.Master != "":
		return "Redis " + o.Master + " of the sentinels " + strings.Join(o.Addrs, ", ")
	}
	return "Redis at " + strings.Join(o.Addrs, ", ")
}

// Timeouts of the client. Reading waits longer than the slowest script takes;
// the library sends a command up to four times when connections break. Only tests
// change them.
var (
	dialTimeout = 5 * time.Second
	ioTimeout   = 10 * time.Second
)

// connect makes the client. It connects when it is first used.
func connect(o Options) (redis.UniversalClient, error) {
	if o.Master != "" && o.Dialer == nil {
		if len(o.Addrs) == 0 {
			return nil, &UnfitError{Store: o.where(), Problem: "has no sentinel's address"}
		}
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: o.Master, SentinelAddrs: o.Addrs,
			SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
			Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLS, Protocol: 2,
			DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, ContextTimeoutEnabled: true,
			DialerRetries: 1, DisableIdentity: true,
		}), nil
	}
	opt := &redis.Options{
		Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLS, Protocol: 2,
		DialTimeout: dialTimeout, ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, ContextTimeoutEnabled: true,
		DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch {
	case o.Dialer != nil:
		opt.Addr = "embedded"
		opt.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dialer(ctx) }
	case len(o.Addrs) != 1:
		return nil, &UnfitError{Store: o.where(), Problem: "needs one address, several are for sentinels"}
	default:
		opt.Addr = o.Addrs[0]
		if o.Unix {
			opt.Network = "unix"
		}
	}
	return redis.NewClient(opt), nil
}
