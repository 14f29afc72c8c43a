package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
	"github.com/nsweep/nsweep/store"
)

// diagnosis is one line of doctor.
type diagnosis struct {
	Check   string        `json:"check"`
	Verdict store.Verdict `json:"verdict"`
	Text    string        `json:"text"`
	// Figures are numbers behind the text: times in milliseconds, sizes in bytes.
	Figures map[string]float64 `json:"figures,omitempty"`
}

// mark is the sign before a line.
func (d diagnosis) mark() string {
	switch d.Verdict {
	case store.Fit:
		return "✓"
	case store.Warning:
		return "!"
	}
	return "✗"
}

// health is all that doctor has found.
type health struct {
	Store  string      `json:"store"`
	Fit    bool        `json:"fit"`
	Checks []diagnosis `json:"checks"`
}

func (h *health) add(d diagnosis) { h.Checks = append(h.Checks, d) }

func (h *health) say(check string, v store.Verdict, format string, args ...any) {
	h.add(diagnosis{Check: check, Verdict: v, Text: fmt.Sprintf(format, args...)})
}

// unfit returns how many checks failed.
func (h *health) unfit() (n int) {
	for _, d := range h.Checks {
		if d.Verdict == store.Unfit {
			n++
		}
	}
	return n
}

func (h *health) print(out io.Writer) {
	for _, d := range h.Checks {
		fmt.Fprintf(out, "%s %-12s %s\n", d.mark(), d.Check, d.Text)
	}
}

func (a *app) doctorCmd() *cobra.Command {
	var sets []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "Check whether the store and this machine are fit for work",
		Long: `Looks at the store and at this machine and says one line about each thing that
matters: ✓ fit, ! not good, ✗ unfit. With FILE it also says whether the values of
that experiment fit into the store's memory. It changes nothing.

Exit code 5 when anything is unfit or the store is out of reach.`,
		Example: `  nsweep doctor --redis redis://redis.lan:6379/0
  nsweep doctor my.yaml
  nsweep doctor --json`,
		Args:              oneFile,
		ValidArgsFunction: experimentArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.doctor(cmd.Context(), first(args), sets, asJSON)
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "change the experiment, `PATH=VALUE` (may be repeated)")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

// patient is what doctor looks at: settings and, with a file, a plan.
type patient struct {
	settings config.Settings
	name     string // of the run, or empty
	sweeps   []jobs.Sweep
}

func (a *app) patient(file string, sets []string) (patient, error) {
	if file == "" && len(sets) == 0 {
		s, err := a.settings()
		return patient{settings: s}, err
	}
	e, sweeps, err := a.load(file, sets)
	if err != nil {
		return patient{}, err
	}
	return patient{e.Settings, e.Name, sweeps}, nil
}

func (a *app) doctor(ctx context.Context, file string, sets []string, asJSON bool) error {
	p, err := a.patient(file, sets)
	if err != nil {
		return err
	}
	h := &health{Checks: []diagnosis{}}
	a.examineMachine(ctx, h)
	if err := a.examineStore(ctx, h, p); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	bad := h.unfit()
	h.Fit = bad == 0
	if asJSON {
		if err := writeJSON(a.out, h); err != nil {
			return err
		}
	} else {
		h.print(a.out)
	}
	if bad > 0 {
		err := &codedError{code: codeUnreachable, err: fmt.Errorf("%d checks failed", bad)}
		err.quiet = !asJSON // the lines have said it
		return err
	}
	return nil
}

// examineMachine has every engine compute known values.
func (a *app) examineMachine(ctx context.Context, h *health) {
	text := fmt.Sprintf("%d slots", runtime.GOMAXPROCS(0))
	if m := cpuModel(); m != "" {
		text += ", " + m
	}
	h.say("machine", store.Fit, "%s, nsweep %s", text, version())
	for _, eng := range a.reg.All() {
		name := eng.Info().Name
		begin := time.Now()
		err := eng.SelfTest(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.say("engine", store.Unfit, "%s computes wrong values here: %v", name, err)
		default:
			h.say("engine", store.Fit, "%s computes known values right (%s)", name, report.Span(time.Since(begin)))
		}
	}
}

