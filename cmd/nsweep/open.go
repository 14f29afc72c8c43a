package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/internal/embedredis"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// opened is an open store with what has to be closed after it.
type opened struct {
	*store.Store
	// where names the store for people.
	where    string
	embedded *embedredis.Server // set in the process that owns the data
	fault    fault
}

// fault is a write error of the embedded store: what was acknowledged since
// the last write is in memory only, so the run must stop.
type fault struct {
	mu   sync.Mutex
	err  error
	stop func()
}

func (f *fault) set(err error) {
	f.mu.Lock()
	if f.err == nil {
		f.err = err
	}
	stop := f.stop
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// watch calls stop when a fault occurs, or at once when there was one.
func (f *fault) watch(stop func()) {
	f.mu.Lock()
	f.stop = stop
	failed := f.err != nil
	f.mu.Unlock()
	if failed {
		stop()
	}
}

func (f *fault) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Close closes the client, then the embedded server, which writes what is left.
func (o *opened) Close() error {
	err := o.Store.Close()
	if o.embedded != nil {
		err = errors.Join(err, o.embedded.Close())
	}
	return err
}

// access says how a command uses the embedded store.
type access int

const (
	// own needs to be the process that owns the data.
	own access = iota
	// share attaches to the owner where one runs, else owns for a while.
	share
	// look is share, but never creates a folder.
	look
)

// open opens the store that the settings name.
func (a *app) open(ctx context.Context, s config.Settings, how access) (*opened, error) {
	ep, err := s.Redis.Endpoint()
	if err != nil {
		return nil, coded(codeUsage, fmt.Errorf("redis.url: %w", err))
	}
	if ep.Kind == config.Embedded {
		return a.openEmbedded(ctx, s.DataDir, how)
	}
	opts, err := a.redisOptions(s, ep)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	for _, w := range st.Warnings() {
		a.warn(w)
	}
	o := &opened{Store: st, where: st.Where()}
	if how != look {
		if err := a.checkLink(ctx, o); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	return o, nil
}

// redisOptions says how to reach a Redis.
func (a *app) redisOptions(s config.Settings, ep config.Endpoint) (store.Options, error) {
	tls, err := s.Redis.TLSConfig()
	if err != nil {
		return store.Options{}, coded(codeUsage, err)
	}
	return store.Options{
		Addrs: ep.Addrs, Unix: ep.Kind == config.Socket, Master: ep.Master, DB: ep.DB, TLS: tls,
		Username: s.Redis.Username, Password: s.Redis.Password.Reveal(),
		SentinelUsername: s.Redis.SentinelUsername, SentinelPassword: s.Redis.SentinelPassword.Reveal(),
		Logger: a.log(),
	}, nil
}

func (a *app) openEmbedded(ctx context.Context, dir string, how access) (*opened, error) {
	where := "embedded store " + dir
	if how != own {
		dial, err := embedredis.Attach(dir)
		switch {
		case err == nil:
			st, err := store.Open(ctx, store.Options{Dialer: dial, Embedded: true, Logger: a.log()})
			if err != nil {
				return nil, err
			}
			return &opened{Store: st, where: where}, nil
		case !errors.Is(err, embedredis.ErrNotRunning):
			return nil, err
		}
		if _, err := os.Stat(dir); how == look && errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("no runs: there is no %s (name another store with --redis or --data-dir)", where)
		}
	}
	o := &opened{where: where}
	srv, err := embedredis.Open(embedredis.Options{Dir: dir, Owner: commandLine(), Persist: persisted, OnError: o.fault.set, Logger: a.log()})
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, store.Options{Dialer: func(ctx context.Context) (net.Conn, error) { return srv.Dial(ctx) }, Embedded: true, Logger: a.log()})
	if err != nil {
		return nil, errors.Join(err, srv.Close())
	}
	o.Store, o.embedded = st, srv
	return o, nil
}

// persisted reports whether the embedded store writes a key to its file: what
// belongs to runs, but not the notes of processes that are gone after a
// restart, and nothing of asynq's, which the ledger refills.
func persisted(key string) bool { return store.Lasting(key) }

// commandLine names this process to whoever finds the store in use.
func commandLine() string {
	args := append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
	line := strings.Join(args, " ")
	if len(line) > 120 {
		line = line[:117] + "…"
	}
	return line
}

// settings reads the settings for a command that takes no experiment.
func (a *app) settings() (config.Settings, error) {
	return config.LoadSettings(a.given(), os.LookupEnv)
}

// openFor opens the store of a command that names a run, and reads the run.
func (a *app) openFor(ctx context.Context, name string) (*opened, jobs.Run, error) {
	st, err := a.openLook(ctx)
	if err != nil {
		return nil, jobs.Run{}, err
	}
	run, err := st.find(ctx, name)
	if err != nil {
		st.Close()
		return nil, jobs.Run{}, err
	}
	return st, run, nil
}

// find reads a run, and names the store where there is none.
func (o *opened) find(ctx context.Context, name string) (jobs.Run, error) {
	run, err := o.Run(ctx, name)
	if errors.Is(err, jobs.ErrNoRun) {
		err = fmt.Errorf("no run %q in %s%s", name, o.where, o.holds(ctx))
	}
	return run, err
}

// holds names up to five runs of the store, for whoever mistook a name or a
// store: ", which holds a, b and 3 more".
func (o *opened) holds(ctx context.Context) string {
	runs, err := o.Runs(ctx)
	if _, err = jobs.Damaged(err); err != nil || len(runs) == 0 {
		return ""
	}
	const most = 5
	var names []string
	for _, r := range runs[:min(most, len(runs))] {
		names = append(names, r.ID.Name)
	}
	text := ", which holds " + strings.Join(names, ", ")
	if more := len(runs) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// openLook opens the store for a command that looks at what is there.
func (a *app) openLook(ctx context.Context) (*opened, error) {
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	return a.open(ctx, s, look)
}
