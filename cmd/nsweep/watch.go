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
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
	"github.com/nsweep/nsweep/scheduler"
	"github.com/nsweep/nsweep/web"
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
	rates web.Rates
}

// view is all that a frame shows.
type view struct {
	runStatus
	scheduler.Progress
	under []web.TaskView // the tasks that a worker has
}

// look reads all that a frame shows.
func (w *watcher) look(ctx context.Context, name string) (v view, err error) {
	run, err := w.st.Run(ctx, name)
	if err != nil {
		return v, err
	}
	if v.runStatus, err = w.app.fullStatus(ctx, w.st, run); err != nil {
		return v, err
	}
	if v.Progress, err = storeProgress(ctx, w.st, name); err != nil {
		return v, err
	}
	tasks, err := w.st.Tasks(ctx, run.ID)
	if err != nil {
		return v, err
	}
	beats, clock, err := w.st.Beats(ctx, run.ID)
	if err != nil {
		return v, err
	}
	for _, k := range w.rates.Look(tasks, beats, clock, time.Now()) {
		if !k.Waiting && k.Silent <= intervals().silence {
			v.under = append(v.under, k)
		}
	}
	p := &v.Progress
	for i, sweep := range run.Sweeps {
		first, last := sweep.Cells()
		l, err := w.st.Ledger(ctx, run.ID, sweep)
		if err != nil {
			return v, err
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
			return v, err
		}
		if total, open, err := w.model.Checks(sweep, run.Verify, run.VerifySame, m); err == nil {
			p.Sweeps[i].TotalNs += total
			p.Sweeps[i].OpenNs += open
		}
	}
	for _, x := range v.atHand() {
		p.Slots += x.Slots
	}
	return v, nil
}

