package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/scheduler"
)

// watch redraws a run's status until it has ended or ctx ends. Where the
// output is no terminal it prints a line now and then instead.
func (a *app) watch(ctx context.Context, name string) (err error) {
	st, run, err := a.openFor(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	w := watcher{app: a, st: st, model: scheduler.NewModel(a.reg, a.calibrate(engineNames(run.Sweeps)...)), pace: newPace()}
	if !terminal(a.out) {
		return w.plain(ctx, name)
	}
	return w.live(ctx, name)
}

// watcher draws frames of one run.
type watcher struct {
	app   *app
	st    *opened
	model *scheduler.Model
	pace  *pace
}

// look reads all that a frame shows.
func (w *watcher) look(ctx context.Context, name string) (runStatus, scheduler.Progress, error) {
	run, err := w.st.Run(ctx, name)
	if err != nil {
		return runStatus{}, scheduler.Progress{}, err
	}
	s, err := w.app.fullStatus(ctx, w.st, run)
	if err != nil {
		return runStatus{}, scheduler.Progress{}, err
	}
	p, err := storeProgress(ctx, w.st, name)
	if err != nil {
		return runStatus{}, scheduler.Progress{}, err
	}
	for i, sweep := range run.Sweeps {
		first, last := sweep.Cells()
		l, err := w.st.Ledger(ctx, run.ID, sweep)
		if err != nil {
			return runStatus{}, scheduler.Progress{}, err
		}
		// Without an estimate the bar goes by the number of n.
		if p.Sweeps[i].TotalNs, err = w.model.Open(sweep, jobs.NewLedger(first, last)); err == nil {
			p.Sweeps[i].OpenNs, _ = w.model.Open(sweep, l)
		}
		if run.Verify == 0 {
			continue
		}
		m, err := w.st.Marks(ctx, run.ID, sweep)
		if err != nil {
			return runStatus{}, scheduler.Progress{}, err
		}
		if total, open, err := w.model.Checks(sweep, run.Verify, run.VerifySame, m); err == nil {
			p.Sweeps[i].TotalNs += total
			p.Sweeps[i].OpenNs += open
		}
	}
	for _, x := range s.Workers {
		p.Slots += x.Slots
	}
	return s, p, nil
}

// plain prints a line for each sweep every ten seconds.
func (w *watcher) plain(ctx context.Context, name string) error {
	out := &lines{out: w.app.out, every: 10 * time.Second, pace: w.pace}
	for ctx.Err() == nil {
		s, p, err := w.look(ctx, name)
		if err != nil {
			return err
		}
		out.Update(p)
		if s.State.Ended() {
			out.Note(fmt.Sprintf("run %s is %s", s.Run, s.State))
			return nil
		}
		wait(ctx, time.Second)
	}
	return nil
}

// live redraws the terminal once a second, without clearing it first, so that
// nothing flickers.
func (w *watcher) live(ctx context.Context, name string) error {
	fmt.Fprint(w.app.out, "\x1b[?25l\x1b[2J")
	defer fmt.Fprint(w.app.out, "\x1b[?25h")
	for ctx.Err() == nil {
		s, p, err := w.look(ctx, name)
		if err != nil {
			return err
		}
		cols, rows := 80, 24
		if f := file(w.app.out); f != nil {
			if c, r, err := term.GetSize(int(f.Fd())); err == nil && c > 0 && r > 0 {
				cols, rows = c, r
			}
		}
		draw(w.app.out, w.frame(s, p, cols, rows-1), cols)
		if s.State.Ended() {
			return nil
		}
		wait(ctx, time.Second)
	}
	return nil
}

// draw writes lines from the top of the screen, cut to its width.
func draw(out io.Writer, lines []string, cols int) {
	var b bytes.Buffer
	b.WriteString("\x1b[H")
	for _, l := range lines {
		if r := []rune(l); len(r) > cols {
			l = string(r[:cols-1]) + "…"
		}
		b.WriteString(l + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	b.WriteTo(out)
}

// frame lays out one picture in at most rows lines.
func (w *watcher) frame(s runStatus, p scheduler.Progress, cols, rows int) []string {
	out := []string{fmt.Sprintf("run %s (start %d): %s, %.1f %%", s.Run, s.Number, s.State, s.percent())}
	if s.Reason != "" {
		out = append(out, "reason: "+s.Reason)
	}
	out = append(out, "")
	width := 0
	for _, x := range p.Sweeps {
		width = max(width, len(x.Name))
	}
	for _, x := range p.Sweeps {
		rate, left := w.pace.at(x, p.Slots)
		f := fractionDone(x)
		out = append(out, fmt.Sprintf("%-*s %s %3.0f %%  %s", width, x.Name, bar(f, min(32, cols/4)), 100*f, describe(x, rate, left)))
	}
	out = append(out, "", fmt.Sprintf("%d workers with %d slots, %d tasks under way, led by %s", len(s.Workers), p.Slots, len(s.Tasks), cmp.Or(s.Leader, "nobody")))
	tasks := map[string][]jobs.Beat{}
	for _, t := range s.Tasks {
		tasks[t.Worker] = append(tasks[t.Worker], t)
	}
	slices.SortFunc(s.Workers, func(a, b jobs.Worker) int { return cmp.Compare(a.ID, b.ID) })
	for i, x := range s.Workers {
		if len(out) >= rows-len(s.Failures)-1 && len(s.Workers)-i > 1 {
			out = append(out, fmt.Sprintf("  and %d more", len(s.Workers)-i))
			break
		}
		line := fmt.Sprintf("  %-28s %2d of %2d slots busy", x.ID, len(tasks[x.ID]), x.Slots)
		if ts := tasks[x.ID]; len(ts) > 0 {
			line += fmt.Sprintf("  %s %.0f %%", taskRange(ts[0].Task), 100*ts[0].Fraction)
		}
		out = append(out, line)
	}
	for i, f := range s.Failures {
		if len(out) >= rows-1 {
			out = append(out, fmt.Sprintf("  and %d more failures", len(s.Failures)-i))
			break
		}
		out = append(out, fmt.Sprintf("failed: sweep %s, %s: %s", f.Sweep, failedN(f), f.Error))
	}
	return out[:min(len(out), rows)]
}

// taskRange shows a task's sweep and range without run and epoch.
func taskRange(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	rest, _, _ = strings.Cut(rest, "#")
	return strings.Replace(rest, ":", " ", 1)
}

func bar(f float64, width int) string {
	k := int(f * float64(width))
	return strings.Repeat("█", k) + strings.Repeat("░", width-k)
}
