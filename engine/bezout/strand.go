package bezout

// The n of a dense range are sorted into strands by their power of 2: strand a
// holds the n = 2^a·m with odd m, so that φ(n) = 2^(a−1)·φ(m) for a ≥ 1. A strand
// hands out the entries of its odd numbers in order.
type strand[T word] interface {
	// take returns the entries of the next odd numbers, between 1 and most of
	// them. They are valid until the next call.
	take(most int) []T
}

// sieved is a strand that factors its own numbers.
type sieved[T word] struct {
	sieve *denseSieve[T]
	cells []cell[T] // working memory shared by the strands of a run
	left  int64     // odd numbers not sieved yet
	buf   []T
	ready []T
}

// newSieved returns the strand of count odd numbers from m on.
func newSieved[T word](t *tables[T], cells []cell[T], m, count int64) *sieved[T] {
	size := min(count, int64(len(cells)))
	return &sieved[T]{
		sieve: newDenseSieve(t, (m-1)/2, max(size, 1), m+2*count),
		cells: cells[:size], left: count, buf: make([]T, size),
	}
}

func (s *sieved[T]) take(most int) []T {
	if len(s.ready) == 0 {
		n := min(s.left, int64(len(s.cells)))
		s.left -= n
		s.sieve.segment(s.cells[:n])
		s.ready = s.buf[:n]
		finish(s.ready, s.cells[:n])
	}
	most = min(most, len(s.ready))
	out := s.ready[:most]
	s.ready = s.ready[most:]
	return out
}

// stored is a strand that reads its entries from a table of all odd numbers.
type stored[T word] struct {
	table *oddTable[T]
	at    int64 // index of the next odd number
}

func (s *stored[T]) take(most int) []T {
	out := s.table.entries[s.at:min(s.at+int64(most), int64(len(s.table.entries)))]
	s.at += int64(len(out))
	return out
}

// oddTable is strand 0 of a range that starts at 1. It keeps the entries of the
// odd numbers up to half the range, where all other strands find theirs, and
// the odd multiples of 3, so that only numbers coprime to 6 are sieved.
type oddTable[T word] struct {
	sieve   *denseSieve[T]
	cells   []cell[T]
	rough   []T // entries of a segment's numbers coprime to 6
	entries []T // of 1, 3, 5, …; a whole number of segments
	spare   []T // the segment beyond them
	at      int64
	ready   []T
}

// tableSegment is the number of odd numbers in a segment of denseCells numbers
// coprime to 6.
const tableSegment = denseCells / 2 * 3

// newOddTable returns the strand of the odd numbers below limit.
func newOddTable[T word](primes []uint32, limit int64) *oddTable[T] {
	kept := (limit/4 + tableSegment) / tableSegment * tableSegment
	return &oddTable[T]{
		sieve:   newDenseSieve(newTables[T](6, limit, primes), 0, denseCells, limit),
		cells:   make([]cell[T], denseCells),
		rough:   make([]T, denseCells),
		entries: make([]T, kept),
		spare:   make([]T, tableSegment),
	}
}

func (t *oddTable[T]) take(most int) []T {
	if len(t.ready) == 0 {
		t.ready = t.spare
		if t.at < int64(len(t.entries)) {
			t.ready = t.entries[t.at : t.at+tableSegment]
		}
		t.sieve.segment(t.cells)
		finish(t.rough, t.cells)
		t.spread(t.ready)
		t.at += tableSegment
	}
	most = min(most, len(t.ready))
	out := t.ready[:most]
	t.ready = t.ready[most:]
	return out
}

// spread writes the entries of a segment's odd numbers: those coprime to 6 as
// sieved, and between them 3(2k+1) from 2k+1, whose φ grows by 3 when 3 divides
// 2k+1 (k ≡ 1 modulo 3) and by 2 otherwise, and whose g stays zero or not.
func (t *oddTable[T]) spread(out []T) {
	for i := range len(out) / 3 {
		out[3*i] = t.rough[2*i]
		out[3*i+2] = t.rough[2*i+1]
	}
	top := topBit[T]()
	from := t.entries[t.at/3:]
	phase := t.at / 3 % 3
	for i := 1; i < len(out); i += 3 {
		x := from[i/3]
		scale := T(2)
		if phase == 1 {
			scale = 3
		}
		if phase++; phase == 3 {
			phase = 0
		}
		out[i] = x&top | x&^top*scale
	}
}
