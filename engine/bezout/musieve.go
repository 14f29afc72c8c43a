package bezout

import (
	"encoding/binary"
	"math"
	"sort"
)

// The sieve for μ keeps one byte for each number coprime to 30. Its low seven
// bits add up rounded logarithms of the prime factors p ≥ 13 that have been
// met, its top bit marks numbers with μ = 0 or a factor 7 or 11. A logarithm is
// rounded to an odd number, so the lowest bit is the parity of the number of
// factors met.
//
// When all primes up to √v have been sieved, what is left of a squarefree rough
// v is 1 or one prime above √v. With weight(p) the odd number nearest to
// logScale·log₂p, |weight(p) − logScale·log₂p| ≤ 1, the sum is at least
// logScale·log₂v − ω(v) in the first case and at most logScale·(log₂v)/2 + ω(v)
// in the second. For v > 180 the threshold is logScale·¾·log₂v up to ¾: ½ for
// rounding and ¼ for v varying within a word of 30 numbers. It separates the
// cases when logScale·(log₂v)/4 − ¾ > ω(v), and as every prime factor is at
// least 13, logScale·(log₂v)/4 ≥ 2.54·ω(v). The squarefree rough numbers up to
// 180 are 1, which is set by hand, and primes: those of the patterns, which all
// lie in the first word above its threshold 8, and larger ones, whose sum is 0
// because a prime starts at its square.
//
// The sum stays below 128: a rough v < 2⁴² has at most eight prime factors,
// as 13·17·19·23·29·31·37·41·43 > 2⁴², so it is at most 2.75·42 + 8 = 123.5, and a
// byte never carries into its neighbour.
const (
	logScale   = 2.75
	muSieveMax = int64(1) << 42
)

// weight is the odd number nearest to logScale·log₂p.
func weight(p int64) uint8 {
	return uint8(2*math.Round((logScale*math.Log2(float64(p))-1)/2) + 1)
}

// chain is a prime (or its square) that walks through the sieve along its
// multiples coprime to 30.
type chain struct {
	step   uint32 // 8·⌊q/30⌋: bytes for a multiplier step of 1, less the remainder's part
	pos    uint32 // byte of the next multiple, from the start of the segment
	weight uint8
	class  uint8 // index of q's residue
	phase  uint8 // index of the next multiplier's residue
}

// muSieve walks upwards through the integers in segments and leaves the bytes
// described above in buf.
type muSieve struct {
	primes []uint32 // all p with 31 ≤ p ≤ √limit
	words  int64    // words in one segment
	start  int64    // first word of the current segment
	buf    []byte   // 8·words bytes

	chains  []chain // the primes with p² at or below the segment's end
	squares []chain // their squares while a segment holds several multiples

	// Larger squares wait in the bucket of the segment that holds their next
	// multiple: bucket[s] is the first of a list linked by link, by index of
	// the prime, or -1.
	first  int64 // first word of the segment of bucket[0]
	bucket []int32
	link   []int32
	large  int // first prime whose square goes to the buckets
	used   int // primes that have entered
}

// patternPrimes are sieved by adding words of periodic patterns.
var patternPrimes = [3][]int64{{13}, {17, 19}, {23, 29}}

// patternPeriods are the periods in words; the first also covers 7 and 11.
var patternPeriods = [3]int64{7 * 11 * 13, 17 * 19, 23 * 29}

var muPatterns = func() (out [3][]uint64) {
	for k, ps := range patternPrimes {
		b := make([]uint64, patternPeriods[k])
		for i := range b {
			for slot, r := range residues {
				v := wheelSpan*int64(i) + r
				x := uint64(0)
				if k == 0 && (v%7 == 0 || v%11 == 0) {
					x = 0x80
				}
				for _, p := range ps {
					if v%p == 0 {
						x += uint64(weight(p))
					}
				}
				b[i] |= x << (8 * slot)
			}
		}
		out[k] = b
	}
	return out
}()

// newMuSieve returns a sieve of [30·start, limit] in segments of the given
// number of words. primes holds every prime from 31 to √limit at least.
func newMuSieve(primes []uint32, words, start, limit int64) *muSieve {
	for len(primes) > 0 && primes[0] < 31 {
		primes = primes[1:]
	}
	s := &muSieve{
		primes: primes, words: words, start: start - words,
		buf: make([]byte, 8*words), first: start,
	}
	// Squares leave the walk for the buckets when a segment holds less than
	// two of their multiples on average.
	for s.large < len(primes) && int64(primes[s.large])*int64(primes[s.large]) < 4*words {
		s.large++
	}
	s.bucket = make([]int32, max(0, limit/wheelSpan-start)/words+1)
	for i := range s.bucket {
		s.bucket[i] = -1
	}
	s.link = make([]int32, max(0, len(primes)-s.large))
	return s
}

