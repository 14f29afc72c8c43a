package bezout

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nsweep/nsweep/engine"
)

// The fast evaluation of one W(n).
//
// Write F(x) = Σ μ(e) over rough e ≤ x (coprime to 2310) and C(x) for the number
// of rough d ≤ x. Then
//
//	W(n) = Σ μ(e)·H(⌊n/e⌋) over rough e ≤ n,  H = winning,
//	Σ F(⌊x/d⌋) = 1 over rough d ≤ x.
//
// With R = ⌊√n⌋ and L = ⌊n/(R+1)⌋ the first becomes, by counting the pairs (e, m)
// with em ≤ n on both sides of e = R,
//
//	W(n) = Σ_{e≤R} μ(e)·H(⌊n/e⌋) + Σ_{m≤L} δH(m)·(F(⌊n/m⌋) − F(R)),
//
// δH(m) = H(m) − H(m−1), and the second, with x = ⌊n/k⌋ and r = ⌊√x⌋,
//
//	F(x) = 1 − Σ_{1<d≤r} F(⌊n/(kd)⌋) − Σ_{e≤r} μ(e)·C(⌊x/e⌋) + F(r)·C(r).
//
// So F is needed at ⌊n/m⌋ for m ≤ L and at all t ≤ R. The sieve runs up to
// y = ⌊n/(K+1)⌋ and passes all of them but those with m ≤ K; the sums for these
// K values are collected while it passes, so nothing larger than a segment, a
// batch and K numbers is ever kept:
//
//   - below R each segment serves as the table of F(t), for the d with
//     t = ⌊n/(kd)⌋ in the segment, and as the list of e;
//   - above R it yields F(⌊n/m⌋) for descending m, gathered in batches that are
//     subtracted wherever m = kd.
//
// O(n^(2/3)) time for K ≈ n^(1/3), O(n^(1/3)) memory besides constants.
type summation struct {
	n        int64
	cut      int64 // K
	root     int64 // R
	upper    int64 // L
	words    int64 // per segment
	floatMax int64 // x up to which ⌊x/d⌋ goes by multiplication
	sieve    *muSieve
	acc      []int64   // acc[k]: what is known of F(⌊n/k⌋), k ≤ K
	inverse  []float64 // 1/d of the rough d by index

	f     int64 // F at the last number before the current segment
	fRoot int64 // F(R)

	// Sums of the two summands, and F(⌊n/s⌋) for s | 2310.
	funcs  []*quadratic
	totals []engine.Int128
	parts  map[int64]int64

	// Tables of the current segment below R.
	table       []int32 // F(a+2i) for a segment that starts at a
	plus, minus signList

	// The batch of F(⌊n/m⌋), batchLo ≤ m ≤ batchHi; next is the next m.
	batch            []int32
	batchLo, batchHi int64
	next             int64
}

// signList holds the rough e of one sign in a segment.
type signList struct {
	offset  []uint32 // e less the segment's first number
	inverse []float64
}

// floatMax is the largest x for which ⌊x/d⌋ = ⌊(x+½)·fl(1/d)⌋ in double
// precision, for every integer d from 1 to x. x + ½ is exact below 2⁵². The two
// roundings, of 1/d and of the product, change the quotient by a relative error
// of at most ε = 2·2⁻⁵³ + 2⁻¹⁰⁶. With x = qd + r the exact (x+½)/d lies at least
// 1/(2d) away from q and from q+1, and (x+½)/d·ε < 1/(2d) as long as
// x + ½ < 1/(2ε) = 2⁵¹/(1+2⁻⁵⁴), which 2⁵¹ − ½ satisfies.
const floatMax = int64(1)<<51 - 1

const batchSize = 1 << 17

// newSummation prepares W(n) with the given cut K and segment size; cut is
// lowered to L when it is larger.
func newSummation(ctx context.Context, n, cut, words int64, details bool) (*summation, error) {
	s := &summation{n: n, root: isqrt(n), words: words, floatMax: floatMax}
	s.upper = n / (s.root + 1)
	s.cut = min(max(cut, n/muSieveMax), s.upper)
	y := n / (s.cut + 1)
	primes, err := primesUpto(ctx, isqrt(y))
	if err != nil {
		return nil, err
	}
	s.sieve = newMuSieve(primes, words, 0, y)
	s.acc = make([]int64, s.cut+1)
	for k := range s.acc {
		s.acc[k] = 1
	}
	if s.cut > 0 {
		s.inverse = make([]float64, countRough(min(s.root, maxInverse)))
		for j := range s.inverse {
			s.inverse[j] = 1 / float64(roughAt(int64(j)))
		}
	}
	s.funcs = []*quadratic{winning()}
	if details {
		s.funcs = append(s.funcs, totient())
	}
	s.totals = make([]engine.Int128, len(s.funcs))
	s.parts = map[int64]int64{}
	s.table = make([]int32, 15*words+1)
	s.next = s.upper
	s.newBatch()
	return s, nil
}

