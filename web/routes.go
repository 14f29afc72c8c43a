package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// routes lists every address. Those without a guard tell nothing about runs.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /healthz", healthz)
	m.HandleFunc("GET /readyz", readyz(s.notReady))
	m.HandleFunc("GET /assets/{version}/{file}", s.pages.asset)
	m.HandleFunc("GET /login", s.loginPage)
	m.HandleFunc("POST /login", s.login)
	m.HandleFunc("POST /logout", s.logout)

	m.HandleFunc("GET /{$}", s.known(s.runsPage))
	m.HandleFunc("GET /run/{run}", s.known(s.runPage))
	m.HandleFunc("GET /run/{run}/heat.json", s.known(s.heatJSON))
	m.HandleFunc("GET /run/{run}/cells.svg", s.known(s.heatSVG))
	m.HandleFunc("GET /run/{run}/failures", s.known(s.failuresPart))
	m.HandleFunc("GET /run/{run}/cell", s.known(s.cellPage))
	m.HandleFunc("GET /run/{run}/plot/{file}", s.known(s.plot))
	m.HandleFunc("GET /run/{run}/confirm/{action}", s.known(s.confirmPage))
	m.HandleFunc("POST /run/{run}/{action}", s.known(s.act))
	m.HandleFunc("GET /stream", s.known(s.stream))
	m.HandleFunc("GET /metrics", s.known(s.o.Metrics.Handler().ServeHTTP))
	m.HandleFunc("/", s.known(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusNotFound, "There is no such page.")
	}))
	return m
}

// known lets in who has a session or sends the token. Without token everybody
// who reaches the server is let in.
func (s *Server) known(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.guard.open || s.guard.session(r) != "" {
			h(w, r)
			return
		}
		if token, ok := bearer(r); ok {
			addr := remote(r)
			switch {
			case !s.guard.tries.allowed(addr):
				s.fail(w, r, http.StatusTooManyRequests, "Too many wrong tokens. Wait a minute.")
			case !s.guard.known(token):
				s.guard.tries.spend(addr)
				w.Header().Set("WWW-Authenticate", `Bearer realm="nsweep"`)
				s.fail(w, r, http.StatusUnauthorized, "This is not the token.")
			default:
				h(w, r)
			}
			return
		}
		if r.Method == http.MethodGet && wantsPage(r) {
			to := "/login"
			if r.URL.Path != "/" {
				to += "?next=" + url.QueryEscape(r.URL.RequestURI())
			}
			http.Redirect(w, r, to, http.StatusSeeOther)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="nsweep"`)
		s.fail(w, r, http.StatusUnauthorized, "The dashboard asks for its token.")
	}
}

// local returns a path of this server, whatever was asked for.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n") {
		return "/"
	}
	return next
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	if s.guard.open || s.guard.session(r) != "" {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.render(w, r, http.StatusOK, "login", page{Title: "Sign in", Next: local(r.URL.Query().Get("next"))})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if s.guard.open {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if !s.form(w, r) {
		return
	}
	again := page{Title: "Sign in", Next: local(r.PostForm.Get("next"))}
	addr := remote(r)
	if !s.guard.tries.allowed(addr) {
		again.Error = "Too many wrong tokens. Wait a minute."
		w.Header().Set("Retry-After", "60")
		s.render(w, r, http.StatusTooManyRequests, "login", again)
		return
	}
	if !s.guard.known(strings.TrimSpace(r.PostForm.Get("token"))) {
		s.guard.tries.spend(addr)
		s.o.Log.Warn("dashboard: wrong token", "from", addr)
		again.Error = "That is not the token."
		s.render(w, r, http.StatusUnauthorized, "login", again)
		return
	}
	s.guard.begin(w, r)
	http.Redirect(w, r, again.Next, http.StatusSeeOther)
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if !s.form(w, r) {
		return
	}
	if session := s.guard.session(r); !s.guard.genuine(session, r.PostForm.Get("csrf")) {
		s.fail(w, r, http.StatusForbidden, "The form is too old. Reload the page.")
		return
	}
	s.guard.end(w, r)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// form reads a form, or answers why it cannot be.
func (s *Server) form(w http.ResponseWriter, r *http.Request) bool {
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, http.StatusRequestEntityTooLarge, "The request is too large or damaged.")
		return false
	}
	return true
}

// find returns a fresh snapshot with the run of the address in detail, or
// answers that there is none.
func (s *Server) find(w http.ResponseWriter, r *http.Request) (*Snapshot, *RunView) {
	name := r.PathValue("run")
	if !jobs.NamePattern.MatchString(name) {
		s.fail(w, r, http.StatusNotFound, "No run can be called that.")
		return nil, nil
	}
	s.hub.look(name)
	began := s.now()
	snap := s.hub.until(r.Context(), s.o.waits.detail, func(x *Snapshot) bool {
		v := x.Run(name)
		return x.Lost != "" || (v != nil && v.read) || (v == nil && x.At.After(began.Add(-2*s.o.Pace)))
	})
	switch v := snap.maybe(name); {
	case snap == nil:
		s.fail(w, r, http.StatusServiceUnavailable, "The store has not answered yet.")
	case v == nil && snap.Lost != "":
		s.fail(w, r, http.StatusServiceUnavailable, "The store does not answer: "+snap.Lost)
	case v == nil && snap.damaged(name) != "":
		s.fail(w, r, http.StatusNotFound, snap.damaged(name))
	case v == nil:
		s.fail(w, r, http.StatusNotFound, "There is no run "+name+" in "+snap.Where+".")
	default:
		return snap, v
	}
	return nil, nil
}

func (s *Snapshot) maybe(name string) *RunView {
	if s == nil {
		return nil
	}
	return s.Run(name)
}

// window is the sweep and the n that a request is about.
type window struct {
	Sweep    *SweepView
	From, To int64
	Whole    bool // all n of the sweep
}

// windowOf reads sweep, from and to of a query. What is missing or makes no
// sense is the first sweep, its first and its last n.
func windowOf(v *RunView, q url.Values) window {
	var w window
	for i, s := range v.Sweeps {
		if i == 0 || s.Name == q.Get("sweep") {
			w.Sweep = s
		}
	}
	if w.Sweep == nil {
		return w
	}
	first, last := w.Sweep.Set.First(), w.Sweep.Set.Last()
	w.From, w.To = number(q.Get("from"), first), number(q.Get("to"), last)
	w.From, w.To = max(w.From, first), min(w.To, last)
	if w.From > w.To {
		w.From, w.To = first, last
	}
	w.Whole = w.From == first && w.To == last
	return w
}

// number reads an n as people write it, with or without separators.
func number(text string, otherwise int64) int64 {
	text = strings.NewReplacer(",", "", "_", "", " ", "", "\u202f", "").Replace(text)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > engine.MaxN {
		return otherwise
	}
	return n
}
