package bezout

import (
	"context"
	"math"

	"github.com/nsweep/nsweep/engine"
)

// Nanoseconds of one core of the reference machine for the parts of a
// summation. They weigh its parts for the progress and for Cost.
const (
	nsCount     = 0.7 // a C(⌊x/e⌋)
	nsPrefix    = 0.5 // an F(⌊x/d⌋) from the table
	nsLowK      = 20  // a value of k in a low segment
	nsLowNumber = 2   // a number up to R
	nsHighPoint = 8   // an F(⌊n/m⌋) above R
)

// nsHighNumber is the time for a number above R.
func nsHighNumber(y int64) float64 { return 0.2 + 0.03*math.Log(float64(y)) }

// pacer measures a summation by the work it has done, not by a clock.
type pacer struct {
	sink  engine.Sink
	total float64
	done  float64
	// Work since the last look at ctx and since the last offered state.
	sincePause, sinceSave float64
	saveEvery             float64
}

const (
	pauseEvery   = 5e6 // look at ctx and report about every 5 ms
	saveEvery    = 1e9 // offer a state about every second,
	savePerEntry = 1e3 // but do not spend more than a small part of the time on it
)

func newPacer(s *summation, sink engine.Sink) *pacer {
	return &pacer{sink: sink, total: sumWork(s.n, s.cut, s.limit), saveEvery: max(saveEvery, savePerEntry*float64(s.cut))}
}

// sumWork estimates the work of a summation. Σ_{k≤K} √(n/k) is 2√(nK) but for
// lower terms.
func sumWork(n, cut, y int64) float64 {
	root := math.Sqrt(float64(n))
	pairs := float64(roughCount) / roughSpan * 2 * root * math.Sqrt(float64(cut))
	return 50_000 + pairs*(nsCount+nsPrefix) + root*(nsLowNumber+nsHighPoint) +
		float64(cut)*nsLowK*(1+root/(wheelSpan*lowWords)) + float64(y)*nsHighNumber(y)
}

// add counts work and reports whether it is time for a pause.
func (p *pacer) add(ns float64) bool {
	p.done += ns
	p.sincePause += ns
	p.sinceSave += ns
	return p.sincePause >= pauseEvery
}

// saving reports whether the next pause will offer a state.
func (p *pacer) saving() bool { return p.sink.Save != nil && p.sinceSave >= p.saveEvery }

// pause looks at ctx, reports progress and offers a state when one is due.
func (p *pacer) pause(ctx context.Context, s *summation) error {
	p.sincePause = 0
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.sink.Progress != nil {
		p.sink.Progress(min(p.done/p.total, 1))
	}
	if p.saving() {
		p.sinceSave = 0
		p.sink.Save(s.encode(p.done))
	}
	return nil
}
