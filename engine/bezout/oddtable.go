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
	spare []T     // takes φ of a segment beyond them
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
		zero:  make([]uint8, kept+tableSegment),
		spare: make([]T, tableSegment),
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

// segment finds φ, whether g is zero and the step for the next tableSegment odd
// numbers.
func (t *oddTable[T]) segment() {
	t.sieve.segment(t.cells[:], t.marks[:])
	phi, zero := t.spare, t.zero[len(t.phi):]
	if t.at < int64(len(t.phi)) {
		phi, zero = t.phi[t.at:], t.zero[t.at:]
	}
	p, z := (*[tableSegment]T)(phi), (*[tableSegment]uint8)(zero)
	finishRough(p, z, t.steps, t.cells, t.marks)
	third := t.at / 3
	finishTriples(p, z, t.steps, (*[tableSegment / 3]T)(t.phi[third:]), (*[tableSegment / 3]uint8)(t.zero[third:]))
	t.at += tableSegment
}

// finishRough does it for the numbers of the cells, which are those coprime to 6
// from 1 modulo 12 on.
func finishRough[T word](phi *[tableSegment]T, zero *[tableSegment]uint8, steps *[tableSegment]T,
	cells *[tableCells]cell[T], marks *[tableCells]uint8) {
	for i := range tableCells / 4 {
		d := cofactor(cells[4*i].c)
		x, none := cells[4*i].phi*d, zeroSign(d, marks[4*i])
		phi[6*i], zero[6*i], steps[6*i] = x, uint8(none), plusStep(x, none)
		d = cofactor(cells[4*i+1].c)
		x, none = cells[4*i+1].phi*d, zeroSign(d, marks[4*i+1])
		phi[6*i+2], zero[6*i+2], steps[6*i+2] = x, uint8(none), plusStep(x, none)
		d = cofactor(cells[4*i+2].c)
		x, none = cells[4*i+2].phi*d, zeroSign(d, marks[4*i+2])
		phi[6*i+3], zero[6*i+3], steps[6*i+3] = x, uint8(none), minusStep(x, none)
		d = cofactor(cells[4*i+3].c)
		x, none = cells[4*i+3].phi*d, zeroSign(d, marks[4*i+3])
		phi[6*i+5], zero[6*i+5], steps[6*i+5] = x, uint8(none), minusStep(x, none)
	}
}

// finishTriples does it for the odd multiples of 3, from the numbers that they
// are the triples of. The first of these has an index divisible by 6, so that it
// is 1 modulo 4, and the ones divisible by 3 are the second and fifth of six.
// φ(3m) is 3φ(m) when 3 divides m and 2φ(m) otherwise; g(3m) is zero exactly when
// g(m) is. phi and ofThird may overlap: a number's triple comes after it.
func finishTriples[T word](phi *[tableSegment]T, zero *[tableSegment]uint8, steps *[tableSegment]T,
	ofThird *[tableSegment / 3]T, zeroThird *[tableSegment / 3]uint8) {
	for i := range tableSegment / 18 {
		x, none := 2*ofThird[6*i], zeroThird[6*i]
		phi[18*i+1], zero[18*i+1], steps[18*i+1] = x, none, minusStep(x, T(none))
		x, none = 3*ofThird[6*i+1], zeroThird[6*i+1]
		phi[18*i+4], zero[18*i+4], steps[18*i+4] = x, none, plusStep(x, T(none))
		x, none = 2*ofThird[6*i+2], zeroThird[6*i+2]
		phi[18*i+7], zero[18*i+7], steps[18*i+7] = x, none, minusStep(x, T(none))
		x, none = 2*ofThird[6*i+3], zeroThird[6*i+3]
		phi[18*i+10], zero[18*i+10], steps[18*i+10] = x, none, plusStep(x, T(none))
		x, none = 3*ofThird[6*i+4], zeroThird[6*i+4]
		phi[18*i+13], zero[18*i+13], steps[18*i+13] = x, none, minusStep(x, T(none))
		x, none = 2*ofThird[6*i+5], zeroThird[6*i+5]
		phi[18*i+16], zero[18*i+16], steps[18*i+16] = x, none, plusStep(x, T(none))
	}
}
