package bezout

import "github.com/nsweep/nsweep/engine"

// emitter collects values of successive n into pieces, int64 up to narrowMax
// and 128 bits beyond, and reports progress with each piece.
type emitter struct {
	sink   engine.Sink
	lo, hi int64 // the whole work
	from   int64 // n of the first value in buf
	narrow []int64
	wide   []engine.Int128
}

func newEmitter(w engine.Work, sink engine.Sink) *emitter {
	return &emitter{sink: sink, lo: w.Lo, hi: w.Hi, from: w.Lo}
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
	e.from += int64(p.Len())
	e.narrow, e.wide = e.narrow[:0], e.wide[:0]
	return e.emit(p)
}

// emit hands out one piece and the progress after it.
func (e *emitter) emit(p engine.Piece) error {
	if err := e.sink.Emit(p); err != nil {
		return err
	}
	if e.sink.Progress != nil {
		e.sink.Progress(float64(p.Lo+int64(p.Len())-e.lo) / float64(e.hi-e.lo))
	}
	return nil
}
