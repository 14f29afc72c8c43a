package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/report"
	"github.com/nsweep/nsweep/scheduler"
)

// display shows how a run goes on. Update never blocks for long.
type display interface {
	Update(scheduler.Progress)
	Note(line string)
	Close()
}

// newDisplay returns live bars on a terminal and plain lines elsewhere.
func (a *app) newDisplay(run jobs.Run) display {
	if terminal(a.err) {
		return newBars(a.err, run)
	}
	return &lines{out: a.err, every: 10 * time.Second, last: time.Now(), pace: newPace()}
}

// pace turns snapshots into speeds and times left.
type pace struct {
	begin time.Time
	first map[string]scheduler.SweepProgress
}

func newPace() *pace {
	return &pace{begin: time.Now(), first: map[string]scheduler.SweepProgress{}}
}

// at returns values a second since the begin and the time left. The time left
// goes by the cost model: by the measured pace once a twentieth of the work is
// done here, by the calibrated estimate before.
func (p *pace) at(s scheduler.SweepProgress, slots int) (rate float64, left time.Duration) {
	f, ok := p.first[s.Name]
	if !ok {
		p.first[s.Name], f = s, s
	}
	elapsed := time.Since(p.begin).Seconds()
	if elapsed > 0 {
		rate = float64(s.Done-f.Done) / elapsed
	}
	ns := s.OpenNs / float64(max(slots, 1))
	if did := f.OpenNs - s.OpenNs; did > f.OpenNs/20 && elapsed > 1 {
		ns = elapsed * 1e9 * s.OpenNs / did
	}
	return rate, time.Duration(ns)
}

// sweepEnded reports whether everything is stored and confirmed.
func sweepEnded(s scheduler.SweepProgress) bool { return s.Done >= s.Total && s.Checked >= s.ToCheck }

// fractionDone returns how much of the sweep is done by the cost model, 0 to 1.
func fractionDone(s scheduler.SweepProgress) float64 {
	switch {
	case sweepEnded(s):
		return 1
	case s.TotalNs > 0:
		return min(1, max(0, 1-s.OpenNs/s.TotalNs))
	case s.Total > 0:
		return float64(s.Done) / float64(s.Total)
	}
	return 1
}

// figures are the parts of one sweep's line: how many n are stored, how many cells
// are confirmed where that is asked for, and how it goes on.
type figures struct{ stored, confirmed, pace string }

func (f figures) String() string { return f.stored + f.confirmed + f.pace }

// without returns the line without what is confirmed, for a narrow screen.
func (f figures) without() string { return f.stored + f.pace }

// describe writes one sweep's figures.
func describe(s scheduler.SweepProgress, rate float64, left time.Duration) (f figures) {
	f.stored = fmt.Sprintf("%s/%s n", group(s.Done), group(s.Total))
	if s.ToCheck > 0 {
		f.confirmed = fmt.Sprintf("  %s/%s cells confirmed", group(s.Checked), group(s.ToCheck))
	}
	switch {
	case sweepEnded(s):
	case rate == 0:
		f.pace = fmt.Sprintf("  about %s of work", report.Span(left))
	case s.Done >= s.Total: // and second computations go on
		f.pace = fmt.Sprintf("  %s left", report.Span(left))
	default:
		f.pace = fmt.Sprintf("  %s n/s  %s left", group(int64(rate)), report.Span(left))
	}
	return f
}

// lines prints a line a sweep now and then.
type lines struct {
	out   io.Writer
	every time.Duration
	mu    sync.Mutex
	last  time.Time
	pace  *pace
	ended map[string]bool
}

func (l *lines) Update(p scheduler.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := time.Since(l.last) >= l.every
	for _, s := range p.Sweeps {
		rate, left := l.pace.at(s, p.Slots)
		full := sweepEnded(s)
		if l.ended[s.Name] || (!due && !full) {
			continue
		}
		if full {
			if l.ended == nil {
				l.ended = map[string]bool{}
			}
			l.ended[s.Name] = true
		}
		fmt.Fprintf(l.out, "%s: %3.0f %%  %s\n", s.Name, 100*fractionDone(s), describe(s, rate, left))
	}
	if due {
		l.last = time.Now()
	}
}

func (l *lines) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, line)
}

func (l *lines) Close() {}

const (
	// barSteps is the resolution of a bar.
	barSteps = 10000
	// leastBar and mostBar are how wide a bar is, in columns: figures come first.
	leastBar, mostBar = 8, 32
)

// bars shows a live bar for each sweep.
type bars struct {
	p    *mpb.Progress
	pace *pace

	mu   sync.Mutex
	bar  map[string]*mpb.Bar
	text map[string]figures
}

// barStyle is how all bars look.
func barStyle() mpb.BarStyleComposer {
	return mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("").Padding("░")
}

func newBars(out io.Writer, run jobs.Run) *bars {
	b := &bars{p: mpb.New(mpb.WithOutput(out), mpb.WithWidth(mostBar), mpb.WithRefreshRate(150*time.Millisecond)),
		pace: newPace(), bar: map[string]*mpb.Bar{}, text: map[string]figures{}}
	width := 0
	for _, s := range run.Sweeps {
		width = max(width, len(s.Name))
	}
	for _, s := range run.Sweeps {
		name := s.Name
		b.bar[name] = b.p.New(barSteps, barStyle(),
			mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-*s ", width, name))),
			mpb.AppendDecorators(decor.Any(func(st decor.Statistics) string {
				b.mu.Lock()
				defer b.mu.Unlock()
				text := fmt.Sprintf(" %3d %%  ", st.Current*100/barSteps)
				if long := text + b.text[name].String(); utf8.RuneCountInString(long)+leastBar <= st.AvailableWidth {
					return long
				}
				return text + b.text[name].without()
			})))
	}
	return b
}

func (b *bars) Update(p scheduler.Progress) {
	for _, s := range p.Sweeps {
		rate, left := b.pace.at(s, p.Slots)
		b.mu.Lock()
		bar := b.bar[s.Name]
		b.text[s.Name] = describe(s, rate, left)
		b.mu.Unlock()
		if bar != nil {
			bar.SetCurrent(int64(fractionDone(s) * barSteps))
		}
	}
}

// Note writes a line above the bars.
func (b *bars) Note(line string) { fmt.Fprintln(b.p, line) }

// Close leaves the bars as they are and ends the drawing.
func (b *bars) Close() {
	for _, bar := range b.bar {
		bar.Abort(false)
	}
	b.p.Wait()
}

// group writes an integer for people.
func group(n int64) string { return report.Group(n) }

// storeProgress makes a snapshot from the store's counters alone, for a run
// that another process leads.
func storeProgress(ctx context.Context, st *opened, name string) (scheduler.Progress, error) {
	run, err := st.Run(ctx, name)
	if err != nil {
		return scheduler.Progress{}, err
	}
	counts, err := st.Counts(ctx, run.ID)
	if err != nil {
		return scheduler.Progress{}, err
	}
	p := scheduler.Progress{Run: run.ID, At: time.Now()}
	for _, s := range run.Sweeps {
		c := counts[s.Name]
		toCheck := s.CheckCount(run.Verify)
		p.Sweeps = append(p.Sweeps, scheduler.SweepProgress{Name: s.Name, Done: c.Values, Total: s.Set.Count(),
			DoneCells: c.Cells, TotalCells: s.CellCount(), Repeated: c.Repeated, Checked: min(c.Confirmed, toCheck), ToCheck: toCheck})
	}
	return p, nil
}
