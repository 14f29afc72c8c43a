package bezout

import (
	"context"
	"fmt"

	"github.com/nsweep/nsweep/engine"
)

// Borders between the ways to walk through a range.
const (
	// Below this many values the plain sieve is faster than the preparations
	// for the dense one.
	denseLeast = 4096
	// Numbers below 2³¹ fit 32-bit cells.
	dense32Max = int64(1) << 31
	// Beyond this limit every segment meets more primes than the dense sieve
	// is made for.
	denseMax = int64(1) << 44
	// A range from 1 keeps the odd numbers up to half of it, at most 128 MB.
	denseTableMax = int64(1) << 27
)

// blockOctets is the number of n divisible by 8 in one block of values.
const blockOctets = 1024

// walker carries W through the parts of a range.
type walker struct {
	ctx    context.Context
	out    *emitter
	primes []uint32
	// w is W(n) for the n before the next one.
	w     engine.Int128
	check func(engine.Int128) error // is given W(hi−1) before the last values leave
	last  int64                     // hi−1 of the whole range

	values []int64
	wide   []engine.Int128
}

// steps emits W(lo), …, W(hi−1): a direct W(lo−1), then the step form with φ
// and g from sieves. When a direct W(hi−1) costs little beside the range, it
// is compared with the last value before that leaves.
func steps(ctx context.Context, lo, hi int64, sink engine.Sink, out *emitter) error {
	wk := &walker{ctx: ctx, out: out, last: hi - 1}
	if lo > 1 {
		// The start reports its share of the work, and its state is the state
		// of the work: the values after it cost little beside a long start.
		w, err := sum(ctx, lo-1, out.startSink(sink))
		if err != nil {
			return fmt.Errorf("bezout: start of %d…%d: %w", lo, hi-1, err)
		}
		wk.w = w
	}
	if checkPays(lo, hi) {
		wk.check = checkEnd(ctx, lo, hi)
	}
	var err error
	if wk.primes, err = primesUpto(ctx, isqrt(hi)+1); err != nil {
		return err
	}
	for lo < hi && err == nil {
		lo, err = wk.part(lo, hi)
	}
	return err
}

// checkEnd returns a function that compares W(hi−1) with the direct sum.
func checkEnd(ctx context.Context, lo, hi int64) func(engine.Int128) error {
	return func(got engine.Int128) error {
		want, err := sum(ctx, hi-1, engine.Sink{})
		if err != nil {
			return fmt.Errorf("bezout: check of %d…%d: %w", lo, hi-1, err)
		}
		if got != want {
			return fmt.Errorf("bezout: the sieve of %d…%d ends with W(%d) = %s, the direct sum gives %s", lo, hi-1, hi-1, got, want)
		}
		return nil
	}
}

// way is a way to walk through a part of a range.
type way int

const (
	plainWay way = iota
	tableWay
	window32Way
	window64Way
)

// wayFor returns how to begin with [lo, hi), and up to where.
func wayFor(lo, hi int64) (way, int64) {
	switch {
	case hi-lo < denseLeast || lo >= denseMax:
		return plainWay, hi
	case lo <= min(hi, denseTableMax)/16:
		return tableWay, min(hi, denseTableMax)
	case lo < dense32Max:
		return window32Way, min(hi, dense32Max)
	}
	return window64Way, min(hi, denseMax)
}

// part walks through the first part of [lo, hi) and returns where it ends.
func (wk *walker) part(lo, hi int64) (int64, error) {
	odd := wk.primes[1:]
	way, end := wayFor(lo, hi)
	switch way {
	case tableWay:
		return end, fromTable(wk, end, lo, odd)
	case window32Way:
		return end, window(wk, lo, end, newTables[uint32](2, end, denseCells, odd), denseCells)
	case window64Way:
		cells := int64(denseCells)
		if end > 1<<38 {
			cells *= 2
		}
		return end, window(wk, lo, end, newTables[uint64](2, end, cells, odd), cells)
	}
	return end, wk.plain(lo, end)
}

// plain walks through [lo, hi) with the plain sieve.
func (wk *walker) plain(lo, hi int64) error {
	s := newPlainSieve(min(hi-lo, maxPiece))
	wk.values = make([]int64, min(hi-lo, maxPiece))
	for a := lo; a < hi; a += maxPiece {
		b := min(a+maxPiece, hi)
		if err := s.run(wk.ctx, a, b, wk.primes); err != nil {
			return err
		}
		// A piece adds at most 65536·10¹⁸ to W, so the sum within it can
		// leave 64 bits: it is carried in 128.
		w := wk.w
		for i := range b - a {
			w = w.Add(engine.Int128From(s.step(a+i, i)))
			if err := wk.one(a+i, w); err != nil {
				return err
			}
		}
		wk.w = w
	}
	return wk.out.flush()
}

