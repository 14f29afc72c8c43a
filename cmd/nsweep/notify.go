package main

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/web"
)

// noticeGrace is how long messages that wait may take when the process ends.
const noticeGrace = 5 * time.Second

// messenger tells webhooks how runs go on. It looks at the store now and then;
// what it looks at goes to one notifier for each epoch.
type messenger struct {
	app  *app
	st   *opened
	only string // the name of the one run to look at, or empty for all

	started map[jobs.RunID]*teller
	looked  bool // the runs were read before
	senders sync.WaitGroup
}

// teller sends the messages about one epoch.
type teller struct {
	notifier *web.Notifier
	stop     func() // has the sender try what waits once more and end
}

// run looks until ctx ends, once more after it, and waits for what is under way.
func (m *messenger) run(ctx, send context.Context, stop func()) {
	for ctx.Err() == nil {
		wait(ctx, time.Second)
		m.look(ctx, send)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeGrace)
	m.look(last, send)
	cancel()
	stop()
	m.senders.Wait()
}

// look reads how the runs stand. A store out of reach is looked at again.
func (m *messenger) look(ctx, send context.Context) {
	runs, err := m.runs(ctx)
	damaged, err := jobs.Damaged(err)
	if err != nil {
		return
	}
	m.forget(runs, damaged)
	looked := m.looked
	m.looked = true
	for _, run := range runs {
		_, known := m.started[run.ID]
		n := m.notifier(send, run)
		if n == nil {
			continue
		}
		if looked && !known {
			// It was handed over since the last look, and may have ended since.
			began := run
			began.State = jobs.Running
			n.Observe(began, 0, 0)
		}
		counts, err := m.st.Counts(ctx, run.ID)
		if err != nil {
			continue
		}
		fails, err := m.st.Failures(ctx, run.ID)
		if err != nil {
			continue
		}
		values := int64(0)
		for _, c := range counts {
			values += c.Values
		}
		n.Observe(run, values, len(fails))
	}
}

// forget ends the senders of epochs that are not in the store any more: they are
// neither among the runs nor among those that cannot be read.
func (m *messenger) forget(runs []jobs.Run, damaged []jobs.DamagedRun) {
	for id, t := range m.started {
		here := slices.ContainsFunc(runs, func(r jobs.Run) bool { return r.ID == id }) ||
			slices.ContainsFunc(damaged, func(d jobs.DamagedRun) bool { return d.ID == id })
		if !here {
			t.stop()
			delete(m.started, id)
		}
	}
}

func (m *messenger) runs(ctx context.Context) ([]jobs.Run, error) {
	if m.only == "" {
		return m.st.Runs(ctx)
	}
	run, err := m.st.Run(ctx, m.only)
	return []jobs.Run{run}, err
}

// notifier returns the run's notifier, which sends in a goroutine of its own, or
// nil where nobody is to be told.
func (m *messenger) notifier(send context.Context, run jobs.Run) *web.Notifier {
	if t, ok := m.started[run.ID]; ok {
		return t.notifier
	} else if run.Notify == nil {
		return nil
	}
	n, err := web.NewNotifier(web.NotifyOptions{
		URL: run.Notify.URL, Kinds: run.Notify.On, StallAfter: time.Duration(run.Notify.StallMs) * time.Millisecond,
		Secret: os.Getenv(config.EnvNotifySecret), Log: m.app.log(),
	})
	if err != nil {
		m.app.log().Error("no messages about the run", "run", run.ID.Name, "err", err)
	}
	send, stop := context.WithCancel(send)
	if n != nil {
		m.senders.Go(func() { n.Run(send, noticeGrace) })
	}
	m.started[run.ID] = &teller{n, stop}
	return n
}

// withMessages calls f while messages are sent about the named run, or all.
func (a *app) withMessages(ctx context.Context, st *opened, only string, f func() error) error {
	send, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	m := &messenger{app: a, st: st, only: only, started: map[jobs.RunID]*teller{}}
	// The state before f is what later ones are compared with, however fast f is.
	m.look(ctx, send)
	wg.Go(func() { m.run(ctx, send, stopSending) })
	err := f()
	stop()
	wg.Wait()
	return err
}
