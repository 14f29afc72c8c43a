package bezout

// A dense sieve factors the numbers coprime to span, 2 or 6, in their order.
// Number i is 2i+1 for span 2, and 3i+1 or 3i+2 for even or odd i and span 6.
// The multiples of q among them are q·c for the c coprime to span: one chain
// that advances by q numbers, or two that advance by 2q.

// denseCells is the number of cells in a segment: 256 KB of 32-bit words, which
// the second-level cache holds.
const denseCells = 32768

// chunkSegments is the number of segments for which the multiples of large
// prime powers are looked up at once.
const chunkSegments = 64

// denseNumber returns number i of the sieve.
func denseNumber(span, i int64) int64 {
	if span == 2 {
		return 2*i + 1
	}
	return 3*i + 1 + i&1
}

// denseFirst returns the least index, at or above at, of a multiple of q in each
// chain; for span 2 both are the same chain. q is coprime to span.
func denseFirst(span, q, at int64) [2]int64 {
	c := (denseNumber(span, at) + q - 1) / q
	if span == 2 {
		i := (q*(c|1) - 1) / 2
		return [2]int64{i, i}
	}
	one := c + (7-c%6)%6   // the least c ≡ 1 modulo 6
	five := c + (11-c%6)%6 // the least c ≡ 5
	return [2]int64{q * one / 3, q * five / 3}
}

// denseStep returns the distance of the multiples of q in one chain.
func denseStep(span, q int64) int64 {
	if span == 2 {
		return q
	}
	return 2 * q
}

// tables are what all sieves up to one limit share. They do not change once
// made.
type tables[T word] struct {
	span    int64
	pattern []patternCell[T]
	marks   []uint8         // marks of 5 for a segment and a period more
	primes  [2][]divisor[T] // those not in the pattern: 3 modulo 4, and 1 modulo 4
	values  [2][]int64      // their values, ascending
	powers  [2][]divisor[T] // prime powers not in the pattern: small, and large ones whose step is not used
	sizes   [2][]int64      // their values
}

// patternCell is what the primes of the pattern do to a number: it is multiplied
// by inv, and phi is φ of their part of it.
type patternCell[T word] struct{ inv, phi T }

// markPeriod is a period of the multiples of 5 among the numbers of a sieve.
const markPeriod = 10

// newTables prepares sieves for numbers below limit, with segments of at most
// size numbers, given all odd primes up to √limit. The pattern takes 5, 7 and
// 11, for span 2 also 3 and 9.
func newTables[T word](span, limit, size int64, primes []uint32) *tables[T] {
	t := &tables[T]{span: span, marks: make([]uint8, size+markPeriod)}
	for i := range t.marks {
		if denseNumber(span, int64(i))%5 == 0 {
			t.marks[i] = marked
		}
	}
	period := int64(2 * 5 * 7 * 11)
	if span == 2 {
		period = 9 * 5 * 7 * 11
	}
	t.pattern = make([]patternCell[T], period)
	for i := range period {
		t.pattern[i] = newPatternCell[T](denseNumber(span, i))
	}
	for _, p32 := range primes {
		p := int64(p32)
		if span%p == 0 {
			continue
		}
		inv := oddInverse(T(p))
		if p > 11 {
			class := 0
			if p%4 == 1 {
				class = 1
			}
			t.primes[class] = append(t.primes[class], divisor[T]{inv, T(p - 1), uint32(denseStep(span, p))})
			t.values[class] = append(t.values[class], p)
		}
		for q := p * p; q < limit; {
			if q != 9 {
				size := 0
				if q >= 4*denseCells {
					size = 1
				}
				t.powers[size] = append(t.powers[size], divisor[T]{inv, T(p), uint32(denseStep(span, q))})
				t.sizes[size] = append(t.sizes[size], q)
			}
			if q > limit/p {
				break
			}
			q *= p
		}
	}
	return t
}

func newPatternCell[T word](m int64) patternCell[T] {
	c := patternCell[T]{inv: 1, phi: 1}
	for _, p := range []int64{3, 9, 5, 7, 11} {
		if m%p != 0 {
			continue
		}
		switch p {
		case 9:
			c.inv *= oddInverse(T(3))
			c.phi *= 3
		default:
			c.inv *= oddInverse(T(p))
			c.phi *= T(p - 1)
		}
	}
	return c
}

// denseSieve walks through the numbers of one strand in segments.
type denseSieve[T word] struct {
	*tables[T]
	at    int64 // index of the next segment's first number
	count [2]int
	next  [2][2][]uint32 // by class and chain: next multiple of the primes, from at
	small [2][]uint32    // by chain: that of the small powers

	// The multiples of large powers in the current chunk: for each segment the
	// first of a list, or -1.
	chunk  [chunkSegments]int32
	events []event
	inside int // segment within the chunk, or chunkSegments
	size   int64
	limit  int64
}

// event is one multiple of a large prime power.
type event struct {
	cell  uint32
	power uint32 // index in tables.powers[1]
	next  int32  // in the list of the segment, or -1
}

