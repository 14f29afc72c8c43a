package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hibiken/asynq"
	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
	"github.com/nsweep/nsweep/web"
)

var _ web.Store = (*opened)(nil)

// pageOptions are the flags about the dashboard.
type pageOptions struct {
	on                bool // of run: show the page
	listen, tokenFile string
	hosts             []string
	readOnly          bool
}

const defaultListen = "127.0.0.1:8391"

func (o *pageOptions) register(c *cobra.Command, listen string) {
	f := c.Flags()
	f.StringVar(&o.listen, "listen", listen, "`address` of the page; without host, 127.0.0.1")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` with the token that viewers must know (NSWEEP_DASHBOARD_TOKEN); needed beyond 127.0.0.1")
	f.StringSliceVar(&o.hosts, "host", nil, "`name` by which the page may be addressed, beside IP addresses and localhost")
	f.BoolVar(&o.readOnly, "read-only", false, "no buttons")
}

func (a *app) serveCmd() *cobra.Command {
	var o pageOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Show the runs of a store on a live page",
		Long: `Serves a page with the runs of a store: progress and time left, sums and
checkpoints as they come, a map of the cells, plots, workers, failures and buttons
to pause, resume, cancel and retry. Also /metrics for Prometheus, /healthz and
/readyz. It listens on this machine only unless a token is given.`,
		Example: `  nsweep serve
  nsweep serve --redis redis://redis.lan:6379/0 --read-only
  nsweep serve --listen 0.0.0.0:8391 --token-file /etc/nsweep/token --host nsweep.lan`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return inOrder(cmd.Context(), a.serve(cmd.Context(), o)) },
	}
	o.register(c, defaultListen)
	return c
}

func (a *app) serve(ctx context.Context, o pageOptions) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	st, err := a.open(ctx, s, share)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	page, err := a.newPage(st, o, web.NewMetrics(), &sums{})
	if err != nil {
		return err
	}
	return page(ctx)
}

// newPage returns a function that serves the dashboard until its context ends.
// It listens already when it returns. What the process has summed up by then, in
// have, is not summed up again.
func (a *app) newPage(st *opened, o pageOptions, m *web.Metrics, have *sums) (func(context.Context) error, error) {
	token, err := dashboardToken(o.tokenFile)
	if err != nil {
		return nil, err
	}
	l, err := listen("listen", o.listen, token, "give a --token-file")
	if err != nil {
		return nil, err
	}
	inspector := asynq.NewInspectorFromRedisClient(st.Client())
	for _, h := range o.hosts {
		if !web.HostName(h) {
			l.close()
			return nil, usagef("--host %q: is no host name; want one such as nsweep.lan, without port or path", h)
		}
	}
	srv, err := web.New(web.Options{
		Store: st, Engines: a.reg, Version: version(), Token: token, Hosts: o.hosts, ReadOnly: o.readOnly,
		Plot: a.plotFor(st), Kinds: a.plotKinds, Log: a.log(), Metrics: m,
		Partial: have.partial, Verified: confirmedOf(st), Provenance: originsOf(st),
		QueueDepth: func(context.Context) (map[string]int, error) { return queueDepth(inspector) },
	})
	if err != nil {
		l.close()
		return nil, coded(codeUsage, err)
	}
	fmt.Fprintf(a.err, "dashboard on http://%s/\n", l.Addr())
	return func(ctx context.Context) error { return srv.Run(ctx, l) }, nil
}

// withPage calls f while the dashboard is served, if that is wanted.
func (a *app) withPage(ctx context.Context, st *opened, o pageOptions, m *web.Metrics, have *sums, f func() error) error {
	if !o.on {
		return f()
	}
	page, err := a.newPage(st, o, m, have)
	if err != nil {
		return err
	}
	return beside(ctx, page, f)
}

// dashboardToken reads the token from the environment or a file, never from a
// flag, which every user of a machine can see.
func dashboardToken(file string) (string, error) {
	if file == "" {
		return os.Getenv("NSWEEP_DASHBOARD_TOKEN"), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", usagef("--token-file: %v", err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), nil
}

// plotKinds lists the pictures that make sense for a sweep.
func (a *app) plotKinds(s jobs.Sweep) []web.Plot {
	var out []web.Plot
	symbol := "f(n)"
	if e, err := a.reg.Get(s.Engine); err == nil {
		symbol = e.Info().Symbol
	}
	hide := map[report.PlotKind]bool{report.PlotSquare: s.Engine == "hopping", report.PlotDeviation: s.Engine == "hopping",
		report.PlotCubes: s.Engine == "bezout", report.PlotHistogram: s.Engine == "bezout", report.PlotRatio: s.Engine == "bezout"}
	if s.Keep == jobs.KeepSums {
		return nil
	}
	titles := map[report.PlotKind]string{report.PlotValue: symbol, report.PlotRatio: symbol + "/n", report.PlotLogLog: symbol + ", log-log",
		report.PlotHistogram: "histogram", report.PlotCubes: report.SumName(symbol, 3) + " / (N⁴/16)", report.PlotSquare: symbol + "/n²", report.PlotDeviation: "(" + symbol + " − 2n²/π²)/n"}
	for _, k := range report.PlotKinds {
		if !hide[k.Kind] {
			out = append(out, web.Plot{Kind: string(k.Kind), Title: titles[k.Kind]})
		}
	}
	if s.Engine == "hopping" && s.Set.Dense() {
		out = append(out, web.Plot{Kind: groupsKind, Title: "t(n)"})
	}
	return out
}

// queueDepth counts the tasks that wait in each queue.
func queueDepth(i *asynq.Inspector) (map[string]int, error) {
	queues, err := i.Queues()
	if err != nil {
		return nil, err
	}
	depth := map[string]int{}
	for _, q := range queues {
		info, err := i.GetQueueInfo(q)
		if errors.Is(err, asynq.ErrQueueNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		depth[q] = info.Pending + info.Scheduled + info.Retry
	}
	return depth, nil
}