// one emits a single value.
func (wk *walker) one(n int64, w engine.Int128) error {
	if n == wk.last && wk.check != nil {
		if err := wk.check(w); err != nil {
			return err
		}
	}
	return wk.out.value(w)
}

// fromTable walks through [lo, end), lo near the beginning, by way of all n from 1.
func fromTable(wk *walker, end, lo int64, primes []uint32) error {
	zero := newOddTable[uint32](primes, end+8*blockOctets)
	view := func(int) strand[uint32] { return &stored[uint32]{table: zero} }
	e := &eighths[uint32]{}
	for a := 3; int64(1)<<a < end+8*blockOctets; a++ {
		e.strands = append(e.strands, view(a))
	}
	return walk(wk, 0, lo, end, [3]strand[uint32]{zero, view(1), view(2)}, e)
}

// window walks through [lo, hi).
func window[T word](wk *walker, lo, hi int64, t *tables[T], size int64) error {
	base := (lo - 1) / 8 * 8
	blocks := (hi - base + 8*blockOctets - 2) / (8 * blockOctets)
	top := base + blocks*8*blockOctets
	cells, marks := make([]cell[T], size), make([]uint8, size)
	var strands [tailPower]strand[T]
	for a := range strands {
		// A strand finds its first multiple of every prime: milliseconds when
		// there are hundreds of thousands of them.
		if err := wk.ctx.Err(); err != nil {
			return err
		}
		// The odd m with base < 2^a·m ≤ top.
		first, beyond := (base>>a+1)|1, (top>>a+1)|1
		strands[a] = newSieved(t, cells, marks, first, (beyond-first)/2)
		marks = nil // only strand 0 needs g
	}
	e := &eighths[T]{
		strands: strands[3:],
		tail:    &tail{wk: wk, next: base>>tailPower + 1, end: top>>tailPower + 1},
	}
	return walk(wk, base, lo, hi, [3]strand[T](strands[:3]), e)
}

// walk goes through the blocks from base+1 on, a multiple of 8 before it, and
// emits the values of [lo, hi).
func walk[T word](wk *walker, base, lo, hi int64, strands [3]strand[T], e *eighths[T]) error {
	values, octets := new([8 * blockOctets]int64), new([blockOctets]int64)
	for ; base+1 < hi; base += 8 * blockOctets {
		if err := wk.ctx.Err(); err != nil {
			return err
		}
		// Segments of these strands are multiples of what they yield to a block.
		s0 := (*[4 * blockOctets]T)(strands[0].take(4 * blockOctets))
		s1 := (*[2 * blockOctets]T)(strands[1].take(2 * blockOctets))
		s2 := (*[blockOctets]T)(strands[2].take(blockOctets))
		if err := e.fill(octets, base/8+1); err != nil {
			return err
		}
		if base+8*blockOctets < lo {
			continue
		}
		from, to := max(lo-base-1, 0), min(hi-base-1, 8*blockOctets)
		first := int64(wk.w.Lo)
		if from > 0 {
			// lo is inside the block: go back from W(lo−1) to its beginning.
			addSteps(values, 0, s0, s1, s2, octets)
			first -= values[from-1]
		}
		addSteps(values, first, s0, s1, s2, octets)
		if err := wk.emit(base+1+from, values[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// emit hands out W(n), W(n+1), …, given modulo 2⁶⁴. That is all of it as long
// as int64 holds W. Beyond, a block adds less than 2¹⁴·2⁴⁴ to W, so that the
// upper word grows exactly when the lower one wraps.
func (wk *walker) emit(n int64, low []int64) error {
	end := n + int64(len(low)) - 1
	top := uint64(wk.w.Hi)
	before := wk.w.Lo
	w := engine.Int128{Hi: wk.w.Hi, Lo: uint64(low[len(low)-1])}
	if w.Lo < before {
		w.Hi++
	}
	wk.w = w
	if end == wk.last && wk.check != nil {
		if err := wk.check(w); err != nil {
			return err
		}
	}
	if k := min(int64(len(low)), narrowMax-n+1); k > 0 {
		if err := wk.out.emit(engine.Piece{Lo: n, Narrow: low[:k]}); err != nil {
			return err
		}
		n, low = n+k, low[k:]
	}
	if len(low) == 0 {
		return nil
	}
	wk.wide = wk.wide[:0]
	for _, v := range low {
		x := engine.Int128{Hi: int64(top), Lo: uint64(v)}
		if x.Lo < before {
			x.Hi++
		}
		wk.wide = append(wk.wide, x)
	}
	return wk.out.emit(engine.Piece{Lo: n, Wide: wk.wide})
}
