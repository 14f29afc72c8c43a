package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	// maxBody bounds every request body: the largest honest one is a token.
	maxBody = 8 << 10
	// sessionLasts is how long a login holds.
	sessionLasts = 7 * 24 * time.Hour
)

// policy lets pages load from this server alone, run no inline script, apply no
// inline style and be framed by nobody. Markup reaches the page through one
// named policy in the script, whose only source is the stream.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types nsweep"

// guard decides who gets in. It keeps no list of sessions: a cookie carries its
// own end and a MAC under a key that follows from the token, so logins outlive a
// restart and end with the token.
type guard struct {
	token [sha256.Size]byte // of the token, so that comparing shows no length
	open  bool              // no token is asked for
	key   []byte
	hosts map[string]bool
	any   bool // addressed by any name
	now   func() time.Time
	tries *limiter
}

func newGuard(token string, hosts []string, now func() time.Time) *guard {
	g := &guard{token: sha256.Sum256([]byte(token)), open: token == "", hosts: map[string]bool{"localhost": true}, now: now,
		tries: newLimiter(10, 6*time.Second, now)}
	for _, h := range hosts {
		g.hosts[strings.ToLower(strings.TrimSuffix(h, "."))] = true
	}
	secret := []byte(token)
	if g.open {
		secret = make([]byte, 32)
		rand.Read(secret) // never fails since Go 1.24
	}
	g.key = mac(secret, "nsweep dashboard session")
	return g
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// addressed reports whether the request is meant for this server. A browser
// sends the name that it was given; one that is made to point here by a foreign
// name server is refused. IP addresses cannot be made to.
func (g *guard) addressed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return g.any || g.hosts[name]
}

// known compares a token in constant time.
func (g *guard) known(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return len(token) <= maxToken && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// cookieName differs by port, because cookies do not: two dashboards on one
// host must not overwrite each other's.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err == nil {
			return "nsweep_" + port
		}
	}
	return "nsweep"
}

// session returns the valid session of a request, or "".
func (g *guard) session(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil || len(c.Value) > 200 {
		return ""
	}
	body, sum, ok := cutLast(c.Value, ".")
	_, end, ok2 := cutLast(body, ".")
	if !ok || !ok2 || !hmac.Equal([]byte(sum), []byte(g.sign("session", body))) {
		return ""
	}
	unix, err := strconv.ParseInt(end, 10, 64)
	if err != nil || g.now().Unix() >= unix {
		return ""
	}
	return c.Value
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func (g *guard) sign(what, text string) string {
	return base64.RawURLEncoding.EncodeToString(mac(g.key, what+" "+text))
}

// begin opens a session: 128 random bits, its end and the MAC of both.
func (g *guard) begin(w http.ResponseWriter, r *http.Request) string {
	var b [16]byte
	rand.Read(b[:])
	body := base64.RawURLEncoding.EncodeToString(b[:]) + "." + strconv.FormatInt(g.now().Add(sessionLasts).Unix(), 10)
	value := body + "." + g.sign("session", body)
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: value, Path: "/", MaxAge: int(sessionLasts.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	return value
}

// end makes the browser forget its session.
func (g *guard) end(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
}

// csrf is what a form of this session must carry.
func (g *guard) csrf(session string) string { return g.sign("form", session) }

// genuine reports whether a form was made for this session.
func (g *guard) genuine(session, token string) bool {
	return session != "" && hmac.Equal([]byte(token), []byte(g.csrf(session)))
}

// bearer returns the token of the Authorization header, for programs.
func bearer(r *http.Request) (string, bool) {
	kind, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(kind, "Bearer")
}

// secure sets the headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// remote is the address of the peer without port.
func remote(r *http.Request) string {
	if h, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return h
	}
	return r.RemoteAddr
}