// maxInverse bounds the table of reciprocals: 56 MB. The few larger d are
// divided by.
const maxInverse = 1 << 25

func (s *summation) run(ctx context.Context) error {
	for {
		a := s.sieve.next()
		if err := ctx.Err(); err != nil {
			return err
		}
		if a <= s.root {
			if err := s.lowSegment(ctx, a); err != nil {
				return err
			}
		}
		if a+wheelSpan*s.words > s.root {
			if err := s.highSegment(a); err != nil {
				return err
			}
			if s.next == s.cut {
				break
			}
		} else {
			s.f = int64(s.table[15*s.words])
		}
	}
	s.finish()
	return nil
}

// lowSegment uses the part of a segment up to R.
func (s *summation) lowSegment(ctx context.Context, a int64) error {
	end := min(a+wheelSpan*s.words, s.root+1)
	s.tabulate(a, end)
	if end == s.root+1 {
		s.fRoot = int64(s.table[(s.root+1-a)>>1])
	}
	for i, f := range s.funcs {
		t := &s.totals[i]
		for _, o := range s.plus.offset {
			*t = t.Add(f.at(s.n / (a + int64(o))))
		}
		for _, o := range s.minus.offset {
			*t = t.Sub(f.at(s.n / (a + int64(o))))
		}
	}
	for q := int64(1); q <= roughSpan; q++ {
		if t := s.n / q; roughSpan%q == 0 && t >= a && t < end {
			s.parts[q] = int64(s.table[(t+1-a)>>1])
		}
	}
	np, nm := len(s.plus.offset), len(s.minus.offset)
	for k := int64(1); k <= s.cut; k++ {
		if k%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x := s.n / k
		r := isqrt(x)
		sum := int64(0)
		if r >= a {
			for np > 0 && a+int64(s.plus.offset[np-1]) > r {
				np--
			}
			for nm > 0 && a+int64(s.minus.offset[nm-1]) > r {
				nm--
			}
			sum += s.quotients(x, a, &s.plus, np) - s.quotients(x, a, &s.minus, nm)
			if r < end {
				sum -= int64(s.table[(r+1-a)>>1]) * countRough(r)
			}
		}
		if r < end {
			last := r
			if a > 0 {
				last = min(last, x/a)
			}
			sum += s.lookups(x, a, max(1, countRough(x/end)), countRough(last))
		}
		s.acc[k] -= sum
	}
	return nil
}

// quotients returns Σ C(⌊x/e⌋) over the first count numbers of the list.
func (s *summation) quotients(x, a int64, l *signList, count int) int64 {
	if x <= s.floatMax {
		return sumCounts(float64(x)+0.5, l.inverse[:count])
	}
	sum := int64(0)
	for _, o := range l.offset[:count] {
		sum += countRough(x / (a + int64(o)))
	}
	return sum
}

// lookups returns Σ F(⌊x/d⌋) over the rough d with index in [from, to).
func (s *summation) lookups(x, a, from, to int64) int64 {
	if from >= to {
		return 0
	}
	sum := int64(0)
	if x <= s.floatMax {
		mid := min(to, int64(len(s.inverse)))
		if from < mid {
			sum += sumTable(float64(x)+0.5, s.inverse[from:mid], s.table, a-1)
			from = mid
		}
	}
	for j := from; j < to; j++ {
		sum += int64(s.table[(x/roughAt(j)+1-a)>>1])
	}
	return sum
}

// tabulate fills table with F from a to end−1 and the lists with the e there.
func (s *summation) tabulate(a, end int64) {
	s.plus.reset()
	s.minus.reset()
	f := int32(s.f)
	s.table[0] = f
	word := a / wheelSpan
	bias, until := biasAt(word)
	for w := range (end - a + wheelSpan - 1) / wheelSpan {
		if word+w >= until {
			bias, until = biasAt(word + w)
		}
		nz, neg := signs(binary.LittleEndian.Uint64(s.sieve.buf[8*w:]), bias)
		row := s.table[15*w+1 : 15*w+16]
		slot := 0
		for i := range row {
			o := int64(2*i + 1)
			if slot < 8 && residues[slot] == o {
				bit := uint64(0x80) << (8 * slot)
				if nz&bit != 0 {
					l := &s.plus
					if neg&bit != 0 {
						l = &s.minus
						f--
					} else {
						f++
					}
					if v := wheelSpan*w + o; a+v < end {
						l.add(a, v)
					}
				}
				slot++
			}
			row[i] = f
		}
	}
}

