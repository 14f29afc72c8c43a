package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/nsweep/nsweep/engine"
)

// waitAfter is how long a computation may last without a sign.
const waitAfter = time.Second

// waitBar shows on a terminal how far a computation is that keeps somebody
// waiting, and is gone when that is over. A nil one shows nothing.
type waitBar struct {
	out   io.Writer
	name  string
	begin time.Time
	p     *mpb.Progress
	bar   *mpb.Bar
}

// newWait returns the bar of a work. There is none where nobody looks, or where
// values that appear on the same terminal show themselves how it goes on.
func (a *app) newWait(w engine.Work, values bool) *waitBar {
	if !terminal(a.err) || values && w.Len() > 1 && terminal(a.out) {
		return nil
	}
	name := fmt.Sprintf("n = %s", group(w.Lo))
	if w.Len() > 1 {
		name += "…" + group(w.Hi-1)
	}
	return &waitBar{out: a.err, name: name, begin: time.Now()}
}

// at takes the fraction that is done. It is called by one goroutine.
func (b *waitBar) at(fraction float64) {
	if b == nil {
		return
	}
	if b.bar == nil {
		if time.Since(b.begin) < waitAfter {
			return
		}
		b.p = mpb.New(mpb.WithOutput(b.out), mpb.WithWidth(mostBar), mpb.WithRefreshRate(150*time.Millisecond))
		b.bar = b.p.New(barSteps, barStyle(), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(b.name)),
			mpb.AppendDecorators(decor.Any(func(st decor.Statistics) string { return fmt.Sprintf(" %3d %%", st.Current*100/barSteps) })))
	}
	b.bar.SetCurrent(int64(fraction * barSteps))
}

// close takes the bar off the screen.
func (b *waitBar) close() {
	if b == nil || b.bar == nil {
		return
	}
	b.bar.Abort(true)
	b.p.Wait()
}
