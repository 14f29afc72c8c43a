package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nsweep/nsweep/internal/redistest"
)

// page asks a process for an address below the one that it said it listens on.
func (p *proc) page(said *regexp.Regexp, path, token string) (status int, body string) {
	p.t.Helper()
	until(p.t, "the address", func() bool {
		select {
		case <-p.done:
			p.t.Fatalf("nsweep %v ended: %s", p.cmd.Args[1:], p.err.String())
		default:
		}
		return said.MatchString(p.err.String())
	})
	r, err := http.NewRequest("GET", said.FindStringSubmatch(p.err.String())[1]+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

var (
	metricsOn   = regexp.MustCompile(`metrics on (http://\S+:\d+/)metrics\n`)
	dashboardOn = regexp.MustCompile(`dashboard on (http://\S+:\d+/)\n`)
)

// metrics reads the series of a process by name and labels.
func (p *proc) metrics(said *regexp.Regexp) map[string]float64 {
	p.t.Helper()
	status, body := p.page(said, "metrics", "")
	if status != http.StatusOK {
		p.t.Fatalf("metrics: %d %s", status, body)
	}
	m := map[string]float64{}
	for line := range strings.Lines(body) {
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			p.t.Fatalf("line %q", line)
		}
		m[line[:i]] = v
	}
	return m
}

// TestMetrics scrapes a scheduler, two workers and a page while a run goes on
// and when it has ended, then takes Redis away and gives it back.
func TestMetrics(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	env := on(srv, "NSWEEP_TEST_TASK_CELLS=2")
	metricsAt := []string{"--metrics-listen", "127.0.0.1:0"}
	sched := cli(t, dir, append(env, "NSWEEP_METRICS_LISTEN=:0"), "scheduler")
	slow := cli(t, dir, append(env, "NSWEEP_TOY_PER_CELL=1s"), append(metricsAt, "worker", "--concurrency", "1")...)
	page := cli(t, dir, env, "serve", "--listen", ":0")
	call(t, dir, env, codeDone, "submit", "toy.yaml", "--set", "sweeps.toy.checkpoints=[{n: 60, value: 25380}]") // 7·60² + 3·60

	// Every series that the example for Grafana asks for comes from one of them.
	board, err := os.ReadFile(filepath.Join("..", "..", "docs", "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`nsweep_[a-z_]+`).FindAllString(string(board), -1)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	// The time left is told after a while only; a test of the page waits for it in
	// a time of its own.
	asked = slices.DeleteFunc(asked, func(name string) bool { return name == "nsweep_run_left_seconds" })
	var missing []string
	seen := map[string]bool{}
	until(t, "all series and a checkpoint", func() bool {
		for p, said := range map[*proc]*regexp.Regexp{sched: metricsOn, slow: metricsOn, page: dashboardOn} {
			for name := range p.metrics(said) {
				name, _, _ = strings.Cut(name, "{")
				seen[name] = true
			}
		}
		missing = slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return seen[name] })
		q := cli(t, dir, env, "status", "toy")
		if q.wait(); strings.Contains(q.out.String(), "complete") {
			t.Fatalf("the run has ended and nobody has told of %q", missing)
		}
		// The scheduler tells what it sums up itself.
		return len(missing) == 0 && sched.metrics(metricsOn)[`nsweep_checkpoints{run="toy",status="ok"}`] == 1
	})
	if len(asked) < 10 {
		t.Errorf("the example asks for %q only", asked)
	}

	// A second worker, which is fast, brings the run to its end.
	quick := cli(t, dir, env, append(metricsAt, "worker", "--concurrency", "2")...)
	m, differs := map[string]float64{}, ""
	atEnd := map[string]float64{
		`nsweep_runs{state="complete"}`:  1,
		`nsweep_values_total{run="toy"}`: 5000, `nsweep_values_planned{run="toy"}`: 5000, `nsweep_run_done_ratio{run="toy"}`: 1,
		`nsweep_cells{run="toy",state="done"}`: 100, `nsweep_cells{run="toy",state="open"}`: 0,
		`nsweep_workers`: 2, `nsweep_worker_slots`: 3, `nsweep_store_up`: 1, `nsweep_queue_depth{queue="toy@1"}`: 0,
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(differs)
		}
	})
	until(t, "the end", func() bool {
		m, differs = sched.metrics(metricsOn), ""
		for series, want := range atEnd {
			if got, ok := m[series]; !ok || got != want {
				differs = fmt.Sprintf("the scheduler has %s %g, want %g", series, got, want)
			}
		}
		return differs == ""
	})
	// On a busy machine a worker may seem dead, and its cells come twice.
	var values, stored, same, tasks float64
	for _, w := range []*proc{slow, quick} {
		m := w.metrics(metricsOn)
		v := m[`nsweep_worker_values_total{engine="toy"}`]
		if v == 0 || m[`nsweep_store_latency_seconds_count`] == 0 || m[`nsweep_store_up`] != 1 {
			t.Errorf("a worker has %v", m)
		}
		values += v
		stored += m[`nsweep_worker_cells_total{engine="toy",result="stored"}`]
		same += m[`nsweep_worker_cells_total{engine="toy",result="same"}`]
		for _, outcome := range []string{"done", "early", "failed"} {
			tasks += m[`nsweep_task_duration_seconds_count{engine="toy",outcome="`+outcome+`"}`]
		}
		if sum := m[`nsweep_task_duration_seconds_sum{engine="toy",outcome="done"}`]; w == slow && sum < 2 {
			t.Errorf("tasks of two cells of 1 s took %g s in all", sum)
		}
	}
	again := m[`nsweep_cells_repeated_total{run="toy"}`]
	if stored != 100 || same != again || values != 5000+50*again || 2*tasks < stored+same {
		t.Errorf("workers have %g values, %g new cells, %g repeated ones, %g tasks; the store repeated %g", values, stored, same, tasks, again)
	}

	// Without Redis they live but are not ready.
	ready := func(want int) {
		t.Helper()
		for _, p := range []*proc{sched, quick} {
			until(t, "readiness", func() bool {
				status, _ := p.page(metricsOn, "readyz", "")
				return status == want
			})
		}
	}
	ready(http.StatusOK)
	srv.Kill()
	ready(http.StatusServiceUnavailable)
	for _, p := range []*proc{sched, quick} {
		if status, _ := p.page(metricsOn, "healthz", ""); status != http.StatusOK || p.metrics(metricsOn)["nsweep_store_up"] != 0 {
			t.Errorf("nsweep %v: healthz %d, metrics %v", p.cmd.Args[1:], status, p.metrics(metricsOn))
		}
	}
	srv.Restart()
	ready(http.StatusOK)
	for _, p := range []*proc{sched, quick} {
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.ends(codeDone)
	}
}

