package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
)

//go:embed pages assets
var files embed.FS

// pages holds the templates and the embedded files.
type pages struct {
	templates *template.Template
	assets    map[string][]byte
	version   string // of the assets, part of their address
}

var functions = template.FuncMap{
	"group": report.Group, "digits": digits, "percent": percent, "width": width, "rate": rate, "span": report.Span,
	"plural": report.Plural[int], "letter": report.Letter, "sumName": report.SumName, "checkName": checkName, "firstLine": firstLine, "short": short,
	"spark": sparkline, "describe": describe, "title": title, "int": func(n aggregator.Int) int64 { return int64(n) },
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"clock":   func(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" },
	"ms":      func(ms int64) time.Time { return time.UnixMilli(ms) },
	"hex":     func(n uint32) string { return fmt.Sprintf("%08x", n) },
	"setText": setText, "worker": shortWorker,
	"failed": func(f jobs.Failure) string {
		return describe(TaskView{Lo: f.Lo, Hi: f.Hi, Points: f.Points})
	},
	"slots": slotsText, "shown": shownChecks, "hidden": hiddenChecks, "tick": tick, "statusText": statusText,
	"next": func(n int) int { return n + 1 }, "add": func(a, b int64) int64 { return a + b },
	"multi": func(s string) bool { return firstLine(s) != s }, "tail": tail,
}

// title writes a state as the label of a chip.
func title(s jobs.State) string { return string(s) }

func newPages() (*pages, error) {
	t, err := template.New("").Funcs(functions).ParseFS(files, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("web: templates: %w", err)
	}
	p := &pages{templates: t, assets: map[string][]byte{}}
	sum := sha256.New()
	err = fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(name)
		p.assets[path.Base(name)] = b
		fmt.Fprintln(sum, name, len(b))
		sum.Write(b)
		return err
	})
	p.version = hex.EncodeToString(sum.Sum(nil)[:6])
	return p, err
}

// asset serves an embedded file. Its address changes with its content, so it
// may be kept for ever.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) {
	b, ok := p.assets[r.PathValue("file")]
	if !ok || r.PathValue("version") != p.version {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, r.PathValue("file"), time.Time{}, bytes.NewReader(b))
}

// page is what a template is given.
type page struct {
	Title   string
	Error   string
	Next    string
	Assets  string
	Version string
	Where   string
	CSRF    string
	Open    bool // no token is asked for
	Signed  bool
	// Stream is the address of the stream; empty for pages that stand still.
	Stream   string
	ReadOnly bool

	S *Snapshot
	R *RunView
	W window
	// Parts are the parts of the page that the stream replaces.
	Parts map[string]template.HTML
	Plots []Plot
	Query string
	Extra any
}

// render answers with a page. The session of a server without token begins
// here, so that its forms can carry what other sites do not know.
func (s *Server) render(w http.ResponseWriter, r *http.Request, code int, name string, p page) {
	session := s.guard.session(r)
	if session == "" && s.guard.open {
		session = s.guard.begin(w, r)
	}
	p.Signed, p.Open = session != "", s.guard.open
	if p.Signed {
		p.CSRF = s.guard.csrf(session)
		p.Where = s.o.Store.Where()
	}
	p.Assets, p.Version, p.ReadOnly = "/assets/"+s.pages.version, s.o.Version, s.o.ReadOnly
	var b bytes.Buffer
	if err := s.pages.templates.ExecuteTemplate(&b, name, p); err != nil {
		s.o.Log.Error("dashboard: page not made", "page", name, "err", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = b.WriteTo(w) // the viewer may have gone
}

// fail answers with an error: as a page to browsers, as a line to programs.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, code int, text string) {
	if wantsPage(r) && s.pages != nil {
		s.render(w, r, code, "error", page{Title: http.StatusText(code), Error: text})
		return
	}
	http.Error(w, text, code)
}

// wantsPage reports whether the answer is for a window of a browser.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && r.URL.Query().Get("part") == ""
}

// part is a rendered part of a page with a mark that changes with it.
type part struct {
	html template.HTML
	mark uint64
}

// partCache keeps the parts of one snapshot: they are made once for all
// viewers, and only when somebody asks.
type partCache struct {
	mu    sync.Mutex
	parts map[string]part
}

func newPartCache() *partCache { return &partCache{parts: map[string]part{}} }

// parts lists the parts of a page in the order they are made.
var (
	runsParts = []string{"banner", "runs", "workers", "events"}
	runParts  = []string{"banner", "heading", "facts", "sweeps", "workers", "tasks", "events"}
)

// partData is what the template of a part is given. R is nil on the list of
// runs.
type partData struct {
	S        *Snapshot
	R        *RunView
	ReadOnly bool
}

// Events returns the events of the run or of all runs, the latest first.
func (d partData) Events() []Event {
	var out []Event
	for i := len(d.S.Events) - 1; i >= 0 && len(out) < 40; i-- {
		if e := d.S.Events[i]; d.R == nil || e.Run == "" || e.Run == d.R.ID.Name {
			out = append(out, e)
		}
	}
	return out
}

// Workers returns the run's workers or all.
func (d partData) Workers() []WorkerView {
	if d.R != nil {
		return d.R.Workers
	}
	return d.S.Workers
}

// parts renders the parts of the page about the run, or about all runs when
// run is nil.
func (s *Server) parts(snap *Snapshot, run *RunView) (map[string]part, error) {
	names, prefix := runsParts, ""
	if run != nil {
		names, prefix = runParts, run.ID.Name
	}
	snap.parts.mu.Lock()
	defer snap.parts.mu.Unlock()
	out := map[string]part{}
	for _, name := range names {
		key := prefix + "/" + name
		p, ok := snap.parts.parts[key]
		if !ok {
			var b bytes.Buffer
			if err := s.pages.templates.ExecuteTemplate(&b, "part-"+name, partData{snap, run, s.o.ReadOnly}); err != nil {
				return nil, err
			}
			h := fnv.New64a()
			h.Write(b.Bytes())
			// html/template has escaped what came from outside.
			p = part{template.HTML(b.String()), h.Sum64()}
			snap.parts.parts[key] = p
		}
		out[name] = p
	}
	return out, nil
}

func htmlOf(parts map[string]part) map[string]template.HTML {
	out := map[string]template.HTML{}
	for name, p := range parts {
		out[name] = p.html
	}
	return out
}
