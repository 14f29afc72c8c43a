package bezout

// oddTable is strand 0 of a range that starts at 1. It keeps φ, and whether g is
// zero, of the odd numbers up to half the range: there all other strands find
// what they need, and so do the odd multiples of 3, so that only the numbers
// coprime to 6 are sieved.
type oddTable[T word] struct {
	sieve *denseSieve[T]
	cells *[tableCells]cell[T]
	marks *[tableCells]uint8

	phi   []T     // of 1, 3, 5, …; a whole number of segments
	zero  []uint8 // 1 where g is zero
	steps *[tableSegment]T
	at    int64 // index of the next segment's first odd number
	ready []T
}

// A segment of the table is a multiple of the odd numbers in a block of values,
// and a third of it is a multiple of 6.
const (
	tableSegment = 9 * 4 * blockOctets
	tableCells   = tableSegment / 3 * 2
)

// newOddTable returns the strand of the odd numbers below limit.
func newOddTable[T word](primes []uint32, limit int64) *oddTable[T] {
	kept := (limit/4 + tableSegment) / tableSegment * tableSegment
	return &oddTable[T]{
		sieve: newDenseSieve(newTables[T](6, limit, tableCells, primes), 0, tableCells, limit),
		cells: new([tableCells]cell[T]),
		marks: new([tableCells]uint8),
		phi:   make([]T, kept),
		zero:  make([]uint8, kept),
		steps: new([tableSegment]T),
	}
}

func (t *oddTable[T]) take(most int) []T {
	if len(t.ready) == 0 {
		t.segment()
		t.ready = t.steps[:]
	}
	most = min(most, len(t.ready))
	out := t.ready[:most]
	t.ready = t.ready[most:]
	return out
}

// segment finds φ and whether g is zero, as long as they are kept, and the step
// for the next tableSegment odd numbers.
func (t *oddTable[T]) segment() {
	t.sieve.segment(t.cells[:], t.marks[:])
	third := t.at / 3
	ofThird, zeroThird := (*[tableSegment / 3]T)(t.phi[third:]), (*[tableSegment / 3]uint8)(t.zero[third:])
	if t.at < int64(len(t.phi)) {
		phi, zero := (*[tableSegment]T)(t.phi[t.at:]), (*[tableSegment]uint8)(t.zero[t.at:])
		finishRough(phi, zero, t.steps, t.cells, t.marks)
		finishTriples(phi, zero, t.steps, ofThird, zeroThird)
	} else {
		stepRough(t.steps, t.cells, t.marks)
		stepTriples(t.steps, ofThird, zeroThird)
	}
	t.at += tableSegment
}

// finishRough does it for the numbers of the cells, which are those coprime to 6
// from 1 modulo 12 on.
func finishRough[T word](phi *[tableSegment]T, zero *[tableSegment]uint8, steps *[tableSegment]T,
	cells *[tableCells]cell[T], marks *[tableCells]uint8) {
	_, _, _, _, _ = *phi, *zero, *steps, *cells, *marks // checks them for nil once
	for i, k := 0, 0; i < tableCells-3 && k < tableSegment-5; i, k = i+4, k+6 {
		x, none := finish(cells[i], marks[i])
		phi[k], zero[k], steps[k] = x, uint8(none), plusStep(x, none)
		x, none = finish(cells[i+1], marks[i+1])
		phi[k+2], zero[k+2], steps[k+2] = x, uint8(none), plusStep(x, none)
		x, none = finish(cells[i+2], marks[i+2])
		phi[k+3], zero[k+3], steps[k+3] = x, uint8(none), minusStep(x, none)
		x, none = finish(cells[i+3], marks[i+3])
		phi[k+5], zero[k+5], steps[k+5] = x, uint8(none), minusStep(x, none)
	}
}

// stepRough finds their steps only.
func stepRough[T word](steps *[tableSegment]T, cells *[tableCells]cell[T], marks *[tableCells]uint8) {
	_, _, _ = *steps, *cells, *marks
	for i, k := 0, 0; i < tableCells-3 && k < tableSegment-5; i, k = i+4, k+6 {
		steps[k] = plusStep(finish(cells[i], marks[i]))
		steps[k+2] = plusStep(finish(cells[i+1], marks[i+1]))
		steps[k+3] = minusStep(finish(cells[i+2], marks[i+2]))
		steps[k+5] = minusStep(finish(cells[i+3], marks[i+3]))
	}
}

// finishTriples does it for the odd multiples of 3, from the numbers that they
// are the triples of. The first of these has an index divisible by 6, so that it
// is 1 modulo 4, and the ones divisible by 3 are the second and fifth of six.
// φ(3m) is 3φ(m) when 3 divides m and 2φ(m) otherwise; g(3m) is zero exactly when
// g(m) is. phi and ofThird may overlap: a number's triple comes after it.
func finishTriples[T word](phi *[tableSegment]T, zero *[tableSegment]uint8, steps *[tableSegment]T,
	ofThird *[tableSegment / 3]T, zeroThird *[tableSegment / 3]uint8) {
	_, _, _, _, _ = *phi, *zero, *steps, *ofThird, *zeroThird // checks them for nil once
	for i, k := 0, 1; i < tableSegment/3-5 && k < tableSegment-15; i, k = i+6, k+18 {
		x, none := 2*ofThird[i], zeroThird[i]
		phi[k], zero[k], steps[k] = x, none, minusStep(x, T(none))
		x, none = 3*ofThird[i+1], zeroThird[i+1]
		phi[k+3], zero[k+3], steps[k+3] = x, none, plusStep(x, T(none))
		x, none = 2*ofThird[i+2], zeroThird[i+2]
		phi[k+6], zero[k+6], steps[k+6] = x, none, minusStep(x, T(none))
		x, none = 2*ofThird[i+3], zeroThird[i+3]
		phi[k+9], zero[k+9], steps[k+9] = x, none, plusStep(x, T(none))
		x, none = 3*ofThird[i+4], zeroThird[i+4]
		phi[k+12], zero[k+12], steps[k+12] = x, none, minusStep(x, T(none))
		x, none = 2*ofThird[i+5], zeroThird[i+5]
		phi[k+15], zero[k+15], steps[k+15] = x, none, plusStep(x, T(none))
	}
}

// stepTriples finds their steps only.
func stepTriples[T word](steps *[tableSegment]T, ofThird *[tableSegment / 3]T, zeroThird *[tableSegment / 3]uint8) {
	_, _, _ = *steps, *ofThird, *zeroThird
	for i, k := 0, 1; i < tableSegment/3-5 && k < tableSegment-15; i, k = i+6, k+18 {
		steps[k] = minusStep(2*ofThird[i], T(zeroThird[i]))
		steps[k+3] = plusStep(3*ofThird[i+1], T(zeroThird[i+1]))
		steps[k+6] = minusStep(2*ofThird[i+2], T(zeroThird[i+2]))
		steps[k+9] = plusStep(2*ofThird[i+3], T(zeroThird[i+3]))
		steps[k+12] = minusStep(3*ofThird[i+4], T(zeroThird[i+4]))
		steps[k+15] = plusStep(2*ofThird[i+5], T(zeroThird[i+5]))
	}
}
