package web

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nsweep/nsweep/jobs"
)

const (
	// maxLabels is how many runs have time series of their own: those under
	// way first, then the youngest. The rest counts together as otherRuns.
	maxLabels = 32
	// otherRuns is no name that a run can have.
	otherRuns = "_other"
	// depthWithin bounds how long a scrape waits for the queues.
	depthWithin = 2 * time.Second
)

// follow adds the series about runs. A second server in one process would give
// the same ones twice, so only the first is followed.
func (m *Metrics) follow(h *hub, o *Options) {
	_ = m.reg.Register(&runCollector{hub: h, depth: o.QueueDepth, bare: o.MetricsOnly})
}

// runCollector makes series from the latest snapshot when it is asked.
type runCollector struct {
	hub   *hub
	depth func(context.Context) (map[string]int, error)
	bare  bool // there is no page to view
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("nsweep_"+name, help, labels, nil)
}

var (
	descUp        = desc("store_up", "1 while the store answers, else 0.")
	descAge       = desc("snapshot_age_seconds", "Age of what the series about runs were made from.")
	descRuns      = desc("runs", "Runs by state.", "state")
	descCells     = desc("cells", "Cells of the ledger by state.", "run", "state")
	descValues    = desc("values_total", "Values stored.", "run")
	descPlanned   = desc("values_planned", "Values that the run will have.", "run")
	descRepeated  = desc("cells_repeated_total", "Cells that were computed again with the same values.", "run")
	descShare     = desc("run_done_ratio", "Share of the run that is done, by estimated cost, 0 to 1.", "run")
	descLeft      = desc("run_left_seconds", "Estimated time left, the longer estimate; absent while unknown.", "run")
	descChecks    = desc("checkpoints", "Checkpoints by how they stand.", "run", "status")
	descTasks     = desc("tasks", "Tasks given out: running with a worker, waiting without.", "run", "state")
	descFailures  = desc("failures", "Stretches of n that could not be computed.", "run")
	descShut      = desc("workers_quarantined", "Workers from which the run takes nothing any more, because they computed wrong values.", "run")
	descDepth     = desc("queue_depth", "Tasks waiting in asynq, by queue.", "queue")
	descWorkers   = desc("workers", "Worker processes alive.")
	descSlots     = desc("worker_slots", "Slots of all workers.")
	descBusy      = desc("worker_slots_busy", "Slots with a running task.")
	descViewers   = desc("dashboard_viewers", "Open streams.")
	descRefused   = desc("dashboard_streams_refused_total", "Streams refused because there were too many.")
	descSkipped   = desc("dashboard_updates_skipped_total", "Updates that a slow viewer never saw.")
	descriptions  = []*prometheus.Desc{descUp, descAge, descRuns, descCells, descValues, descPlanned, descRepeated, descShare, descLeft, descChecks, descTasks, descFailures, descShut, descDepth, descWorkers, descSlots, descBusy, descViewers, descRefused, descSkipped}
	runStates     = []jobs.State{jobs.Running, jobs.Paused, jobs.Complete, jobs.Halted, jobs.Failed, jobs.Cancelled}
	maxQueueNames = 64
)

func (c *runCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descriptions {
		ch <- d
	}
}

func (c *runCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	if !c.bare {
		viewers, refused, skipped := c.hub.stats()
		gauge(descViewers, float64(viewers))
		counter(descRefused, float64(refused))
		counter(descSkipped, float64(skipped))
	}
	c.queues(gauge)
	s := c.hub.current()
	if s == nil || s.Lost != "" {
		gauge(descUp, 0)
	} else {
		gauge(descUp, 1)
	}
	if s == nil {
		return
	}
	gauge(descAge, c.hub.now().Sub(s.At).Seconds())
	states := map[jobs.State]int{}
	for _, r := range s.Runs {
		states[r.State]++
	}
	for _, st := range runStates {
		gauge(descRuns, float64(states[st]), string(st))
	}
	gauge(descRuns, float64(len(s.Damaged)), "damaged")
	slots, busy := 0, 0
	for _, w := range s.Workers {
		slots += w.Slots
		busy += w.Busy
	}
	gauge(descWorkers, float64(len(s.Workers)))
	gauge(descSlots, float64(slots))
	gauge(descBusy, float64(busy))
	for _, r := range labelled(s.Runs) {
		r.collect(gauge, counter)
	}
}

func (c *runCollector) queues(gauge func(*prometheus.Desc, float64, ...string)) {
	if c.depth == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), depthWithin)
	defer cancel()
	depths, err := c.depth(ctx)
	if err != nil {
		return // the series is absent: nothing is known
	}
	names := make([]string, 0, len(depths))
	for q := range depths {
		names = append(names, q)
	}
	slices.Sort(names)
	rest := 0
	for i, q := range names {
		if i < maxQueueNames {
			gauge(descDepth, float64(depths[q]), q)
		} else {
			rest += depths[q]
		}
	}
	if len(names) > maxQueueNames {
		gauge(descDepth, float64(rest), "_other")
	}
}

// series is what is told of one run or of the rest together.
type series struct {
	run                        string
	cells                      CellCounts
	values, planned, repeated  int64
	checks                     CheckCounts
	running, waiting, failures int
	shut                       int
	share, left                float64 // negative: not told
}

// labelled sums runs up into at most maxLabels series and one for the rest.
// Runs are in the order of snapshots: under way first, then the youngest.
func labelled(runs []*RunView) []*series {
	var out []*series
	for i, r := range runs {
		var x *series
		if i < maxLabels {
			x = &series{run: r.ID.Name, share: r.Share, left: -1}
			if r.Left.Known {
				x.left = r.Left.Most.Seconds()
			}
			out = append(out, x)
		} else {
			if i == maxLabels {
				out = append(out, &series{run: otherRuns, share: -1, left: -1})
			}
			x = out[maxLabels]
		}
		x.cells.Add(r.Cells)
		x.values += r.Values
		x.planned += r.Total
		for _, s := range r.Sweeps {
			x.repeated += s.Repeated
		}
		c := r.Checks()
		x.checks.OK += c.OK
		x.checks.Mismatch += c.Mismatch
		x.checks.Pending += c.Pending
		x.running += len(r.Tasks)
		x.waiting += r.Waiting
		x.failures += len(r.Failures)
		x.shut += len(r.Quarantine)
	}
	return out
}

func (x *series) collect(gauge, counter func(*prometheus.Desc, float64, ...string)) {
	for _, c := range []struct {
		state string
		n     int64
	}{{"open", x.cells.Open}, {"running", x.cells.Running}, {"done", x.cells.Done}, {"verified", x.cells.Verified}, {"disputed", x.cells.Disputed}, {"failed", x.cells.Failed}} {
		gauge(descCells, float64(c.n), x.run, c.state)
	}
	counter(descValues, float64(x.values), x.run)
	gauge(descPlanned, float64(x.planned), x.run)
	counter(descRepeated, float64(x.repeated), x.run)
	if x.share >= 0 {
		gauge(descShare, x.share, x.run)
	}
	if x.left >= 0 {
		gauge(descLeft, x.left, x.run)
	}
	gauge(descChecks, float64(x.checks.OK), x.run, "ok")
	gauge(descChecks, float64(x.checks.Mismatch), x.run, "mismatch")
	gauge(descChecks, float64(x.checks.Pending), x.run, "pending")
	gauge(descTasks, float64(x.running), x.run, "running")
	gauge(descTasks, float64(x.waiting), x.run, "waiting")
	gauge(descFailures, float64(x.failures), x.run)
	gauge(descShut, float64(x.shut), x.run)
}
