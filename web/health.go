package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// readiness is how the last look at the store went.
type readiness struct {
	at  time.Time
	err error
}

func (s *Server) setReady(err error) { s.ready.Store(&readiness{s.now(), err}) }

// notReady returns why the server cannot show what is true now, or nil.
func (s *Server) notReady() error {
	r := s.ready.Load()
	if r.err != nil {
		return errors.New("the store does not answer")
	}
	if age := s.now().Sub(r.at); age > 3*s.o.IdlePace+s.o.waits.poll {
		return fmt.Errorf("the store was last read %s ago", age.Round(time.Second))
	}
	return nil
}

// healthz answers as long as the process does.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// readyz answers 200 while ready returns nil. It tells no more than that: it
// needs no token.
func readyz(ready func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := ready(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ready")
	}
}