// next sieves the following segment. It returns the number of its first
// number, 30·start.
func (s *muSieve) next() int64 {
	s.start += s.words
	s.enter()
	s.fill()
	s.walk()
	s.walkSquares()
	s.drain()
	if s.start == 0 {
		s.buf[0] = 0x7e // v = 1: an even number of factors, and complete
	}
	return wheelSpan * s.start
}

// enter adds the primes whose square lies below the end of the segment. A
// multiple of p below p² has its remaining prime above its root all the same,
// so p need not start before max(p², start).
func (s *muSieve) enter() {
	end := wheelSpan * (s.start + s.words)
	lo := wheelSpan * s.start
	for s.used < len(s.primes) {
		p := int64(s.primes[s.used])
		if p*p >= end {
			break
		}
		c, phase := coprimeFrom(max(p, (lo+p-1)/p))
		s.chains = append(s.chains, newChain(p, weight(p), bytePos(p*c)-8*s.start, phase))
		q := p * p
		c, phase = coprimeFrom((lo + q - 1) / q)
		if s.used < s.large {
			s.squares = append(s.squares, newChain(q, 0, bytePos(q*c)-8*s.start, phase))
		} else {
			s.put(int32(s.used), q*c)
		}
		s.used++
	}
}

func newChain(q int64, w uint8, pos int64, phase uint8) chain {
	return chain{
		step: uint32(8 * (q / wheelSpan)), pos: uint32(pos), weight: w,
		class: uint8(slotOf[q%wheelSpan]), phase: phase,
	}
}

// put files a square under the segment of its next multiple v, or drops it when
// that lies beyond the last segment.
func (s *muSieve) put(prime int32, v int64) {
	b := (v/wheelSpan - s.first) / s.words
	if b < int64(len(s.bucket)) {
		k := int(prime) - s.large
		s.link[k] = s.bucket[b]
		s.bucket[b] = prime
	}
}

// drain marks the multiples of the squares in the bucket of the segment.
func (s *muSieve) drain() {
	lo, end := 8*s.start, wheelSpan*(s.start+s.words)
	b := (s.start - s.first) / s.words
	if b >= int64(len(s.bucket)) {
		return
	}
	for prime := s.bucket[b]; prime >= 0; {
		following := s.link[int(prime)-s.large]
		p := int64(s.primes[prime])
		q := p * p
		c, phase := coprimeFrom((wheelSpan*s.start + q - 1) / q)
		for q*c < end {
			s.buf[bytePos(q*c)-lo] |= 0x80
			c += phaseGap[phase]
			phase = (phase + 1) & 7
		}
		s.put(prime, q*c)
		prime = following
	}
}

// fill writes the sum of the patterns into the segment.
func (s *muSieve) fill() {
	n0, n1, n2 := patternPeriods[0], patternPeriods[1], patternPeriods[2]
	a, b, c := s.start%n0, s.start%n1, s.start%n2
	for dst := s.buf; len(dst) > 0; {
		n := min(n0-a, n1-b, n2-c, int64(len(dst)/8))
		addPatterns(dst[:8*n], muPatterns[0][a:a+n], muPatterns[1][b:b+n], muPatterns[2][c:c+n])
		dst = dst[8*n:]
		a, b, c = (a+n)%n0, (b+n)%n1, (c+n)%n2
	}
}

// addPatterns writes x+y+z, of equal length, into dst. No byte carries.
func addPatterns(dst []byte, x, y, z []uint64) {
	y, z = y[:len(x)], z[:len(x)]
	for i := range x {
		binary.LittleEndian.PutUint64(dst[8*i:], x[i]+y[i]+z[i])
	}
}

// walk adds the weights of the primes in chains. Small primes go through the
// segment in blocks that fit the first-level cache.
func (s *muSieve) walk() {
	size := uint32(len(s.buf))
	small := 0
	for small < len(s.chains) && s.chains[small].turn() <= blockSize/4 {
		small++
	}
	for end := uint32(0); end < size; {
		end = min(end+blockSize, size)
		block := s.buf[:end]
		for k := range small {
			s.chains[k].add(block)
		}
	}
	for k := range s.chains[:small] {
		s.chains[k].pos -= size
	}
	rest := s.chains[small:]
	for len(rest) > 0 && rest[0].turn() <= size/2 {
		rest[0].add(s.buf)
		rest[0].pos -= size
		rest = rest[1:]
	}
	buf := s.buf
	for k := range rest {
		c := &rest[k]
		pos, phase, w := c.pos, c.phase&7, c.weight
		steps := &phaseSteps[c.class&7]
		for pos < size {
			buf[pos] += w
			pos += c.step*uint32(phaseGap8[phase]) + steps[phase]
			phase = (phase + 1) & 7
		}
		c.pos, c.phase = pos-size, phase
	}
}

