package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// UnreachableError says that no server answers.
type UnreachableError struct {
	Store string // names it, without password
	Err   error
	Hint  string // what may be the matter, or empty
}

// Error is one line, whatever Err is.
func (e *UnreachableError) Error() string {
	text := fmt.Sprintf("%s cannot be reached: %s", e.Store, oneLine(e.Err))
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// UnfitError says that the server, or the way it is addressed, cannot serve as
// a store.
type UnfitError struct {
	Store   string // names it, without password
	Problem string // what is wrong and what would be right
}

func (e *UnfitError) Error() string { return e.Store + " " + e.Problem }

// approach is what an explanation needs to know of how the server is addressed.
type approach struct {
	tls, cert, sentinels bool
	db                   int
}

func (o Options) approach() approach {
	return approach{tls: o.TLS != nil, cert: o.TLS != nil && len(o.TLS.Certificates) > 0, sentinels: o.Master != "" && o.Dialer == nil, db: o.DB}
}

// classify tells a server that refuses from one that does not answer. Redis'
// own messages hold no passwords.
func (s *Store) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	var answer redis.Error
	if !errors.As(err, &answer) || strings.HasPrefix(answer.Error(), "LOADING") {
		return &UnreachableError{Store: s.where, Err: err, Hint: s.how.hint(err)}
	}
	unfit := &UnfitError{Store: s.where}
	if s.how.sentinels && strings.HasPrefix(err.Error(), noSentinel) {
		unfit.Problem = sentinelProblem(answer)
	} else {
		unfit.Problem = s.how.problem(answer.Error())
	}
	return unfit
}

// Explain turns the refusal of a command for which a user has no right into an
// *UnfitError of one line. Other errors it returns as they are. A user may be
// let in, which is all that Open asks for, and still lack the right to write.
func Explain(err error) error {
	var answer redis.Error
	if err == nil || !errors.As(err, &answer) || !forbidden(answer.Error()) {
		return err
	}
	// Redis names the script by its hash, which tells nobody anything.
	text, _, _ := strings.Cut(oneLine(err), " script: ")
	return &UnfitError{Store: "Redis", Problem: notAllowed + text}
}

const notAllowed = "does not let this user do what is needed: "

// forbidden says whether an answer is about rights, of a command or of one inside
// a script.
func forbidden(text string) bool {
	return strings.HasPrefix(text, "NOPERM") || strings.Contains(text, "The user executing the script can't ")
}

// problem explains what a server answers instead of what it was asked for.
func (a approach) problem(text string) string {
	switch {
	case strings.HasPrefix(text, "NOAUTH"):
		return "asks for a password: set NSWEEP_REDIS_PASSWORD or redis.password_file"
	case wrongPassword(text):
		return "refuses the user name or password"
	case forbidden(text):
		return notAllowed + text
	case strings.Contains(text, "DB index is out of range"):
		return fmt.Sprintf("has no database %d: use a number below its setting databases", a.db)
	}
	return "answers: " + text
}

// sentinelProblem explains what the sentinels answer.
func sentinelProblem(answer error) string {
	text := answer.Error()
	switch {
	case errors.Is(answer, redis.Nil):
		return "is unknown to them: use for master= the name in their line \"sentinel monitor\""
	case strings.HasPrefix(text, "NOAUTH"):
		return "cannot be found: they ask for a password, set NSWEEP_REDIS_SENTINEL_PASSWORD or redis.sentinel_password_file"
	case wrongPassword(text):
		return "cannot be found: they refuse the user name or password for sentinels"
	case strings.HasPrefix(text, "NOPERM"):
		return "cannot be found: they do not let this user do what is needed: " + text
	case strings.HasPrefix(text, "ERR unknown command"):
		return "cannot be found: they are no sentinels, use redis:// for a Redis"
	}
	return "cannot be found: the sentinels answer: " + text
}

func wrongPassword(text string) bool {
	return strings.HasPrefix(text, "WRONGPASS") || strings.Contains(text, "invalid password") || strings.Contains(text, "without any password")
}

// hint says what is likely behind a connection that fails. A server that refuses
// a certificate often closes before its reason arrives, and one that speaks the
// other kind of connection says nothing at all.
func (a approach) hint(err error) string {
	encrypted, plain := "rediss://", "redis://"
	if a.sentinels {
		encrypted, plain = "tls=true", "the URL without tls=true"
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var noTLS tls.RecordHeaderError
	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	switch {
	case errors.As(err, &unknown):
		return "redis.ca_file names the authority to trust"
	case errors.As(err, &name):
		return "the certificate must be for the host in redis.url"
	case errors.As(err, &invalid):
		return ""
	case errors.As(err, &noTLS), a.tls && errors.Is(err, context.DeadlineExceeded):
		return "where it does not speak TLS, use " + plain
	case !a.tls && closed:
		return "where it speaks TLS, use " + encrypted
	case a.tls && (closed || errors.As(err, &alert) || strings.Contains(err.Error(), "remote error: tls:")):
		if a.cert {
			return "it may not trust redis.cert_file"
		}
		return "it may want a certificate, redis.cert_file and redis.key_file"
	}
	return ""
}

// noSentinel is how the client begins an error about all sentinels.
const noSentinel = "redis: all sentinels specified in configuration are unreachable: "

// oneLine joins the lines of an error, each of them once.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(strings.TrimPrefix(err.Error(), noSentinel)) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
