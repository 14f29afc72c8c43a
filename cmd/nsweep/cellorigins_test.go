package main

import (
	"strings"
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// TestConfirmedOnThePage: the map and a cell's page show which cells a second
// computation confirmed, and whose that was.
func TestConfirmedOnThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	call(t, dir, nil, codeDone, "run", "toy.yaml", "--set", "sweeps.toy.n={to: 300, values: [1000]}", "--set", "verify=all")
	page := cli(t, dir, nil, "serve", "--listen", "127.0.0.1:0")
	status, body := page.page(dashboardOn, "run/toy/heat.json", "")
	if want := `"done":[0,0,0,0,0,0,0],"verified":[[0,1],[1,1],[2,1],[3,1],[4,1],[5,1],[6,1]]`; status != 200 || !strings.Contains(body, want) {
		t.Errorf("%d: no %s in %s", status, want, body)
	}
	for _, n := range []string{"60", "1000"} {
		status, body = page.page(dashboardOn, "run/toy/cell?sweep=toy&n="+n, "")
		_, first, ok1 := strings.Cut(body, "<dt>computed</dt>")
		_, second, ok2 := strings.Cut(body, "<dt>confirmed</dt>")
		if status != 200 || !ok1 || !ok2 || !strings.Contains(first, "algorithm plain") || !strings.Contains(second, "algorithm again") || strings.Contains(body, "<dt>before</dt>") {
			t.Errorf("the page of n = %s: %d\n%s", n, status, body)
		}
	}
	status, body = page.page(dashboardOn, "run/toy", "")
	if status != 200 || !strings.Contains(body, "7 verified, 7 must be") {
		t.Errorf("the run's page: %d\n%s", status, body)
	}
}

func TestOriginText(t *testing.T) {
	o := jobs.Origin{Worker: jobs.Worker{ID: "h:7:abcd", Host: "h", PID: 7}, Lo: 51, Hi: 101, Algorithm: "plain", StartedMs: 1500, Took: 2500 * time.Millisecond}
	if got, want := originText(o), "by h:7 (abcd), n = 51…100, algorithm plain, 1970-01-01T00:00:01.500Z, took 2.50 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	o.Points, o.Attempt = 3, 2
	if got, want := originText(o), "by h:7 (abcd), perhaps among 3 points 51…100, algorithm plain, 1970-01-01T00:00:01.500Z, took 2.50 s, attempt 3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
