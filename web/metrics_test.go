package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/nsweep/nsweep/jobs"
)

// gathered returns the metrics of a server that has looked once, as text.
func gathered(t *testing.T, s *still) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.o.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	f, r := lively(t)
	r.State = jobs.Paused // so that nothing depends on the time
	depth := map[string]int{"toy@1": 3}
	clock := f.clock // that of the beats
	s := newStill(t, f, Options{QueueDepth: func(context.Context) (map[string]int, error) { return depth, nil }})
	f.clock = clock
	s.hub.look("overnight")
	s.look(0)
	s.fold()
	s.look(time.Second)
	s.o.Metrics.ObserveTask("toy", "done", 3*time.Second)
	s.o.Metrics.ObserveTask("toy", "exploded", 20*time.Millisecond)
	s.o.Metrics.ObserveCommit("toy", 150, jobs.Committed{Stored: 2, Same: 1, Disputed: []int64{51}})
	text := gathered(t, s)
	for _, want := range []string{
		`nsweep_store_up 1`,
		`nsweep_runs{state="paused"} 1`,
		`nsweep_runs{state="cancelled"} 1`,
		`nsweep_cells{run="overnight",state="done"} 660`,
		`nsweep_cells{run="overnight",state="disputed"} 1`,
		`nsweep_cells{run="overnight",state="failed"} 2`,
		`nsweep_cells{run="overnight",state="running"} 40`,
		`nsweep_cells{run="overnight",state="open"} 300`,
		`nsweep_values_total{run="overnight"} 33001`,
		`nsweep_values_planned{run="overnight"} 50003`,
		`nsweep_checkpoints{run="overnight",status="ok"} 2`,
		`nsweep_tasks{run="overnight",state="waiting"} 1`,
		`nsweep_failures{run="overnight"} 2`,
		`nsweep_queue_depth{queue="toy@1"} 3`,
		`nsweep_workers 2`,
		`nsweep_worker_slots 12`,
		`nsweep_worker_slots_busy 2`,
		`nsweep_task_duration_seconds_count{engine="toy",outcome="done"} 1`,
		`nsweep_task_duration_seconds_sum{engine="toy",outcome="failed"} 0.02`,
		`nsweep_worker_values_total{engine="toy"} 150`,
		`nsweep_worker_cells_total{engine="toy",result="stored"} 2`,
		`nsweep_worker_cells_total{engine="toy",result="disputed"} 1`,
		`nsweep_worker_cells_total{engine="toy",result="stale"} 0`,
		`nsweep_store_latency_seconds_count 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}

	f.err = errNotThere
	s.look(time.Second)
	depth = nil
	if text := gathered(t, s); !strings.Contains(text, "nsweep_store_up 0\n") || strings.Contains(text, "nsweep_queue_depth{") {
		t.Error("a lost store is up, or an unknown depth is told")
	}
}

// TestTimeLeftIsTold: as soon as it is known, in seconds.
func TestTimeLeftIsTold(t *testing.T) {
	f := newFake()
	r := f.add("r", toySweep(t, "s", 50, 1, 5001))
	s := newStill(t, f, Options{})
	for i := range int64(11) { // one of a hundred cells a second
		r.finish("s", i, i+1)
		s.hub.look("r")
		s.look(time.Second)
		if told := strings.Contains(gathered(t, s), "nsweep_run_left_seconds{"); told != (i >= 8) {
			t.Errorf("after %d s: told %t", i, told)
		}
	}
	if text := gathered(t, s); !strings.Contains(text, `nsweep_run_left_seconds{run="r"} 89`+"\n") {
		t.Errorf("want 89 s for 89 cells:\n%s", text)
	}
}

// TestLabelsAreBounded has more runs, engines and queues than can have labels.
func TestLabelsAreBounded(t *testing.T) {
	f := newFake()
	depth := map[string]int{}
	s := newStill(t, f, Options{QueueDepth: func(context.Context) (map[string]int, error) { return depth, nil }})
	for i := range 100 {
		f.add(fmt.Sprintf("run%d", i), toySweep(t, "s", 50, 1, 101)).finish("s", 0, 1)
		s.o.Metrics.ObserveTask(fmt.Sprintf("engine%d", i), "done", time.Second)
		depth[fmt.Sprintf("queue%d@1", i)] = 1
	}
	s.look(0)
	text := gathered(t, s)
	count := func(label string) int {
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(label+`="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			seen[m[1]] = true
		}
		return len(seen)
	}
	if n := count("run"); n != maxLabels+1 {
		t.Errorf("%d runs have labels", n)
	}
	if n := count("engine"); n != maxEngines+1 {
		t.Errorf("%d engines have labels", n)
	}
	if n := count("queue"); n != maxQueueNames+1 {
		t.Errorf("%d queues have labels", n)
	}
	for _, want := range []string{
		`nsweep_values_total{run="_other"} 3400`, `nsweep_cells{run="_other",state="open"} 68`, `nsweep_queue_depth{queue="_other"} 36`,
		`nsweep_task_duration_seconds_count{engine="_other",outcome="done"} 68`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
	if jobs.NamePattern.MatchString(otherRuns) {
		t.Error("a run can be called as the rest is")
	}
}

// TestGrafana checks that the dashboard file asks for series that there are.
func TestGrafana(t *testing.T) {
	b, err := os.ReadFile("../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
			GridPos struct{ H, W, X, Y int }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	m := NewMetrics()
	described := make(chan *prometheus.Desc, 100)
	for _, c := range []prometheus.Collector{&runCollector{}, m.values, m.cells, m.tasks, m.latency} {
		c.Describe(described)
	}
	close(described)
	for d := range described {
		name := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]
		if strings.HasSuffix(name, "_seconds") && !strings.Contains(name, "left") && !strings.Contains(name, "age") {
			name += "_bucket"
		}
		known[name] = true
	}
	name := regexp.MustCompile(`nsweep_[a-z_]+`)
	asked := 0
	for _, p := range board.Panels {
		if p.GridPos.W <= 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q stands at %+v", p.Title, p.GridPos)
		}
		for _, q := range p.Targets {
			found := name.FindAllString(q.Expr, -1)
			if len(found) == 0 {
				t.Errorf("panel %q asks for nothing of ours: %s", p.Title, q.Expr)
			}
			for _, m := range found {
				asked++
				if !known[m] {
					t.Errorf("panel %q asks for %s, which there is not", p.Title, m)
				}
			}
		}
	}
	if asked < 10 {
		t.Errorf("the file asks for %d series only", asked)
	}
	// The manual lists every series.
	doc, err := os.ReadFile("../docs/DASHBOARD.md")
	if err != nil {
		t.Fatal(err)
	}
	for m := range known {
		if m = strings.TrimSuffix(m, "_bucket"); !strings.Contains(string(doc), "`"+m+"`") {
			t.Errorf("docs/DASHBOARD.md does not tell of %s", m)
		}
	}
}

func TestHealth(t *testing.T) {
	f := newFake()
	f.err = errNotThere
	_, base := serveFake(t, Options{Store: f, Pace: fast, IdlePace: fast, Token: secret})
	c := newClient(t, base)
	c.get("/healthz").want(t, 200, "ok")
	a := c.get("/readyz").want(t, 503)
	if strings.Contains(a.body, errNotThere.Error()) {
		t.Errorf("readyz tells too much: %s", a.body)
	}
	f.change(func() { f.err = nil })
	c.answers("/readyz", 200)
}