func (l *signList) reset() { l.offset, l.inverse = l.offset[:0], l.inverse[:0] }

func (l *signList) add(a, v int64) {
	l.offset = append(l.offset, uint32(v))
	l.inverse = append(l.inverse, 1/float64(a+v))
}

// highSegment reads F(⌊n/m⌋) off the current segment for the m that fall into it.
func (s *summation) highSegment(a int64) error {
	end := a + wheelSpan*s.words
	f, word := s.f, a/wheelSpan
	var bias uint64
	var until int64
	for s.next > s.cut {
		m := s.next
		t := s.n / m
		if t >= end {
			break
		}
		w := t / wheelSpan
		f += s.sumWords(word, w)
		word = w
		if word >= until {
			bias, until = biasAt(word)
		}
		nz, neg := signs(binary.LittleEndian.Uint64(s.sieve.buf[8*(w-s.sieve.start):]), bias)
		mask := uptoMask[t-wheelSpan*w]
		v := f + sumSigns(nz&mask, neg&mask)
		if int64(int32(v)) != v {
			return fmt.Errorf("bezout: F(%d) = %d exceeds 32 bits", t, v)
		}
		s.batch[m-s.batchLo] = int32(v)
		s.weigh(m, v)
		s.next--
		if s.next < s.batchLo {
			s.flush()
			s.newBatch()
		}
	}
	s.f = f + s.sumWords(word, s.sieve.start+s.words)
	return nil
}

// sumWords is Σ μ over the rough numbers of the words from, …, to−1 of the
// current segment.
func (s *summation) sumWords(from, to int64) int64 {
	sum := int64(0)
	for from < to {
		bias, until := biasAt(from)
		until = min(until, to)
		sum += sumSegment(s.sieve.buf[8*(from-s.sieve.start):8*(until-s.sieve.start)], bias)
		from = until
	}
	return sum
}

// uptoMask[o] has the top bits of the bytes of a word with residue at most o.
var uptoMask = func() (t [wheelSpan]uint64) {
	for o := range t {
		for i, r := range residues {
			if r <= int64(o) {
				t[o] |= 0x80 << (8 * i)
			}
		}
	}
	return t
}()

// weigh adds the terms of m to the totals.
func (s *summation) weigh(m, f int64) {
	for i, q := range s.funcs {
		u, r := m/q.period, m%q.period
		s.totals[i] = s.totals[i].Add(mul(q.slope[r]*u+q.offset[r], f-s.fRoot))
	}
	if roughSpan%m == 0 {
		s.parts[m] = f
	}
}

// newBatch opens the batch that ends at next.
func (s *summation) newBatch() {
	s.batchHi = s.next
	s.batchLo = max(s.cut+1, s.batchHi-batchSize+1)
	if n := s.batchHi - s.batchLo + 1; n > 0 && s.batch == nil {
		s.batch = make([]int32, n)
	}
}

// flush subtracts the batch from the sums of all k with m = kd in it.
func (s *summation) flush() {
	for k := int64(1); k <= s.cut; k++ {
		sum := int64(0)
		from, to := max(1, countRough((s.batchLo-1)/k)), countRough(s.batchHi/k)
		for j := from; j < to; j++ {
			sum += int64(s.batch[k*roughAt(j)-s.batchLo])
		}
		s.acc[k] -= sum
	}
}

// finish resolves the recursion for k = K, …, 1.
func (s *summation) finish() {
	for k := s.cut; k >= 1; k-- {
		f := s.acc[k]
		for j := int64(1); ; j++ {
			m := k * roughAt(j)
			if m > s.cut {
				break
			}
			f -= s.acc[m]
		}
		s.acc[k] = f
		s.weigh(k, f)
	}
}

// mertens returns M(n) = Σ μ(s)·F(⌊n/s⌋), s | 2310.
func (s *summation) mertens() int64 {
	sum := int64(0)
	for q, f := range s.parts {
		sum += squarefreeSign(q) * f
	}
	return sum
}

// defaultCut is the K that balances sieve and recursion.
func defaultCut(n int64) int64 {
	if n < 100_000 {
		return 0
	}
	return int64(math.Cbrt(float64(n)))
}

func sumW(ctx context.Context, n int64) (engine.Int128, error) {
	s, err := newSummation(ctx, n, defaultCut(n), 16384, false)
	if err != nil {
		return engine.Int128{}, err
	}
	if err := s.run(ctx); err != nil {
		return engine.Int128{}, err
	}
	return s.totals[0], nil
}
