package web

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveProbe serves until the test ends and returns the address.
func serveProbe(t *testing.T, o ProbeOptions) string {
	t.Helper()
	o.waits = patient
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ServeProbe(ctx, ln, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

// answers asks until the status is that one.
func (c *client) answers(path string, status int) {
	c.t.Helper()
	for deadline := time.Now().Add(hang); c.get(path).StatusCode != status; {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s never answers %d", path, status)
		}
	}
}

func TestProbe(t *testing.T) {
	m := NewMetrics()
	m.ObserveTask("hopping", "done", time.Second)
	var away atomic.Bool
	clock := func(context.Context) (time.Time, error) {
		if away.Load() {
			return time.Time{}, errNotThere
		}
		return time.Now(), nil
	}
	c := newClient(t, serveProbe(t, ProbeOptions{Metrics: m, Time: clock, Pace: time.Millisecond}))
	c.answers("/readyz", 200)
	c.get("/metrics").want(t, 200, `nsweep_task_duration_seconds_count{engine="hopping",outcome="done"} 1`, "go_goroutines", "nsweep_store_up 1\n")
	if a := c.get("/metrics"); strings.Contains(a.body, "nsweep_store_latency_seconds_count 0\n") {
		t.Error("the store's answers are not timed")
	}
	c.get("/healthz").want(t, 200)
	away.Store(true)
	c.answers("/readyz", 503)
	if a := c.get("/readyz"); strings.Contains(a.body, errNotThere.Error()) {
		t.Errorf("readyz tells too much: %s", a.body)
	}
	c.get("/metrics").want(t, 200, "nsweep_store_up 0\n")
	c.get("/healthz").want(t, 200)
	away.Store(false)
	c.answers("/readyz", 200)
	c.get("/").want(t, 404)
	c.get("/metrics", "Host", "evil.example").want(t, 421)

	// With a token the name does not matter.
	c = newClient(t, serveProbe(t, ProbeOptions{Metrics: NewMetrics(), Time: clock, Token: secret}))
	c.get("/metrics").want(t, 401)
	c.get("/metrics", "Authorization", "Bearer "+secret).want(t, 200)
	c.get("/metrics", "Authorization", "Bearer "+secret, "Host", "worker.lan:8392").want(t, 200)
	c.get("/metrics", "Authorization", "Bearer wrong", "Host", "evil.example").want(t, 401)
	c.get("/healthz").want(t, 200)

	for name, o := range map[string]ProbeOptions{
		"no token":  {Metrics: NewMetrics(), Time: clock},
		"no store":  {Metrics: NewMetrics(), Token: secret},
		"bad token": {Metrics: NewMetrics(), Token: "x", Time: clock},
		"in use":    {Metrics: m, Token: secret, Time: clock},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := ServeProbe(context.Background(), otherMachines{ln}, o); err == nil {
			t.Errorf("%s: served", name)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v, want a closed listener", name, err)
		}
	}
}

// TestMetricsOnly: a server without pages follows runs all the same.
func TestMetricsOnly(t *testing.T) {
	f := newFake()
	f.add("r", toySweep(t, "s", 50, 1, 501)).finish("s", 0, 4)
	_, base := serveFake(t, Options{Store: f, Pace: fast, IdlePace: fast, MetricsOnly: true})
	c := newClient(t, base)
	c.answers("/readyz", 200)
	a := c.get("/metrics").want(t, 200, `nsweep_values_total{run="r"} 200`, `nsweep_cells{run="r",state="done"} 4`, "nsweep_store_up 1\n")
	if strings.Contains(a.body, "dashboard") {
		t.Error("there are series about a page that there is not")
	}
	for _, path := range []string{"/", "/run/r", "/login", "/stream"} {
		c.get(path).want(t, 404)
	}
}
