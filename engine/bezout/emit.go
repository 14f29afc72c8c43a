package bezout

import "github.com/nsweep/nsweep/engine"

// emitter collects values of successive n into pieces, int64 up to narrowMax
// and 128 bits beyond, and reports progress with each piece.
type emitter struct {
	sink   engine.Sink
	lo, hi int64   // the whole work
	from   int64   // n of the first value collected
	start  float64 // share of the work that is done before the first value
	narrow []int64
	wide   []engine.Int128
}

func newEmitter(w engine.Work, sink engine.Sink) *emitter {
	return &emitter{sink: sink, lo: w.Lo, hi: w.Hi, from: w.Lo}
}

// startSink is the sink for the start of a dense range: its progress counts for
// as much of the whole as its cost.
func (e *emitter) startSink(sink engine.Sink) engine.Sink {
	c := stepsCost(e.lo, e.hi)
	e.start = c.Start / c.Total()
	if progress := sink.Progress; progress != nil {
		sink.Progress = func(f float64) { progress(e.start * f) }
	}
	return sink
}

// value appends the value of the next n.
func (e *emitter) value(v engine.Int128) error {
	n := e.from + int64(len(e.narrow)+len(e.wide))
	if n <= narrowMax {
		e.narrow = append(e.narrow, int64(v.Lo))
	} else {
		e.wide = append(e.wide, v)
	}
	if len(e.narrow)+len(e.wide) == maxPiece || n == narrowMax {
		return e.flush()
	}
	return nil
}

// flush emits what has been collected.
func (e *emitter) flush() error {
	p := engine.Piece{Lo: e.from, Narrow: e.narrow, Wide: e.wide}
	if p.Len() == 0 {
		return nil
	}
	if len(p.Narrow) == 0 {
		p.Narrow = nil
	}
	if len(p.Wide) == 0 {
		p.Wide = nil
	}
	e.narrow, e.wide = e.narrow[:0], e.wide[:0]
	return e.emit(p)
}

// emit hands out one piece and the progress after it.
func (e *emitter) emit(p engine.Piece) error {
	if err := e.sink.Emit(p); err != nil {
		return err
	}
	e.from = p.Lo + int64(p.Len())
	if e.sink.Progress != nil {
		f := 1.0
		if next := p.Lo + int64(p.Len()); next < e.hi {
			f = e.start + (1-e.start)*float64(next-e.lo)/float64(e.hi-e.lo)
		}
		e.sink.Progress(f)
	}
	return nil
}
