package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Redis says which store to use and how to prove who one is.
type Redis struct {
	// URL is "embedded" or one of the forms that Endpoint documents. Load moves
	// a user name and password out of it, so it can be shown.
	URL string
	// Username is the ACL user, empty for the default one.
	Username string
	// Password comes from NSWEEP_REDIS_PASSWORD, the password file or the URL.
	Password Secret
	// SentinelUsername and SentinelPassword are for the sentinels themselves;
	// the password comes from NSWEEP_REDIS_SENTINEL_PASSWORD or its file.
	SentinelUsername string
	SentinelPassword Secret
	// PasswordFile and SentinelPasswordFile name files whose first line is the
	// password.
	PasswordFile         string
	SentinelPasswordFile string
	// CAFile holds the authorities to trust instead of the system's; CertFile
	// and KeyFile the client's certificate. All are PEM.
	CAFile, CertFile, KeyFile string
}

// Kind is how a Redis is reached.
type Kind string

// The kinds of endpoints.
const (
	Embedded Kind = "embedded"
	TCP      Kind = "tcp"
	Socket   Kind = "socket"
	Sentinel Kind = "sentinel"
)

// Endpoint is a parsed Redis URL.
type Endpoint struct {
	Kind Kind
	// Addrs holds one host:port for TCP, one or more sentinels' host:port for
	// Sentinel, the path for Socket, nothing for Embedded.
	Addrs []string
	// DB is the number of the database.
	DB int
	// Master is the name that the sentinels know the Redis by.
	Master string
	TLS    bool
}

// urlForms is the hint of all errors about the form of a Redis URL.
const urlForms = "want embedded, redis://HOST:PORT/DB, rediss://HOST:PORT/DB, redis-socket:///PATH?db=DB or redis-sentinel://HOST:PORT,HOST:PORT?master=NAME"

// Endpoint parses r.URL:
//
//	embedded
//	redis://HOST[:PORT][/DB]           port 6379, database 0
//	rediss://HOST[:PORT][/DB]          the same over TLS
//	redis-socket:///PATH[?db=DB]       a Unix socket
//	redis-sentinel://HOST[:PORT],…[/DB]?master=NAME[&db=DB][&tls=true]   port 26379
//
// Every form with :// may carry USER:PASSWORD@ before the host. Errors are short
// and never quote the URL.
func (r Redis) Endpoint() (Endpoint, error) {
	e, _, err := parseRedisURL(r.URL)
	return e, err
}

// parseRedisURL returns the endpoint and what stands before the host.
func parseRedisURL(raw string) (Endpoint, *url.Userinfo, error) {
	if raw == "embedded" {
		return Endpoint{Kind: Embedded}, nil, nil
	}
	scheme, _, ok := strings.Cut(raw, "://")
	if !ok || !slices.Contains([]string{"redis", "rediss", "redis-socket", "redis-sentinel"}, scheme) {
		return Endpoint{}, nil, errors.New("has no known scheme")
	}
	if strings.Contains(raw, "#") {
		return Endpoint{}, nil, errors.New("has a part after # (write # in a password as %23)")
	}
	// net/url takes one port only, so the sentinels' hosts are cut out first.
	hosts, rest := "", raw
	if scheme == "redis-sentinel" {
		rest, hosts = cutHosts(raw)
	}
	u, err := url.Parse(rest)
	if err != nil {
		// The error of net/url quotes the text, which may hold a password.
		return Endpoint{}, nil, errors.New("cannot be read as a URL (write special characters in a password as %XX)")
	}
	q, err := query(u, scheme)
	if err != nil {
		return Endpoint{}, nil, err
	}
	e := Endpoint{}
	switch scheme {
	case "redis", "rediss":
		e.Kind, e.TLS = TCP, scheme == "rediss"
		if e.Addrs, err = addresses(u.Host, "6379"); err == nil && len(e.Addrs) > 1 {
			err = errors.New("names more than one host, which only redis-sentinel:// takes")
		}
	case "redis-socket":
		e.Kind, e.Addrs = Socket, []string{u.Path}
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.Path == "/" {
			err = errors.New("names no absolute path of a socket")
		}
	case "redis-sentinel":
		e.Kind, e.Master = Sentinel, q["master"]
		e.Addrs, err = addresses(hosts, "26379")
		if err == nil && e.Master == "" {
			err = errors.New("lacks ?master=NAME, the name of the Redis that the sentinels watch")
		}
		if t, given := q["tls"]; err == nil && given {
			if e.TLS = t == "true"; !e.TLS && t != "false" {
				err = errors.New("has a tls that is neither true nor false")
			}
		}
	}
	if err != nil {
		return Endpoint{}, nil, err
	}
	if e.DB, err = database(u, q, e.Kind); err != nil {
		return Endpoint{}, nil, err
	}
	return e, u.User, nil
}

