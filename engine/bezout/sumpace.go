package bezout

import (
	"context"

	"github.com/nsweep/nsweep/engine"
)

// pacer measures a summation by the work it has done, not by a clock.
type pacer struct {
	sink  engine.Sink
	total float64
	done  float64
	// Work since the last look at ctx and since the last offered state.
	sincePause, sinceSave float64
	pauseEvery, saveEvery float64
}

const (
	pauseEvery   = 5e6 // look at ctx and report about every 5 ms
	saveEvery    = 1e9 // offer a state about every second,
	savePerEntry = 1e3 // but do not spend more than a small part of the time on it
)

func newPacer(s *summation, sink engine.Sink) *pacer {
	return &pacer{
		sink: sink, total: sumWork(s.n, s.cut, s.limit),
		pauseEvery: pauseEvery, saveEvery: max(saveEvery, savePerEntry*float64(s.cut)),
	}
}

// add counts work and reports whether it is time for a pause.
func (p *pacer) add(ns float64) bool {
	p.done += ns
	p.sincePause += ns
	p.sinceSave += ns
	return p.sincePause >= p.pauseEvery
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
