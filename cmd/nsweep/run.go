package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/scheduler"
	"github.com/nsweep/nsweep/web"
)

// runOptions are the flags of run and submit.
type runOptions struct {
	sets  []string
	fresh bool
	json  bool
}

func (a *app) runCmd() *cobra.Command {
	var o runOptions
	var l limits
	var page pageOptions
	c := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Plan, compute, sum up and check an experiment in this process",
		Long: `Does everything in one process: plans the experiment, computes what is missing,
stores it, sums up, checks and prints. Without FILE it runs the built-in
experiment "euler"; FILE may also name another built-in one.

Ctrl-C stops in good order and leaves the run resumable, and so does closing the
terminal, unless nohup was given; a second Ctrl-C stops at once. The same command
again goes on where it stood. With a Redis URL other workers may help at the same
time.

--for and --until stop as Ctrl-C does, with exit code 4 when something is left.
A time of day that the clocks show twice in a night counts when it comes next;
one that they skip counts at the moment of the jump. --max-memory has the memory
collected harder near the limit, and stops the same way when it stays above it
for 10 s.`,
		Example: `  nsweep run
  nsweep run overnight
  nsweep run my.yaml --set sweeps.hopping.n.to=5000
  nsweep run my.yaml --until 07:00 --nice 10
  nsweep run overnight --dashboard    with a live page on http://127.0.0.1:8391/
  nsweep run my.yaml --redis redis://127.0.0.1:6379/0
  nsweep run my.yaml --fresh          start anew, deleting what is stored`,
		Args:              oneFile,
		ValidArgsFunction: experimentArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runExperiment(cmd.Context(), first(args), o, l, page)
		},
	}
	o.register(c)
	l.register(c)
	c.Flags().BoolVar(&page.on, "dashboard", false, "show the run on a live page while it lasts")
	page.register(c, defaultListen)
	for _, name := range []string{"listen", "token-file", "host", "read-only"} {
		needs(c, name, "dashboard")
	}
	return c
}

func (o *runOptions) register(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.sets, "set", nil, "change the experiment, `PATH=VALUE` (may be repeated)")
	f.BoolVar(&o.fresh, "fresh", false, "start a new epoch; the values of the old one are deleted")
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
}

// experimentArgs completes the names of built-in experiments beside files.
func experimentArgs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return config.Builtins(), cobra.ShellCompDirectiveDefault
}

// oneFile accepts FILE or nothing. An empty name, as of a variable that is not
// set, does not mean the default.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == "" {
		return usagef("FILE is empty; want the name of a file or built-in experiment, or nothing")
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// load reads an experiment and lets the engines check it. Nothing is opened or
// stored before it succeeds.
func (a *app) load(file string, sets []string) (*config.Experiment, []jobs.Sweep, error) {
	e, err := config.Load(config.Source{File: file, Flags: a.given(), Sets: sets, Env: os.LookupEnv})
	if err != nil {
		return nil, nil, coded(codeUsage, err)
	}
	sweeps, err := a.resolveSweeps(e)
	if err != nil {
		return nil, nil, coded(codeUsage, err)
	}
	return e, sweeps, nil
}

func (a *app) runExperiment(ctx context.Context, file string, o runOptions, l limits, page pageOptions) (err error) {
	e, sweeps, err := a.load(file, o.sets)
	if err != nil {
		return err
	}
	p, err := l.check(time.Now())
	if err != nil {
		return err
	}
	ctx, unwatch, err := l.apply(ctx, p)
	if err != nil {
		return err
	}
	defer unwatch()
	defer func() { err = cutShort(ctx, err) }()
	ln, err := a.listenMetrics(e.Metrics)
	if err != nil {
		return err
	}
	defer ln.close()
	st, err := a.open(ctx, e.Settings, own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	m, have := web.NewMetrics(), &sums{}
	work := func() error {
		if err := a.checkMemory(ctx, st, e.Name, sweeps); err != nil {
			return err
		}
		en, err := ensureRun(ctx, st, e.Name, planOf(e, sweeps), o.fresh)
		if err != nil {
			return err
		}
		a.announce(st, en)
		if !en.done {
			a.announceEnd(p.end)
			err := a.withMessages(ctx, st, e.Name, func() error { return a.carryOut(ctx, st, en, slots(e.Workers), l.drain, m, have) })
			if err != nil {
				return err
			}
		}
		return a.conclude(ctx, st, en, o.json)
	}
	return a.withPage(ctx, st, page, m, have, func() error { return a.withRunMetrics(ctx, st, ln, m, have, work) })
}

// announce says on standard error what is about to happen.
func (a *app) announce(st *opened, en ensured) {
	have, total := int64(0), int64(0)
	for _, s := range en.run.Sweeps {
		have += en.before[s.Name].Values
		total += s.Set.Count()
	}
	name := en.run.ID.Name
	switch {
	case en.done:
		fmt.Fprintf(a.err, "run %s is complete: %s values in %s\n", name, group(total), st.where)
	case en.fresh:
		fmt.Fprintf(a.err, "run %s: %s values to compute, kept in %s\n", name, group(total), st.where)
	default:
		fmt.Fprintf(a.err, "run %s goes on: %s of %s values are in %s\n", name, group(min(have, total)), group(total), st.where)
	}
}

// carryOut works on the run until it ends, leading it unless another process
// does.
func (a *app) carryOut(ctx context.Context, st *opened, en ensured, slots int, drain time.Duration, m *web.Metrics, have *sums) error {
	name := en.run.ID.Name
	engines := engineNames(en.run.Sweeps)
	err := a.selfTest(ctx, engines)
	switch {
	case ctx.Err() != nil:
		return a.stopped(st, en, why(ctx))
	case err != nil:
		return err
	}
	me := self(slots)
	if me.Queues, err = a.queues(engines); err != nil {
		return err
	}
	show := a.newDisplay(en.run)
	svc := a.newService(st, me.ID, scheduler.NewModel(a.reg, a.calibrate(engines...)), have, show.Update)

	work, stop := context.WithCancel(ctx)
	defer stop()
	w, srv := a.newWorker(st, me, drain, m)
	var workErr error
	var workers sync.WaitGroup
	workers.Go(func() {
		defer stop() // a worker that gives up ends the run here
		workErr = w.Run(work, srv)
	})
	st.fault.watch(stop)
	leadErr := a.leadOrWatch(work, st, svc, name, show)
	stop()
	workers.Wait()
	show.Close()
	switch {
	case workErr != nil:
		return expelled(me.ID, workErr)
	case st.fault.get() != nil:
		return fmt.Errorf("the embedded store cannot write: %w; what was written before is kept, run again to resume", st.fault.get())
	case ctx.Err() != nil:
		return a.stopped(st, en, why(ctx))
	}
	return leadErr
}

// leadOrWatch returns when the run has ended or ctx ends.
func (a *app) leadOrWatch(ctx context.Context, st *opened, svc *scheduler.Service, name string, show display) error {
	paused, away := false, false
	for ctx.Err() == nil {
		end, err := svc.Lead(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, scheduler.ErrLed):
			if p, perr := storeProgress(ctx, st, name); perr == nil {
				show.Update(p)
			}
		case err != nil && scheduler.Final(err):
			return err
		case err != nil:
			if !away {
				show.Note(fmt.Sprintf("the store is out of reach, waiting for it: %v", err))
			}
		case end.State == jobs.Paused:
			if !paused {
				show.Note(fmt.Sprintf("run %s is paused; nsweep resume %s goes on", name, name))
			}
			paused = true
		case end.State.Ended():
			return nil
		}
		if end.State != jobs.Paused {
			paused = false
		}
		away = err != nil && !errors.Is(err, scheduler.ErrLed)
		wait(ctx, 500*time.Millisecond)
	}
	return nil
}