// examineStore adds what there is to say about the store. Its error is about
// settings or the end of ctx.
func (a *app) examineStore(ctx context.Context, h *health, p patient) error {
	ep, err := p.settings.Redis.Endpoint()
	if err != nil {
		return coded(codeUsage, fmt.Errorf("redis.url: %w", err))
	}
	if ep.Kind == config.Embedded {
		return a.examineEmbedded(ctx, h, p)
	}
	o, err := a.redisOptions(p.settings, ep)
	if err != nil {
		return err
	}
	o.Unchecked = true
	s, err := store.Open(ctx, o)
	if err != nil {
		return err // how it is addressed: usage, not health
	}
	defer s.Close()
	st := &opened{Store: s, where: s.Where()}
	h.Store = st.where
	err = st.Reach(ctx)
	var f store.Fitness
	if err == nil {
		f, err = st.Fitness(ctx)
	}
	var refused *store.UnfitError
	switch {
	case errors.As(err, &refused):
		h.say("reachable", store.Unfit, "%s %s", st.where, refused.Problem)
		return nil
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		h.say("reachable", store.Unfit, "%s", firstLine(err.Error()))
		return nil
	}
	h.say("reachable", store.Fit, "%s answers", st.where)
	for _, x := range f.Findings() {
		h.say(x.Check, x.Verdict, "Redis %s", x.Text)
	}
	for _, d := range examineLink(ctx, st, 21) {
		h.add(d)
	}
	h.add(a.examineMemory(ctx, st, f, p))
	return nil
}

// Limits of the way to the store.
const (
	slowLink  = 20 * time.Millisecond
	clockOff  = 2 * time.Second
	clockFar  = 10 * time.Second // as a worker refuses it
	roundTrip = "each commit and each heartbeat waits for that"
)

// examineLink measures the round trip and the clocks.
func examineLink(ctx context.Context, st *opened, pings int) []diagnosis {
	var out []diagnosis
	if d, err := st.Latency(ctx, pings); err != nil {
		out = append(out, diagnosis{Check: "latency", Verdict: store.Unfit, Text: firstLine(err.Error())})
	} else {
		out = append(out, judgeLatency(d, pings))
	}
	if off, err := st.ClockOffset(ctx); err != nil {
		out = append(out, diagnosis{Check: "clock", Verdict: store.Unfit, Text: firstLine(err.Error())})
	} else {
		out = append(out, judgeClock(off))
	}
	return out
}

func judgeLatency(d time.Duration, pings int) diagnosis {
	ms := float64(d.Microseconds()) / 1000
	out := diagnosis{Check: "latency", Verdict: store.Fit, Text: fmt.Sprintf("%.2f ms, the median of %d pings", ms, pings),
		Figures: map[string]float64{"latency_ms": ms}}
	if d > slowLink {
		out.Verdict = store.Warning
		out.Text += ": " + roundTrip
	}
	return out
}

func judgeClock(off time.Duration) diagnosis {
	out := diagnosis{Check: "clock", Verdict: store.Fit, Figures: map[string]float64{"clock_ahead_ms": float64(off.Microseconds()) / 1000}}
	way := "ahead of"
	if off < 0 {
		way = "behind"
	}
	out.Text = fmt.Sprintf("this machine is %s %s Redis", report.Span(off.Abs()), way)
	switch {
	case off.Abs() > clockFar:
		out.Verdict = store.Unfit
		out.Text += fmt.Sprintf(", at most %s is allowed: set its clock (NTP)", report.Span(clockFar))
	case off.Abs() > clockOff:
		out.Verdict = store.Warning
		out.Text += ": set its clock (NTP) before it is refused at " + report.Span(clockFar)
	}
	return out
}

// checkLink refuses a store that is too far off for work, and warns of one that
// is slow.
func (a *app) checkLink(ctx context.Context, st *opened) error {
	for _, d := range examineLink(ctx, st, 5) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case d.Verdict == store.Unfit:
			return &store.UnfitError{Store: st.where, Problem: "is unfit: " + d.Check + ": " + d.Text}
		case d.Verdict == store.Warning:
			a.warn(st.where + ": " + d.Check + " " + d.Text)
		}
	}
	return nil
}
