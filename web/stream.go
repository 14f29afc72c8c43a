package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// pingEvery is the longest silence on a stream.
const pingEvery = 15 * time.Second

// message is what a viewer is sent: the parts that differ from what it was
// sent last, and marks of what it must ask for itself.
type message struct {
	Seq   int64             `json:"seq"`
	State jobs.State        `json:"state,omitempty"`
	Title string            `json:"title"`
	Parts map[string]string `json:"parts"`
	// Heat has for each sweep the version of its map; Failures changes with the
	// list of failed cells, Values with the stored values.
	Heat     map[string]string `json:"heat,omitempty"`
	Failures string            `json:"failures,omitempty"`
	Values   int64             `json:"values,omitempty"`
	Gone     bool              `json:"gone,omitempty"`
}

// stream sends a page its changes as server-sent events until the viewer goes
// or the server ends. Between two messages it holds nothing but marks.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	run := r.URL.Query().Get("run")
	if run != "" && !jobs.NamePattern.MatchString(run) {
		s.fail(w, r, http.StatusBadRequest, "No run can be called that.")
		return
	}
	v, err := s.hub.join(run, remote(r))
	if err != nil {
		w.Header().Set("Retry-After", "10")
		s.fail(w, r, http.StatusServiceUnavailable, "Too many open pages.")
		return
	}
	defer v.leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // for proxies that would collect
	out := http.NewResponseController(w)
	send := func(text string) bool {
		// A writer without deadlines is a test's.
		_ = out.SetWriteDeadline(time.Now().Add(s.o.waits.message))
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	// A session that ends closes its stream.
	ended := time.NewTimer(sessionLasts)
	defer ended.Stop()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	if !send("retry: 2000\n\n") {
		return
	}
	marks := map[string]uint64{}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.hub.closed:
			return
		case <-ended.C:
			return
		case <-ping.C:
			if !send(": ping\n\n") {
				return
			}
		case <-v.wake:
			snap := s.hub.current()
			if snap == nil {
				continue
			}
			m, err := s.message(snap, run, marks)
			if err != nil {
				s.o.Log.Error("dashboard: update not made", "err", err)
				return
			}
			b, err := json.Marshal(m)
			if err != nil || !send("data: "+string(b)+"\n\n") {
				return
			}
		}
	}
}

// message tells what is new to a viewer who knows the parts with those marks,
// and updates the marks.
func (s *Server) message(snap *Snapshot, run string, marks map[string]uint64) (message, error) {
	m := message{Seq: snap.Seq, Title: "nsweep", Parts: map[string]string{}}
	v := snap.Run(run)
	if run != "" {
		if v == nil {
			m.Gone = true
			return m, nil
		}
		m.State, m.Title, m.Values, m.Failures = v.State, runTitle(v), v.Values, failuresMark(v)
		m.Heat = map[string]string{}
		for _, w := range v.Sweeps {
			if w.heat != nil {
				m.Heat[w.Name] = versionText(w.heat.version)
			}
		}
	}
	parts, err := s.parts(snap, v)
	if err != nil {
		return m, err
	}
	for name, p := range parts {
		if marks[name] != p.mark {
			m.Parts[name] = string(p.html)
			marks[name] = p.mark
		}
	}
	return m, nil
}

// runTitle is what a tab shows: how far the run is comes first.
func runTitle(v *RunView) string {
	if v.State == jobs.Running || v.State == jobs.Paused {
		return percent(v.Share) + " " + v.ID.Name
	}
	return v.ID.Name + " " + string(v.State)
}

func failuresMark(v *RunView) string {
	latest := int64(0)
	for _, f := range v.Failures {
		latest = max(latest, f.AtMs)
	}
	return fmt.Sprintf("%d.%d.%d", v.Rev, len(v.Failures), latest)
}
