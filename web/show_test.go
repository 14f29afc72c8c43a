package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/jobs"
)

// large is a store with a run of that many cells, more than half of them done,
// in many stretches, with all that makes pages long.
func large(t testing.TB, cells int64) (*fakeStore, *fakeRun) {
	f := newFake()
	r := f.add("large", toySweep(t, "s", 1000, 1, 1000*cells+1))
	f.change(func() {
		for i := range cells {
			if i < cells/2 || i%3 == 0 {
				r.done["s"][i] = true
			}
		}
		for i := range int64(200) {
			w := f.worker(fmt.Sprintf("worker%d.cluster.example:%d", i, 4000+i), 64)
			lo := 1 + 1000*(cells/2+i*cells/1000)
			r.give(f, w.ID, "s", lo, lo+1000, 0.5, int(i%3))
		}
		for i := range int64(5000) {
			n := 1 + 1000*(cells/2+i*cells/20_000)
			r.failures = append(r.failures, jobs.Failure{Sweep: "s", Lo: n, Hi: n + 1000, Error: strings.Repeat("a long line of a log\n", 50), Worker: "worker", AtMs: i})
		}
	})
	return f, r
}

// maxPage is the largest that any answer may be.
const maxPage = 1 << 20

func TestSizes(t *testing.T) {
	for _, cells := range []int64{1000, 1_000_000} {
		f, r := large(t, cells)
		s, base := serveFake(t, Options{Store: f, Pace: fast})
		c := newClient(t, base)
		for _, path := range []string{"/", "/run/large", "/run/large/heat.json", "/run/large/heat.json?by=time", "/run/large/cells.svg", "/run/large/failures", "/run/large/cell?n=7"} {
			a := c.get(path).want(t, 200)
			t.Logf("%d cells: %s is %d bytes", cells, path, len(a.body))
			if len(a.body) > maxPage {
				t.Errorf("%d cells: %s is %d bytes", cells, path, len(a.body))
			}
		}
		m, err := s.message(s.hub.current(), "large", map[string]uint64{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(m)
		if err != nil || len(b) > maxPage {
			t.Errorf("%d cells: the first message is %d bytes, %v", cells, len(b), err)
		}
		var heat Heat
		if err := json.Unmarshal([]byte(c.get("/run/large/heat.json").body), &heat); err != nil {
			t.Fatal(err)
		}
		done := int64(0)
		for _, n := range heat.Done {
			done += n
		}
		if want := int64(len(r.done["s"])); done != want || int64(heat.Cells) != cells || len(heat.Los) > MaxBins {
			t.Errorf("%d cells: %d done on the map in %d bins, want %d", cells, done, len(heat.Los), want)
		}
	}
}

// BenchmarkLook measures one look at a run of a million cells: reading the
// fake's ledger is left out.
func BenchmarkHeat(b *testing.B) {
	for _, cells := range []int64{1000, 1_000_000} {
		b.Run(fmt.Sprint(cells), func(b *testing.B) {
			f, _ := large(b, cells)
			s := newStill(b, f, Options{})
			s.hub.look("large")
			h := s.look(0).Run("large").Sweeps[0].heat
			size := 0
			for b.Loop() {
				m := h.heat(1, 1000*cells, MaxBins, false)
				out, err := json.Marshal(&m)
				if err != nil {
					b.Fatal(err)
				}
				size = len(out)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// BenchmarkMessage measures what one look costs the server: the view of the
// run and the message for its viewers.
func BenchmarkMessage(b *testing.B) {
	for _, cells := range []int64{1000, 1_000_000} {
		b.Run(fmt.Sprint(cells), func(b *testing.B) {
			f, r := large(b, cells)
			s := newStill(b, f, Options{})
			s.hub.look("large")
			s.look(0)
			t := s.poller.tracks[r.ID]
			s.poller.folding = map[foldKey]bool{}
			for b.Loop() {
				t.sweeps[0].reads++ // as if the ledger were another
				v := t.view(s.poller, noon, true, f.workers, noon)
				snap := &Snapshot{Runs: []*RunView{v}, parts: newPartCache()}
				if _, err := s.message(snap, "large", map[string]uint64{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCell(t *testing.T) {
	f, r := lively(t)
	r.damaged[4] = true
	o := Options{Store: f, Pace: fast}
	o.Provenance = func(_ context.Context, id jobs.RunID, s jobs.Sweep, cell, n int64) ([]Fact, error) {
		if n == 30_051 {
			return nil, errors.New("nobody knows")
		}
		return []Fact{{"computed by", fmt.Sprintf("%s %s %d %d", id.Name, s.Name, cell, n)}}, nil
	}
	_, base := serveFake(t, o)
	c := newClient(t, base)
	for n, parts := range map[string][]string{
		"7":     {"Cell 0: n = 1…50", "s-done", "400 bytes, 8 a value", "✓ sound", string(digits(fmt.Sprint(toy(7)))), "overnight squares 0 1", "n=51"},
		"49":    {"Cell 0: n = 1…50"},
		"1,234": {"Cell 24: n = 1,201…1,250"},
		"201":   {"Cell 4", "✗ not what was computed"},
		"501":   {"s-disputed", "birch:4712: CRC-32C 00000007"},
		"30051": {"s-running", "alder:4711, 40.0 %, attempt 1", "nobody knows"},
		"40030": {"s-failed", "engine toy panicked", "giving up"},
		"50000": {"s-open", "Cell 999: n = 49,951…50,000"},
	} {
		a := c.get("/run/overnight/cell?sweep=squares&part=1&n="+n).want(t, 200, parts...)
		if strings.Contains(a.body, "<html") {
			t.Errorf("n = %s: a part is a whole page", n)
		}
	}
	c.get("/run/overnight/cell?sweep=far&n=10").want(t, 200, "<html", "Point n = 10", "✓ sound", string(digits(fmt.Sprint(toy(10)))))
	c.get("/run/overnight/cell?sweep=far&n=1000000").want(t, 200, "s-failed", "killed its worker")
	c.get("/run/overnight/cell?sweep=far&n=11").want(t, 404, "10, 1000, 1000000")
	c.get("/run/overnight/cell?n=0").want(t, 404)
	c.get("/run/overnight/cell").want(t, 404)
	c.get("/run/none/cell?n=1").want(t, 404, "no run none")
}

func TestFailures(t *testing.T) {
	f, _ := lively(t)
	_, base := serveFake(t, Options{Store: f, Pace: fast})
	c := newClient(t, base)
	for query, want := range map[string][2]bool{ // the failure of squares, that of far
		"": {true, true}, "PANICKED": {true, false}, "killed+alder": {false, true}, "killed+birch": {false, false},
		"40025": {true, false}, "1000000": {false, true}, "squares": {true, false}, "nothing+of+the+kind": {false, false}, "%3Cscript%3E": {false, false},
	} {
		a := c.get("/run/overnight/failures?part=1&q="+query).want(t, 200)
		got := [2]bool{strings.Contains(a.body, "engine toy panicked"), strings.Contains(a.body, "killed its worker")}
		if got != want {
			t.Errorf("query %q: %v, want %v\n%s", query, got, want, a.body)
		}
	}
	// The page filters without script too, and escapes what was asked.
	a := c.get("/run/overnight?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").want(t, 200, "0 stretches of 2 match")
	if strings.Contains(a.body, "<script>alert") {
		t.Error("the query is not escaped")
	}
}

// TestHostileText has names and errors that try to be markup.
func TestHostileText(t *testing.T) {
	f, r := lively(t)
	const bad = `</pre><script>alert("x")</script><img src=x onerror=alert(1)>`
	r.Reason, r.leader = bad, bad
	r.failures[0].Error, r.failures[0].Worker = bad+"\n"+bad, bad
	f.worker(bad, 1)
	f.workers[2].Host = bad
	s, base := serveFake(t, Options{Store: f, Pace: fast, Version: bad})
	c := newClient(t, base)
	for _, path := range []string{"/", "/run/overnight", "/run/overnight/failures", "/run/overnight/cell?n=40030"} {
		a := c.get(path).want(t, 200)
		if strings.Contains(a.body, "<script>") || strings.Contains(a.body, "<img src=x") {
			t.Errorf("%s carries markup from outside", path)
		}
	}
	m, err := s.message(s.hub.current(), "overnight", map[string]uint64{})
	if err != nil {
		t.Fatal(err)
	}
	for name, html := range m.Parts {
		if strings.Contains(html, "<script>") || strings.Contains(html, "<img src=x") {
			t.Errorf("part %s carries markup from outside", name)
		}
	}
}

func TestPlots(t *testing.T) {
	f, _ := lively(t)
	o := Options{Store: f, Pace: fast}
	o.Kinds = func(s jobs.Sweep) []Plot {
		if s.Name == "far" {
			return nil
		}
		return []Plot{{"value", "f(n)"}, {"ratio", "f(n)/n"}}
	}
	o.Plot = func(_ context.Context, w io.Writer, run, sweep, kind, format string, lo, hi int64) error {
		if kind == "ratio" {
			return errors.New("no values there")
		}
		_, err := fmt.Fprintf(w, "<svg>%s %s %s %s %d %d</svg>", run, sweep, kind, format, lo, hi)
		return err
	}
	_, base := serveFake(t, o)
	c := newClient(t, base)
	c.get("/run/overnight").want(t, 200, `data-kind="ratio"`)
	a := c.get("/run/overnight/plot/value.svg?sweep=squares&from=10&to=20").want(t, 200, "<svg>overnight squares value svg 10 21</svg>")
	if a.Header.Get("Content-Type") != "image/svg+xml" || strings.Contains(a.Header.Get("Content-Security-Policy"), "script-src") {
		t.Errorf("%v", a.Header)
	}
	c.get("/run/overnight/plot/value.png").want(t, 200, "png 1 50001")
	c.get("/run/overnight/plot/ratio.svg").want(t, 422, "no values there")
	for _, path := range []string{"value.gif", "value", "other.svg", "value.svg?sweep=far", "..%2fvalue.svg"} {
		c.get("/run/overnight/plot/"+path).want(t, 404)
	}
}

func TestWindow(t *testing.T) {
	f, r := lively(t)
	_ = f
	v := &RunView{Sweeps: []*SweepView{{Sweep: r.Sweeps[0]}, {Sweep: r.Sweeps[1]}}}
	for query, want := range map[string]string{
		"": "squares 1 50000 true", "sweep=far": "far 10 1000000 true", "sweep=none&from=5": "squares 5 50000 false", "from=7&to=9": "squares 7 9 false",
		"from=9&to=7": "squares 1 50000 true", "from=-3&to=1e9": "squares 1 50000 true", "from=1,000&to=2_000": "squares 1000 2000 false",
		"from=99999999999999999999": "squares 1 50000 true", "from=60000": "squares 1 50000 true",
	} {
		w := windowOf(v, values(t, query))
		if got := fmt.Sprint(w.Sweep.Name, " ", w.From, " ", w.To, " ", w.Whole); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}