// plain prints a line for each sweep every ten seconds.
func (w *watcher) plain(ctx context.Context, name string) error {
	out := &lines{out: w.app.out, every: 10 * time.Second, pace: w.pace}
	for ctx.Err() == nil {
		v, err := w.look(ctx, name)
		if err != nil {
			return err
		}
		out.Update(v.Progress)
		if v.State.Ended() {
			out.Note(fmt.Sprintf("run %s is %s", v.runStatus.Run, v.State))
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
		v, err := w.look(ctx, name)
		if err != nil {
			return err
		}
		cols, rows := 80, 24
		if f := file(w.app.out); f != nil {
			if c, r, err := term.GetSize(int(f.Fd())); err == nil && c > 0 && r > 0 {
				cols, rows = c, r
			}
		}
		draw(w.app.out, w.frame(v, cols, rows-1), cols)
		if v.State.Ended() {
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

// frame lays out one picture in at most rows lines of cols columns. Bars give
// way to figures, workers to failures.
func (w *watcher) frame(v view, cols, rows int) []string {
	out := w.sweepLines(v, cols)
	var wrong []string
	for _, x := range v.runStatus.Sweeps {
		if x.Disputed > 0 {
			wrong = append(wrong, fmt.Sprintf("sweep %s: %s disputed", x.Name, report.Plural(x.Disputed, "cell")))
		}
	}
	for _, q := range v.Quarantine {
		wrong = append(wrong, fmt.Sprintf("in quarantine: worker %s: %s", q.Worker, q.Why()))
	}
	for _, f := range v.runStatus.Failures {
		wrong = append(wrong, fmt.Sprintf("failed: sweep %s, %s: %s", f.Sweep, failedN(f), firstLine(f.Error)))
	}
	workers := w.workerLines(v)
	// Both lists have a half of what is left, and what the other does not need.
	room := max(0, rows-len(out)-2)
	half := room / 2
	forWrong := max(min(len(wrong), half), room-len(workers))
	wrong = atMost(wrong, forWrong)
	workers = atMost(workers, room-len(wrong))
	out = append(out, "", fmt.Sprintf("%s with %s, %s under way, led by %s", report.Plural(len(v.atHand()), "worker"), report.Plural(v.Slots, "slot"),
		report.Plural(len(v.under), "task"), cmp.Or(v.Leader, "nobody")))
	out = append(append(out, workers...), wrong...)
	return out[:min(len(out), rows)]
}

// sweepLines says how the run and its sweeps stand.
func (w *watcher) sweepLines(v view, cols int) []string {
	open, total, sum := 0.0, 0.0, time.Duration(0)
	name, longest, shortest := 0, 0, 0
	text := make([]figures, len(v.Progress.Sweeps))
	for i, x := range v.Progress.Sweeps {
		rate, left := w.pace.at(x, v.Slots)
		text[i] = describe(x, rate, left)
		name = max(name, len(x.Name))
		longest = max(longest, utf8.RuneCountInString(text[i].String()))
		shortest = max(shortest, utf8.RuneCountInString(text[i].without()))
		open, total = open+x.OpenNs, total+x.TotalNs
		if !sweepEnded(x) {
			sum += left
		}
	}
	head := fmt.Sprintf("run %s (start %d): %s", v.runStatus.Run, v.Number, v.State)
	if total > 0 && v.State != jobs.Complete {
		head += fmt.Sprintf(", %.1f %% of the work done", 100*min(1, max(0, 1-open/total)))
		if v.State == jobs.Running && len(v.under) > 0 {
			head += ", " + report.Span(sum) + " left"
		}
	}
	out := []string{head}
	if v.Reason != "" {
		out = append(out, "reason: "+v.Reason)
	}
	out = append(out, "")
	const percent = len(" 100 %  ")
	room := cols - name - 1 - percent
	split := room < leastBar+longest // what is confirmed has a line of its own
	if split {
		longest = shortest
	}
	width := min(mostBar, max(leastBar, room-longest))
	for i, x := range v.Progress.Sweeps {
		line := fmt.Sprintf("%-*s %s %3.0f %%  ", name, x.Name, bar(fractionDone(x), width), 100*fractionDone(x))
		if !split {
			out = append(out, line+text[i].String())
			continue
		}
		out = append(out, line+text[i].without())
		if c := text[i].confirmed; c != "" {
			out = append(out, strings.Repeat(" ", name+1+width+percent-2)+c)
		}
	}
	return out
}

// workerLines says what each worker is at, those that work first.
func (w *watcher) workerLines(v view) (out []string) {
	tasks := map[string][]web.TaskView{}
	for _, k := range v.under {
		tasks[k.Worker] = append(tasks[k.Worker], k)
	}
	workers := v.atHand()
	slices.SortFunc(workers, func(a, b jobs.Worker) int {
		return cmp.Or(cmp.Compare(min(1, len(tasks[b.ID])), min(1, len(tasks[a.ID]))), cmp.Compare(a.ID, b.ID))
	})
	name, rates := 0, 0
	for _, x := range workers {
		name, rates = max(name, len(x.ID)), max(rates, len(group(int64(w.rates.Of(x.ID)))))
	}
	for _, x := range workers {
		ts := tasks[x.ID]
		line := fmt.Sprintf("  %-*s  %2d of %2d slots busy  %*s n/s", name, x.ID, len(ts), x.Slots, rates, group(int64(w.rates.Of(x.ID))))
		if len(ts) > 0 {
			line += "  "
			if ts[0].Check {
				line += "confirms "
			}
			line += fmt.Sprintf("%s %d…%d %.0f %%", ts[0].Sweep, ts[0].First(), ts[0].Last(), 100*ts[0].Fraction)
		}
		out = append(out, line)
	}
	return out
}

// atMost keeps k lines; where it leaves some out, the last one counts them.
func atMost(lines []string, k int) []string {
	if len(lines) <= k {
		return lines
	}
	if k < 1 {
		return nil
	}
	return append(slices.Clone(lines[:k-1]), fmt.Sprintf("  and %d more", len(lines)-k+1))
}

func bar(f float64, width int) string {
	k := int(f * float64(width))
	return strings.Repeat("█", k) + strings.Repeat("░", width-k)
}
