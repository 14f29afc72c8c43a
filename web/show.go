package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

func (s *Server) runsPage(w http.ResponseWriter, r *http.Request) {
	s.hub.look("")
	began := s.now()
	snap := s.hub.until(r.Context(), s.o.waits.detail, func(x *Snapshot) bool {
		return x.Lost != "" || x.At.After(began.Add(-2*s.o.Pace))
	})
	if snap == nil {
		s.fail(w, r, http.StatusServiceUnavailable, "The store has not answered yet.")
		return
	}
	parts, err := s.parts(snap, nil)
	if err != nil {
		s.broken(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "runs", page{Title: "Runs", Stream: "/stream", S: snap, Parts: htmlOf(parts)})
}

func (s *Server) runPage(w http.ResponseWriter, r *http.Request) {
	snap, v := s.find(w, r)
	if v == nil {
		return
	}
	parts, err := s.parts(snap, v)
	if err != nil {
		s.broken(w, r, err)
		return
	}
	p := page{Title: runTitle(v), Stream: "/stream?run=" + v.ID.Name, S: snap, R: v, Parts: htmlOf(parts),
		W: windowOf(v, r.URL.Query()), Query: r.URL.Query().Get("q")}
	if s.o.Kinds != nil && p.W.Sweep != nil {
		p.Plots = s.o.Kinds(p.W.Sweep.Sweep)
	}
	p.Extra = failuresOf(v, p.Query)
	s.render(w, r, http.StatusOK, "run", p)
}

func (s *Server) broken(w http.ResponseWriter, r *http.Request, err error) {
	s.o.Log.Error("dashboard: page not made", "path", r.URL.Path, "err", err)
	s.fail(w, r, http.StatusInternalServerError, "The page could not be made.")
}

// heatOf returns the map that a request asks for, or answers why there is none.
func (s *Server) heatOf(w http.ResponseWriter, r *http.Request) *Heat {
	_, v := s.find(w, r)
	if v == nil {
		return nil
	}
	q := r.URL.Query()
	win := windowOf(v, q)
	if win.Sweep == nil || win.Sweep.heat == nil {
		s.fail(w, r, http.StatusServiceUnavailable, "The ledger was not read yet.")
		return nil
	}
	bins, err := strconv.Atoi(q.Get("bins"))
	if err != nil || bins < 1 || bins > MaxBins {
		bins = MaxBins
	}
	h := win.Sweep.heat.heat(win.From, win.To, bins, q.Get("by") == "time")
	return &h
}

func (s *Server) heatJSON(w http.ResponseWriter, r *http.Request) {
	h := s.heatOf(w, r)
	if h == nil {
		return
	}
	b, err := json.Marshal(h)
	if err != nil {
		s.broken(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // the viewer may have gone
}

// heatSVG draws the map for pages without script.
func (s *Server) heatSVG(w http.ResponseWriter, r *http.Request) {
	h := s.heatOf(w, r)
	if h == nil {
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(h.svg()) // the viewer may have gone
}

// svg draws the bins as squares in rows, in colours that can be read on light
// and on dark.
func (h *Heat) svg() []byte {
	const columns, side = 80, 10
	other := map[int]string{}
	for _, list := range []struct {
		bins  [][2]int64
		color string
	}{{h.Running, "#3987e5"}, {h.Disputed, "#c98500"}, {h.Failed, "#e34948"}} {
		for _, b := range list.bins {
			other[int(b[0])] = list.color
		}
	}
	verified := make([]int64, len(h.Done))
	for _, b := range h.Verified {
		verified[b[0]] = b[1]
	}
	var b bytes.Buffer
	rows := (len(h.Los) + columns - 1) / columns
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">`, columns*side, rows*side)
	for i := range h.Los {
		size := int64(h.Width)
		if i < h.Extra {
			size++
		}
		color, opacity := "#199e70", float64(h.Done[i]+verified[i])/float64(size)
		if c := other[i]; c != "" {
			color, opacity = c, 1
		} else if opacity == 0 {
			color, opacity = "#888888", 0.25
		} else {
			opacity = 0.3 + 0.7*opacity
		}
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="%.2f"/>`,
			i%columns*side, i/columns*side, side-1, side-1, color, opacity)
	}
	b.WriteString("</svg>")
	return b.Bytes()
}

// maxFailures is how many failed stretches one page lists.
const maxFailures = 200

// failureList is the list of failed cells that match a query.
type failureList struct {
	Run    string
	Mark   string // changes with the list of all
	Query  string
	List   []jobs.Failure
	Match  int
	All    int
	Sweeps int
}

// failuresOf keeps the failures in which every word of the query occurs: in
// the sweep, the n, the worker or the error.
func failuresOf(v *RunView, query string) failureList {
	out := failureList{Run: v.ID.Name, Mark: failuresMark(v), Query: query, All: len(v.Failures), Sweeps: len(v.Sweeps)}
	words := strings.Fields(strings.ToLower(short(query, 200)))
	for _, f := range v.Failures {
		n := describe(TaskView{Lo: f.Lo, Hi: f.Hi, Points: f.Points})
		text := strings.ToLower(f.Sweep + " " + n + " " + f.Worker + " " + f.Error)
		fits := true
		for _, word := range words {
			fits = fits && (strings.Contains(text, word) || covers(f, word))
		}
		if !fits {
			continue
		}
		if out.Match++; len(out.List) < maxFailures {
			out.List = append(out.List, f)
		}
	}
	return out
}

// covers reports whether the word is an n of the failure.
func covers(f jobs.Failure, word string) bool {
	n := number(word, 0)
	if n == 0 {
		return false
	}
	for _, p := range f.Points {
		if p == n {
			return true
		}
	}
	return n >= f.Lo && n < f.Hi
}

func (s *Server) failuresPart(w http.ResponseWriter, r *http.Request) {
	_, v := s.find(w, r)
	if v == nil {
		return
	}
	s.fragment(w, r, "part-failures", failuresOf(v, r.URL.Query().Get("q")))
}

// fragment answers with a part of a page, for the script.
func (s *Server) fragment(w http.ResponseWriter, r *http.Request, name string, data any) {
	var b bytes.Buffer
	if err := s.pages.templates.ExecuteTemplate(&b, name, data); err != nil {
		s.broken(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = b.WriteTo(w) // the viewer may have gone
}

const (
	// maxPlots bounds the pictures drawn at a time, plotWithin the time of one.
	maxPlots   = 2
	plotWithin = 40 * time.Second
)

// plot draws a picture of the values in the window.
func (s *Server) plot(w http.ResponseWriter, r *http.Request) {
	kind, format, ok := strings.Cut(r.PathValue("file"), ".")
	if !ok || (format != "svg" && format != "png") || s.o.Plot == nil {
		s.fail(w, r, http.StatusNotFound, "There is no such picture.")
		return
	}
	_, v := s.find(w, r)
	if v == nil {
		return
	}
	win := windowOf(v, r.URL.Query())
	known := false
	if win.Sweep != nil {
		for _, k := range s.o.Kinds(win.Sweep.Sweep) {
			known = known || k.Kind == kind
		}
	}
	if !known {
		s.fail(w, r, http.StatusNotFound, "There is no such picture of this sweep.")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), plotWithin)
	defer cancel()
	select {
	case s.plots <- struct{}{}:
		defer func() { <-s.plots }()
	case <-ctx.Done():
		s.fail(w, r, http.StatusServiceUnavailable, "Too many pictures are asked for at a time.")
		return
	}
	var b bytes.Buffer
	if err := s.o.Plot(ctx, &b, v.ID.Name, win.Sweep.Name, kind, format, win.From, win.To+1); err != nil {
		code := http.StatusUnprocessableEntity
		if errors.Is(err, context.DeadlineExceeded) {
			code = http.StatusServiceUnavailable
		}
		s.fail(w, r, code, "The picture could not be drawn: "+err.Error())
		return
	}
	// A picture is its own document when it is opened alone: it may use its own
	// styles there, and still load nothing and run nothing.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
	w.Header().Set("Content-Type", map[string]string{"svg": "image/svg+xml", "png": "image/png"}[format])
	_, _ = b.WriteTo(w) // the viewer may have gone
}
