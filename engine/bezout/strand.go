package bezout

// The n of a dense range are sorted into strands by their power of 2: strand a
// holds the n = 2^a·m with odd m, so that φ(n) = 2^(a−1)·φ(m) for a ≥ 1.

// strand hands out what is known of the odd numbers of a strand in their order:
// φ, but the steps of W for strand 0.
type strand[T word] interface {
	// take returns the next numbers, between 1 and most of them. They are
	// valid until the next call.
	take(most int) []T
}

// sieved is a strand that factors its own numbers.
type sieved[T word] struct {
	sieve *denseSieve[T]
	cells []cell[T] // working memory shared by the strands of a run
	marks []uint8   // the same; nil but for strand 0
	left  int64     // odd numbers not sieved yet
	buf   []T
	ready []T
}

// newSieved returns the strand of count odd numbers from m on; given marks, it is
// strand 0, m ≡ 1 modulo 4 and count is even.
func newSieved[T word](t *tables[T], cells []cell[T], marks []uint8, m, count int64) *sieved[T] {
	size := min(count, int64(len(cells)))
	return &sieved[T]{
		sieve: newDenseSieve(t, (m-1)/2, max(size, 1), m+2*count),
		cells: cells[:size], marks: marks, left: count, buf: make([]T, size),
	}
}

func (s *sieved[T]) take(most int) []T {
	if len(s.ready) == 0 {
		n := min(s.left, int64(len(s.cells)))
		s.left -= n
		s.sieve.segment(s.cells[:n], s.marks)
		s.ready = s.buf[:n]
		if s.marks != nil {
			finishSteps(s.ready, s.cells[:n], s.marks)
		} else {
			finishTotients(s.ready, s.cells[:n])
		}
	}
	most = min(most, len(s.ready))
	out := s.ready[:most]
	s.ready = s.ready[most:]
	return out
}

// stored is a strand that reads from a table of all odd numbers.
type stored[T word] struct {
	table *oddTable[T]
	at    int64 // index of the next odd number
}

func (s *stored[T]) take(most int) []T {
	out := s.table.phi[s.at:min(s.at+int64(most), int64(len(s.table.phi)))]
	s.at += int64(len(out))
	return out
}
