package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestHint: what is guessed from the way a connection fails.
func TestHint(t *testing.T) {
	reset := fmt.Errorf("write tcp: %w", syscall.ECONNRESET)
	for _, c := range []struct {
		how  approach
		err  error
		want string
	}{
		{approach{}, reset, "use rediss://"},
		{approach{}, io.EOF, "use rediss://"},
		{approach{sentinels: true}, reset, "use tls=true"},
		{approach{}, syscall.ECONNREFUSED, ""},
		{approach{}, context.DeadlineExceeded, ""},
		{approach{tls: true}, reset, "may want a certificate"},
		{approach{tls: true}, syscall.EPIPE, "may want a certificate"},
		{approach{tls: true, cert: true}, reset, "may not trust redis.cert_file"},
		{approach{tls: true, cert: true}, tls.AlertError(48), "may not trust redis.cert_file"},
		{approach{tls: true}, syscall.ECONNREFUSED, ""},
		{approach{tls: true}, context.DeadlineExceeded, "use redis://"},
		{approach{tls: true}, tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "use redis://"},
		{approach{tls: true, sentinels: true}, context.DeadlineExceeded, "without tls=true"},
		{approach{tls: true}, x509.UnknownAuthorityError{}, "redis.ca_file"},
		{approach{tls: true}, x509.HostnameError{Certificate: new(x509.Certificate), Host: "h"}, "host in redis.url"},
		{approach{tls: true}, x509.CertificateInvalidError{Reason: x509.Expired}, ""},
	} {
		got := c.how.hint(fmt.Errorf("dial: %w", c.err))
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v, %v: %q, want %q", c.how, c.err, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	refused := errors.New("dial tcp a:1: connection refused")
	all := fmt.Errorf("%s%w", noSentinel, errors.Join(refused, refused, errors.New("dial tcp b:1: no route\n")))
	if got := (&UnreachableError{Store: "R", Err: all, Hint: "x"}).Error(); got != "R cannot be reached: dial tcp a:1: connection refused; dial tcp b:1: no route (x)" {
		t.Errorf("%q", got)
	}
}

// answer is an answer of Redis that says no.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

var _ redis.Error = answer("")

func TestExplain(t *testing.T) {
	script := answer("ERR The user executing the script can't run this command or subcommand script: 6a79e3, on @user_script:6.")
	for _, c := range []struct {
		err  error
		want string // empty for an error that stays as it is
	}{
		{nil, ""},
		{errors.New("NOPERM said somebody else"), ""},
		{fmt.Errorf("delete run x: %w", answer("WRONGTYPE Operation against a key")), ""},
		{fmt.Errorf("delete run x: %w", script), "Redis does not let this user do what is needed: delete run x: ERR The user executing the script can't run this command or subcommand"},
		{errors.Join(fmt.Errorf("note: %w", answer("NOPERM no")), io.EOF), "Redis does not let this user do what is needed: note: NOPERM no; EOF"},
	} {
		got := Explain(c.err)
		var unfit *UnfitError
		if c.want == "" && got != c.err || c.want != "" && (!errors.As(got, &unfit) || got.Error() != c.want) {
			t.Errorf("%v: %v, want %q", c.err, got, c.want)
		}
	}
}
