package web

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nsweep/nsweep/jobs"
)

// maxEngines bounds the engines that have series of their own; the rest counts
// together as otherEngines.
const (
	maxEngines   = 32
	otherEngines = "_other"
)

// Metrics are the process's time series for Prometheus. It is safe for
// concurrent use. The series about runs appear once a [Server] follows a store;
// those about tasks once a worker observes one.
type Metrics struct {
	reg     *prometheus.Registry
	tasks   *prometheus.HistogramVec
	values  *prometheus.CounterVec
	cells   *prometheus.CounterVec
	latency prometheus.Histogram

	mu      sync.Mutex
	engines map[string]bool
}

// NewMetrics returns metrics with the series of the Go runtime and the process.
func NewMetrics() *Metrics {
	m := &Metrics{reg: prometheus.NewRegistry(), engines: map[string]bool{}}
	m.tasks = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "nsweep_task_duration_seconds", Help: "Time from taking a task to its end, by engine and outcome (done, early, failed).",
		// Tasks are cut to 2 to 10 s; single points can take days.
		Buckets: []float64{0.01, 0.1, 0.5, 1, 2, 4, 6, 8, 10, 15, 30, 60, 300, 1800, 7200, 43200, 259200},
	}, []string{"engine", "outcome"})
	m.values = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nsweep_worker_values_total", Help: "Values that this process computed and handed to the store, also those that it had already.",
	}, []string{"engine"})
	m.cells = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nsweep_worker_cells_total",
		Help: "Cells that this process handed to the store, by engine and what they were there (stored, same, stale, disputed).",
	}, []string{"engine", "result"})
	m.latency = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "nsweep_store_latency_seconds", Help: "Time of one round trip to the store (Redis TIME).",
		Buckets: []float64{0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 15},
	})
	m.reg.MustRegister(m.tasks, m.values, m.cells, m.latency, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// ObserveTask notes that a task of the engine ended after d: done, early when
// it was stopped from outside, or failed. Other outcomes count as failed.
func (m *Metrics) ObserveTask(engine, outcome string, d time.Duration) {
	if !slices.Contains([]string{"done", "early"}, outcome) {
		outcome = "failed"
	}
	m.tasks.WithLabelValues(m.known(engine), outcome).Observe(d.Seconds())
}

// ObserveCommit notes that the store took a commit with so many values of the
// engine, and what its cells and points were there.
func (m *Metrics) ObserveCommit(engine string, values int64, c jobs.Committed) {
	engine = m.known(engine)
	m.values.WithLabelValues(engine).Add(float64(values))
	for result, n := range map[string]int{"stored": c.Stored, "same": c.Same, "stale": c.Stale, "disputed": len(c.Disputed)} {
		m.cells.WithLabelValues(engine, result).Add(float64(n))
	}
}

// ObserveStore notes the time of one round trip to the store.
func (m *Metrics) ObserveStore(d time.Duration) { m.latency.Observe(d.Seconds()) }

// known returns the engine, or otherEngines when there are too many.
func (m *Metrics) known(engine string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.engines[engine] {
		if len(m.engines) >= maxEngines {
			return otherEngines
		}
		m.engines[engine] = true
	}
	return engine
}

// Handler serves the metrics. Whoever mounts it guards it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}
