package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// Service feeds every running run of a store that no other scheduler leads.
type Service struct {
	Store Store
	Queue Queue
	Model *Model
	// NewChecker returns the checker for a run.
	NewChecker func(jobs.Run) Checker
	Options    Options
	// Rescan is the pause between two looks for new runs, 1 s.
	Rescan time.Duration
}

// Run leads runs until ctx ends, then waits for its feeders and gives up their
// locks.
func (s *Service) Run(ctx context.Context) error {
	s.Options.defaults()
	if s.Rescan == 0 {
		s.Rescan = time.Second
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	led := map[jobs.RunID]bool{}
	said := ""
	tick := time.NewTicker(s.Rescan)
	defer tick.Stop()
	for {
		runs, err := s.Store.Runs(ctx)
		damaged, err := jobs.Damaged(err)
		if err != nil && ctx.Err() == nil {
			s.Options.Log.Warn("store out of reach", "err", err)
		}
		// The others go on. What lasts is said once.
		if text := fmt.Sprint(damaged); err == nil && text != said {
			if said = text; len(damaged) > 0 {
				s.Options.Log.Error("runs left alone", "err", &jobs.DamagedError{Runs: damaged})
			}
		}
		for _, run := range runs {
			mu.Lock()
			start := run.State == jobs.Running && !led[run.ID]
			if start {
				led[run.ID] = true
			}
			mu.Unlock()
			if !start {
				continue
			}
			wg.Go(func() {
				end, err := s.Lead(ctx, run.ID.Name)
				switch {
				case err == nil && end.State == jobs.Halted:
					s.Options.Log.Error("run halted", "run", run.ID.Name, "reason", end.Reason)
				case err == nil, ctx.Err() != nil, errors.Is(err, ErrLed):
				case jobs.IsLasting(err):
					s.Options.Log.Error("run given up, to be looked at again", "run", run.ID.Name, "err", err)
					rest(ctx, giveUpFor)
				default:
					s.Options.Log.Warn("run left", "run", run.ID.Name, "err", err)
				}
				mu.Lock()
				delete(led, run.ID)
				mu.Unlock()
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// giveUpFor is how long a run is left alone after an error that lasts.
const giveUpFor = 10 * time.Second

// rest waits for d or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// ErrLed says that another scheduler leads the run.
var ErrLed = errors.New("another scheduler leads the run")

// errLostLead ends a feeder whose lock was lost.
var errLostLead = errors.New("lead of the run lost")

// Final reports whether an error of Lead is the end of it: the run is gone, or
// the error lasts. After any other the caller may call Lead again.
func Final(err error) bool {
	return errors.Is(err, jobs.ErrNoRun) || errors.Is(err, jobs.ErrFenced) || jobs.IsLasting(err)
}

// Lead feeds one run until it ends, however often its plan or its state is
// changed on the way. It returns ErrLed at once when another scheduler holds the
// lock, and the error of the store when that is out of reach before it leads.
func (s *Service) Lead(ctx context.Context, name string) (Ended, error) {
	s.Options.defaults()
	for {
		run, err := s.Store.Run(ctx, name)
		if err != nil {
			return Ended{}, err
		}
		if run.State != jobs.Running {
			return Ended{State: run.State, Reason: run.Reason}, nil
		}
		end, err := s.lead(ctx, run)
		var changed *jobs.StateError
		switch {
		case errors.Is(err, errReplan), errors.As(err, &changed):
			continue
		case errors.Is(err, errForgot), errors.Is(err, errSettled):
			s.Options.Log.Warn("begins anew", "run", name, "reason", err)
			continue
		}
		return end, err
	}
}

func (s *Service) lead(ctx context.Context, run jobs.Run) (Ended, error) {
	o := s.Options
	if err := s.takeLead(ctx, run.ID); err != nil {
		return Ended{}, err
	}
	var renewed atomic.Int64
	renewed.Store(time.Now().UnixNano())
	ctx, cancel := context.WithCancelCause(ctx)
	var renew sync.WaitGroup
	renew.Go(func() { s.renew(ctx, cancel, run.ID, &renewed) })
	o.Log.Info("leading run", "run", run.ID.Name)
	f := NewFeeder(s.Store, s.Queue, s.Model, s.NewChecker(run), run, o)
	f.renewed = &renewed
	end, err := f.Run(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errLostLead) {
		err = ErrLed
	}
	cancel(nil)
	renew.Wait()
	bye, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if rerr := s.Store.Resign(bye, run.ID, o.Owner); rerr != nil && err == nil {
		o.Log.Debug("lock not given up", "run", run.ID.Name, "err", rerr)
	}
	return end, err
}

// takeLead takes the lock, also from an owner that is known to be dead.
func (s *Service) takeLead(ctx context.Context, id jobs.RunID) error {
	o := s.Options
	for range 2 {
		ok, err := s.Store.Lead(ctx, id, o.Owner, o.LeadFor)
		if ok || err != nil {
			return err
		}
		owner, err := s.Store.Leader(ctx, id)
		if err != nil {
			return err
		}
		if o.Dead == nil || !o.Dead(owner) {
			break
		}
		if err := s.Store.Resign(ctx, id, owner); err != nil {
			return err
		}
	}
	return ErrLed
}

// renew keeps the lock. Only another owner ends the lead: while the store is
// out of reach nobody else can take it either, and two leaders at once would
// cost time but no value.
func (s *Service) renew(ctx context.Context, cancel context.CancelCauseFunc, id jobs.RunID, renewed *atomic.Int64) {
	tick := time.NewTicker(s.Options.LeadFor / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ok, err := s.Store.Lead(ctx, id, s.Options.Owner, s.Options.LeadFor)
		switch {
		case err == nil && !ok:
			cancel(errLostLead)
			return
		case err == nil:
			renewed.Store(time.Now().UnixNano())
		}
	}
}