// stopped says how far the run came; why is the reason, or empty.
func (a *app) stopped(st *opened, en ensured, why string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	have, total := int64(0), int64(0)
	counts, err := st.Counts(ctx, en.run.ID)
	for _, s := range en.run.Sweeps {
		have += counts[s.Name].Values
		total += s.Set.Count()
	}
	if err != nil {
		return coded(codeStopped, fmt.Errorf("stopped%s; run again to resume", why))
	}
	return coded(codeStopped, fmt.Errorf("stopped%s with %s of %s values stored; run again to resume", why, group(have), group(total)))
}

// conclude prints the result of a run that has ended and returns the error
// that its exit code stands for.
func (a *app) conclude(ctx context.Context, st *opened, en ensured, asJSON bool) error {
	run, err := st.Run(ctx, en.run.ID.Name)
	if err != nil {
		return err
	}
	counts, err := st.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	var result aggregator.Result
	if run.State == jobs.Complete {
		result, err = aggregator.Decode(run.Result)
	} else {
		result, err = a.prove(ctx, st, run)
	}
	if err != nil {
		return err
	}
	if err := a.showResult(result, run.State, asJSON); err != nil {
		return err
	}
	if !en.done {
		values, again := int64(0), int64(0)
		for name, c := range counts {
			values += c.Values - en.before[name].Values
			again += c.Repeated - en.before[name].Repeated
		}
		fmt.Fprintf(a.err, "computed %s values, %s cells a second time\n", group(values), group(again))
	}
	return endError(run)
}

// endError returns what a run's final state means for the exit code.
func endError(run jobs.Run) error {
	name := run.ID.Name
	switch run.State {
	case jobs.Complete:
		return nil
	case jobs.Halted:
		return coded(codeMismatch, fmt.Errorf("run %s is halted: %s", name, run.Reason))
	case jobs.Failed:
		return coded(codeFailed, fmt.Errorf("run %s is not complete: %s", name, run.Reason))
	case jobs.Cancelled:
		return coded(codeFailed, fmt.Errorf("run %s is cancelled", name))
	}
	return coded(codeStopped, fmt.Errorf("run %s is %s", name, run.State))
}

// prove folds what is stored from nothing, for a run that is not complete or
// whose result is to be confirmed. What is missing or does not hold is in the
// result; only failures to read are errors.
func (a *app) prove(ctx context.Context, st *opened, run jobs.Run) (aggregator.Result, error) {
	ledgers := map[string]*jobs.Ledger{}
	for _, s := range run.Sweeps {
		l, err := st.Ledger(ctx, run.ID, s)
		if err != nil {
			return aggregator.Result{}, err
		}
		ledgers[s.Name] = l
	}
	r, err := aggregator.Prove(ctx, st.Store, run.Manifest, ledgers)
	var gap *aggregator.GapError
	var miss *aggregator.MismatchError
	var rot *aggregator.CorruptError
	var lack *aggregator.LackError
	if errors.As(err, &gap) || errors.As(err, &miss) || errors.As(err, &rot) || errors.As(err, &lack) {
		err = nil
	}
	timeSweeps(&r, st.spent(ctx, run.ID))
	return r, err
}