// blockSize is a first-level cache with room to spare.
const blockSize = 24 << 10

// turn is 8q, the bytes in which the multiplier goes once through its residues.
func (c *chain) turn() uint32 { return wheelSpan*c.step + 8*uint32(residues[c.class&7]) }

// add adds the weight to the multiples up to the end of buf: singly until the
// multiplier is 1 modulo 30, then eight at a time, then the rest.
func (c *chain) add(buf []byte) {
	size := uint32(len(buf))
	pos, phase, w := c.pos, c.phase&7, c.weight
	steps := &phaseSteps[c.class&7]
	for pos < size && phase != 0 {
		buf[pos] += w
		pos += c.step*uint32(phaseGap8[phase]) + steps[phase]
		phase = (phase + 1) & 7
	}
	o1 := 6*c.step + steps[0]
	o2 := o1 + 4*c.step + steps[1]
	o3 := o2 + 2*c.step + steps[2]
	o4 := o3 + 4*c.step + steps[3]
	o5 := o4 + 2*c.step + steps[4]
	o6 := o5 + 4*c.step + steps[5]
	o7 := o6 + 6*c.step + steps[6]
	turn := o7 + 2*c.step + steps[7]
	for pos+o7 < size {
		buf[pos] += w
		buf[pos+o1] += w
		buf[pos+o2] += w
		buf[pos+o3] += w
		buf[pos+o4] += w
		buf[pos+o5] += w
		buf[pos+o6] += w
		buf[pos+o7] += w
		pos += turn
	}
	for pos < size {
		buf[pos] += w
		pos += c.step*uint32(phaseGap8[phase]) + steps[phase]
		phase = (phase + 1) & 7
	}
	c.pos, c.phase = pos, phase
}

var phaseGap8 = [8]uint32{6, 4, 2, 4, 2, 4, 6, 2}

var phaseSteps = func() (t [8][8]uint32) {
	for i := range t {
		for j := range t[i] {
			t[i][j] = uint32(phaseStep[i][j])
		}
	}
	return t
}()

// walkSquares marks the multiples of the smaller squares.
func (s *muSieve) walkSquares() {
	buf := s.buf
	size := uint32(len(buf))
	for _, q := range [...]uint32{169, 289, 361, 529, 841} {
		v := int64(q)
		c, phase := coprimeFrom((wheelSpan*s.start + v - 1) / v)
		ch := newChain(v, 0, bytePos(v*c)-8*s.start, phase)
		markSquare(buf, size, &ch)
	}
	for k := range s.squares {
		markSquare(buf, size, &s.squares[k])
	}
}

func markSquare(buf []byte, size uint32, c *chain) {
	pos, phase := c.pos, c.phase&7
	steps := &phaseSteps[c.class&7]
	for pos < size {
		buf[pos] |= 0x80
		pos += c.step*uint32(phaseGap8[phase]) + steps[phase]
		phase = (phase + 1) & 7
	}
	c.pos, c.phase = pos-size, phase
}

const (
	eachByte = 0x0101010101010101
	topBits  = 0x8080808080808080
	lowBits  = 0x7f7f7f7f7f7f7f7f
)

// thresholdFrom[t] is the first word whose threshold logScale·¾·log₂v, taken
// for the middle v of the word and rounded, is at least t.
var thresholdFrom = func() (t [128]int64) {
	for i := range t {
		v := math.Exp2((float64(i) - 0.5) / (logScale * 0.75))
		t[i] = max(0, int64(math.Ceil((v-wheelSpan/2)/wheelSpan)))
	}
	return t
}()

// threshold returns the threshold at a word and the first word with another.
func threshold(word int64) (t, until int64) {
	t = int64(sort.Search(len(thresholdFrom), func(i int) bool { return thresholdFrom[i] > word })) - 1
	return t, thresholdFrom[t+1]
}

// biasAt returns the bias for signs at a word and the first word with another.
func biasAt(word int64) (bias uint64, until int64) {
	t, until := threshold(word)
	return uint64(128-t) * eachByte, until
}

// signs splits a word of the sieve into the top bits of the bytes with μ ≠ 0
// and of those with μ = -1. bias is (128 − threshold) in each byte: adding it
// to the seven-bit sum sets the top bit when the factorisation is complete.
func signs(x, bias uint64) (nonzero, negative uint64) {
	nonzero = ^x & topBits
	complete := x&lowBits + bias
	return nonzero, (x<<7 ^ ^complete) & nonzero
}
