package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hibiken/asynq"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/scheduler"
	"github.com/nsweep/nsweep/web"
	"github.com/nsweep/nsweep/worker"
)

// timings are the intervals that tests shorten.
type timings struct {
	beat, silence, lookup, grace, lead, ahead, watch, undecided time.Duration
}

// intervals returns the defaults, divided by NSWEEP_TEST_SPEEDUP where a test
// build sets it.
func intervals() timings {
	k := time.Duration(speedup())
	return timings{
		beat: 5 * time.Second / k, silence: 35 * time.Second / k, lookup: 5 * time.Second / k,
		grace: 12 * time.Second / k, lead: 10 * time.Second / k, ahead: 10 * time.Second / k,
		watch: 5 * time.Second / k, undecided: time.Minute / k,
	}
}

// self introduces this process.
func self(slots int) jobs.Worker {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var b [4]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return jobs.Worker{
		ID: fmt.Sprintf("%s:%d:%s%s", host, os.Getpid(), processTable(), hex.EncodeToString(b[:])), Host: host, PID: os.Getpid(), Slots: slots,
		Build: version(), CPU: cpuModel(),
	}
}

// processTable names, in 8 characters, the table that this process' number is
// from: this start of this machine and this container. It is empty where the
// system does not tell. A host's name does not do: machines and containers that
// share one are common, and a process of another table would look dead.
var processTable = sync.OnceValue(func() string {
	boot, err1 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, err2 := os.Readlink("/proc/self/ns/pid")
	if err1 != nil || err2 != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(string(boot) + namespace + testTable()))
	return hex.EncodeToString(sum[:4])
})

// deadHere reports whether the worker was a process of this machine that is
// gone. It spares a run that is started again after a kill the wait for the
// silence of its own past.
func deadHere(worker string) bool {
	_, rest, _ := strings.Cut(worker, ":")
	text, tail, _ := strings.Cut(rest, ":")
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 || processTable() == "" || !strings.HasPrefix(tail, processTable()) {
		return false
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// slots returns the number of tasks at a time.
func slots(w config.Workers) int {
	if w.Concurrency > 0 {
		return w.Concurrency
	}
	return runtime.GOMAXPROCS(0)
}

// newWorker builds a worker and its asynq server on the given queues. Tasks may
// take up to drain to end once it is told to stop. What they do shows in m.
func (a *app) newWorker(st *opened, me jobs.Worker, drain time.Duration, m *web.Metrics) (*worker.Worker, *asynq.Server) {
	t := intervals()
	log := a.log().With("worker", me.ID)
	w := worker.New(st.Store, a.reg, worker.Options{Self: me, BeatEvery: t.beat, SaveEvery: 6 * t.beat, DrainTimeout: drain,
		OnTask: m.ObserveTask, OnCommit: m.ObserveCommit, Log: log})
	srv := asynq.NewServerFromRedisClient(st.Client(), jobs.ServerConfig(jobs.QueueWeights(me.Queues), me.Slots, worker.HandBack, log))
	return w, srv
}

// queues returns the queues of the named engines, of every priority.
func (a *app) queues(engines []string) ([]string, error) {
	var qs []string
	for _, name := range engines {
		e, err := a.reg.Get(name)
		if err != nil {
			return nil, err
		}
		qs = append(qs, jobs.Queues(e.Info().Name, e.Info().Version)...)
	}
	return qs, nil
}

// newService builds the scheduler. The transport's client and inspector share
// the store's connections, which are closed last. What it sums up is in have.
func (a *app) newService(st *opened, owner string, model *scheduler.Model, have *sums, onProgress func(scheduler.Progress)) *scheduler.Service {
	t := intervals()
	client := asynq.NewClientFromRedisClient(st.Client())
	inspector := asynq.NewInspectorFromRedisClient(st.Client())
	return &scheduler.Service{
		Store: st.Store, Queue: jobs.NewTransport(client, inspector), Model: model,
		NewChecker: func(run jobs.Run) scheduler.Checker {
			c := newChecker(st.Store, run)
			c.spent = st.spent
			have.add(c)
			return c
		},
		Options: scheduler.Options{
			Owner: owner, SilenceAfter: t.silence, LookupAfter: t.lookup, Grace: t.grace, LeadFor: t.lead, Ahead: t.ahead, Undecided: t.undecided,
			MaxCells: taskCells(), Dead: deadHere, OnProgress: onProgress, Log: a.log(),
		},
	}
}

// wait blocks for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