// TestMetricsToken: beyond this machine a token is asked for, before anything
// is opened; a run serves its metrics as well.
func TestMetricsToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const token = "a-token-of-the-test-0123"
	nowhere := "NSWEEP_REDIS_URL=redis://127.0.0.1:1/0"
	for _, c := range []struct {
		env  []string
		args string
		want string
	}{
		{nil, "scheduler --metrics-listen 0.0.0.0:0", "--metrics-listen 0.0.0.0:0 can be reached from other machines: give a --metrics-token-file or NSWEEP_METRICS_TOKEN of at least 16 characters"},
		{nil, "worker --metrics-listen [::]:0", "can be reached from other machines"},
		{[]string{"NSWEEP_METRICS_TOKEN=short"}, "worker --metrics-listen :0", "the token for --metrics-listen has 5 characters"},
		{nil, "worker --metrics-listen 8392", "8392 is no address to listen on; want HOST:PORT such as 127.0.0.1:8392"},
		{nil, "scheduler --metrics-listen :0 --metrics-token-file nosuch", "metrics.token_file: nosuch cannot be read"},
		{nil, "serve --metrics-listen :0", "unknown flag: --metrics-listen"},
	} {
		_, errs := call(t, dir, append(c.env, nowhere), codeUsage, strings.Fields(c.args)...)
		if !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 || strings.Contains(errs, "short") {
			t.Errorf("nsweep %s says %q, want one line with %q", c.args, errs, c.want)
		}
	}

	write(t, dir, "toy.yaml", toyYAML+"metrics: {listen: \"0.0.0.0:0\", token_file: token}\n")
	write(t, dir, "token", token+"\n")
	p := cli(t, dir, []string{"NSWEEP_TOY_PER_CELL=60s"}, "run", "toy.yaml")
	get := func(token string) (int, string) { return p.page(metricsOn, "metrics", token) }
	if status, body := get(""); status != http.StatusUnauthorized || strings.Contains(body, "nsweep_") {
		t.Errorf("without token: %d %s", status, body)
	}
	until(t, "the run", func() bool {
		status, body := get(token)
		return status == http.StatusOK && strings.Contains(body, `nsweep_values_planned{run="toy"} 5000`)
	})
	if strings.Contains(p.err.String(), token) {
		t.Error("the token is shown")
	}
	p.cmd.Process.Signal(syscall.SIGINT)
	p.ends(codeStopped)
}