// newDenseSieve returns a sieve of the numbers from index at on, in segments of
// size cells, below the number limit.
func newDenseSieve[T word](t *tables[T], at, size, limit int64) *denseSieve[T] {
	s := &denseSieve[T]{tables: t, at: at, size: size, limit: limit, inside: chunkSegments}
	for class := range t.primes {
		n := 0
		for n < len(t.values[class]) && t.values[class][n]*t.values[class][n] < limit {
			n++
		}
		s.count[class] = n
		for chain := range s.chains() {
			s.next[class][chain] = make([]uint32, n)
		}
		for k, p := range t.values[class][:n] {
			first := denseFirst(t.span, p, at)
			for chain, i := range first[:s.chains()] {
				s.next[class][chain][k] = uint32(i - at)
			}
		}
	}
	for chain := range s.chains() {
		s.small[chain] = make([]uint32, len(t.sizes[0]))
	}
	for k, q := range t.sizes[0] {
		first := denseFirst(t.span, q, at)
		for chain, i := range first[:s.chains()] {
			s.small[chain][k] = uint32(i - at)
		}
	}
	return s
}

func (s *denseSieve[T]) chains() int {
	if s.span == 2 {
		return 1
	}
	return 2
}

// segment factors the next len(cells) numbers, at most size, and marks those
// with a prime factor 1 modulo 4 unless marks is nil.
func (s *denseSieve[T]) segment(cells []cell[T], marks []uint8) {
	s.start(cells)
	if marks != nil {
		copy(marks[:len(cells)], s.marks[s.at%markPeriod:])
	}
	for chain := range s.chains() {
		next := s.next[0][chain]
		for k, d := range s.primes[0][:s.count[0]] {
			next[k] = uint32(divideOut(cells, uint(next[k]), d))
		}
		next = s.next[1][chain]
		for k, d := range s.primes[1][:s.count[1]] {
			if marks != nil {
				next[k] = uint32(divideOutMarking(cells, marks, uint(next[k]), d))
			} else {
				next[k] = uint32(divideOut(cells, uint(next[k]), d))
			}
		}
		next = s.small[chain]
		for k, d := range s.powers[0] {
			next[k] = uint32(divideOut(cells, uint(next[k]), d))
		}
	}
	if s.inside == chunkSegments {
		s.lookUp()
	}
	for i := s.chunk[s.inside]; i >= 0; {
		e := s.events[i]
		if int(e.cell) < len(cells) { // the last segment may be short
			c, d := &cells[e.cell], &s.powers[1][e.power]
			c.c *= d.inv
			c.phi *= d.scale
		}
		i = e.next
	}
	s.inside++
	s.at += int64(len(cells))
}

// start fills the cells with the numbers, divided by the primes of the pattern.
func (s *denseSieve[T]) start(cells []cell[T]) {
	at, period := s.at, int64(len(s.pattern))
	for len(cells) > 0 {
		k := at % period
		row := s.pattern[k:min(period, k+int64(len(cells)))]
		startCells(cells[:len(row)], row, T(denseNumber(s.span, at)), s.gaps(at))
		cells = cells[len(row):]
		at += int64(len(row))
	}
}

// gaps returns the distances from number at to the next four.
func (s *denseSieve[T]) gaps(at int64) (gaps [4]T) {
	for i := range gaps {
		gaps[i] = T(denseNumber(s.span, at+1+int64(i)) - denseNumber(s.span, at))
	}
	return gaps
}

// startCells starts the numbers from m on, which repeat the gaps.
func startCells[T word](cells []cell[T], row []patternCell[T], m T, gaps [4]T) {
	cells = cells[:len(row)]
	i := 0
	for ; i < len(row)-3; i += 4 {
		cells[i] = cell[T]{row[i].inv * m, row[i].phi}
		cells[i+1] = cell[T]{row[i+1].inv * (m + gaps[0]), row[i+1].phi}
		cells[i+2] = cell[T]{row[i+2].inv * (m + gaps[1]), row[i+2].phi}
		cells[i+3] = cell[T]{row[i+3].inv * (m + gaps[2]), row[i+3].phi}
		m += gaps[3]
	}
	for last := i; i < len(row); i++ {
		cells[i] = cell[T]{row[i].inv * m, row[i].phi}
		if i-last < 3 {
			m += gaps[i-last] - prior(gaps, i-last)
		}
	}
}

// prior is the gap before gap i, or 0.
func prior[T word](gaps [4]T, i int) T {
	if i == 0 {
		return 0
	}
	return gaps[i-1]
}

// lookUp finds the multiples of the large powers in the chunk that starts at at.
func (s *denseSieve[T]) lookUp() {
	s.inside = 0
	s.events = s.events[:0]
	for i := range s.chunk {
		s.chunk[i] = -1
	}
	end := s.at + chunkSegments*s.size
	for k, q := range s.sizes[1] {
		if q >= s.limit {
			continue
		}
		first := denseFirst(s.span, q, s.at)
		for _, i := range first[:s.chains()] {
			for ; i < end; i += denseStep(s.span, q) {
				n := (i - s.at) / s.size
				s.events = append(s.events, event{uint32((i - s.at) % s.size), uint32(k), s.chunk[n]})
				s.chunk[n] = int32(len(s.events) - 1)
			}
		}
	}
}