// cutHosts takes the hosts of a URL out of it and puts one plain host there.
func cutHosts(raw string) (rest, hosts string) {
	start := strings.Index(raw, "://") + len("://")
	end := len(raw)
	if i := strings.IndexAny(raw[start:], "/?#"); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(raw[start:end], '@'); i >= 0 {
		start += i + 1
	}
	return raw[:start] + "sentinels" + raw[end:], raw[start:end]
}

// query returns the parameters of the URL, each of which its scheme must know.
func query(u *url.URL, scheme string) (map[string]string, error) {
	known := map[string][]string{"redis-socket": {"db"}, "redis-sentinel": {"db", "master", "tls"}}[scheme]
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("has a query that cannot be read")
	}
	q := map[string]string{}
	for name, v := range values {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("has a query parameter that %s:// does not know", scheme)
		}
		if len(v) > 1 {
			return nil, fmt.Errorf("gives %s twice", name)
		}
		q[name] = v[0]
	}
	return q, nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// addresses splits a list of hosts and adds the default port.
func addresses(list, port string) ([]string, error) {
	var out []string
	for host := range strings.SplitSeq(list, ",") {
		// JoinHostPort puts the brackets of an IPv6 address back.
		u := url.URL{Host: host}
		name, p := u.Hostname(), u.Port()
		if p == "" {
			p = port
			if strings.HasSuffix(host, ":") {
				return nil, errors.New("has a colon without a port")
			}
		}
		if name == "" {
			return nil, errors.New("names no host")
		}
		if ip, _, _ := strings.Cut(name, "%"); !hostName.MatchString(name) && net.ParseIP(ip) == nil {
			return nil, errors.New("has a host or port that cannot be read")
		}
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return nil, errors.New("has a port that is not 1 to 65535")
		}
		out = append(out, net.JoinHostPort(name, strconv.FormatUint(n, 10)))
	}
	return out, nil
}

// database returns the number in the path or in ?db=.
func database(u *url.URL, q map[string]string, kind Kind) (int, error) {
	text, given := q["db"]
	if path := strings.TrimPrefix(u.Path, "/"); kind != Socket && path != "" {
		if given {
			return 0, errors.New("gives the database twice")
		}
		text, given = path, true
	}
	if !given {
		return 0, nil
	}
	// Redis has 16 databases unless told otherwise, and never needs more than
	// some thousands.
	db, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, errors.New("has a database that is not a number from 0 to 65535")
	}
	return int(db), nil
}

// withoutUser returns a URL that parseRedisURL accepted, less what stands before
// the host.
func withoutUser(raw string) string {
	start := strings.Index(raw, "://")
	if start < 0 {
		return raw
	}
	start += len("://")
	end := len(raw)
	if i := strings.IndexAny(raw[start:], "/?#"); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(raw[start:end], '@'); i >= 0 {
		return raw[:start] + raw[start+i+1:]
	}
	return raw
}
