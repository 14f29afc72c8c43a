package config

import (
	"fmt"
	"io"
	"net/url"
	"strings"
)

// mask stands where a secret would.
const mask = "***"

// Secret is a password. However it is formatted, logged or encoded it shows as
// ***; only Reveal returns it.
type Secret string

// Reveal returns the password itself.
func (s Secret) Reveal() string { return string(s) }

// String returns *** or, for no password, nothing.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// Format writes String for every verb, so that %q, %x or %#v reveal nothing
// either.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalText keeps the password out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Redact returns rawURL with whatever may be a password replaced by ***: what
// stands before the host (but for a user name followed by a colon) and every
// value of the query but those known to be harmless. It works on text that is
// no URL as well.
func Redact(rawURL string) string {
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok {
		scheme, rest = "", rawURL
	} else {
		scheme += "://"
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	// A password may hold an @, written raw by mistake: the last one counts.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, _, hasColon := strings.Cut(rest[:at], ":")
		if hasColon {
			user += ":"
		} else {
			// redis://secret@host is a user name to a parser, but as often
			// as not it was meant as a password.
			user = ""
		}
		rest = user + mask + rest[at:]
	}
	if !hasQuery {
		return scheme + rest
	}
	// A raw ? in a password hides its tail and the host in the query.
	if strings.Contains(query, "@") {
		return scheme + mask
	}
	parts := strings.Split(query, "&")
	for i, p := range parts {
		name, _, has := strings.Cut(p, "=")
		if n, err := url.QueryUnescape(name); has && (err != nil || !harmlessQuery[n]) {
			parts[i] = name + "=" + mask
		}
	}
	return scheme + rest + "?" + strings.Join(parts, "&")
}

// harmlessQuery holds the query parameters that Redis.Endpoint knows.
var harmlessQuery = map[string]bool{"db": true, "master": true, "tls": true}
