package bezout

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
)

// maxInverse bounds the numbers whose reciprocals are kept: 56 MB of them. The
// few larger d are divided by.
const maxInverse = 1 << 25

// lowPart is the working memory of the walk up to R.
type lowPart struct {
	*summation
	a, end      int64 // the segment is [a, end)
	table       prefixTable
	plus, minus signList  // the rough e ≥ 13 of the segment by μ(e)
	inverse     []float64 // 1/d of the rough d by index
}

// signList holds numbers of one sign.
type signList struct {
	numbers []int64
	inverse []float64
}

func (l *signList) reset() { l.numbers, l.inverse = l.numbers[:0], l.inverse[:0] }

func (l *signList) add(e int64) {
	l.numbers = append(l.numbers, e)
	l.inverse = append(l.inverse, 1/float64(e))
}

// upto returns how many of the first count numbers are at most r, given that
// not many are larger.
func (l *signList) upto(count int, r int64) int {
	for count > 0 && l.numbers[count-1] > r {
		count--
	}
	return count
}

// lowParts keeps working memory for further summations; the reciprocals in it
// do not depend on n.
var lowParts = sync.Pool{New: func() any { return new(lowPart) }}

// low walks through the segments up to R.
func (s *summation) low(ctx context.Context) error {
	p := lowParts.Get().(*lowPart)
	defer lowParts.Put(p)
	p.summation = s
	defer func() { p.summation = nil }()
	if s.cut > 0 {
		if err := p.invert(ctx, countRough(min(s.root, maxInverse))); err != nil {
			return err
		}
	}
	words := min(lowWords, s.root/wheelSpan+1)
	sieve := newMuSieve(s.primes, words, s.word, s.root)
	for s.nextK > 0 {
		p.a = sieve.next()
		p.end = min(p.a+wheelSpan*words, s.root+1)
		f, err := p.tabulate(sieve)
		if err != nil {
			return err
		}
		if s.nextK == 1 {
			p.sumDirect()
		}
		if err := p.recursion(ctx); err != nil {
			return err
		}
		s.pace.add(float64(p.end-p.a) * nsLowNumber)
		s.nextK = 1
		if p.end <= s.root {
			s.word += words
			s.f = f
			continue
		}
		// The high part starts in the word of R+1.
		s.nextK = 0
		s.fRoot = p.table.at(s.root)
		s.word = (s.root + 1) / wheelSpan
		s.f = p.table.at(max(p.a, wheelSpan*s.word-1))
	}
	return nil
}

// invert makes the table of reciprocals at least count long.
func (p *lowPart) invert(ctx context.Context, count int64) error {
	if int64(cap(p.inverse)) < count {
		// Memory from the system is touched piece by piece below: slices.Grow
		// would clear all of it first.
		p.inverse = append(make([]float64, 0, count), p.inverse...)
	}
	for j := int64(len(p.inverse)); j < count; j++ {
		if (j+1)%(poll/4) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p.inverse = append(p.inverse, 1/float64(roughAt(j)))
	}
	return nil
}

// tabulate fills table with F and the lists with the e of the segment, and
// returns F at its end.
//
// The 16 bits of the table are enough: by a run of this sieve |F(t)| ≤ 19547
// for t ≤ 10⁹, and no other t occurs. It is checked all the same.
func (p *lowPart) tabulate(sieve *muSieve) (int64, error) {
	p.plus.reset()
	p.minus.reset()
	const mask = len(p.table) - 1
	f := p.f
	at := int(p.a / 2)
	p.table[at&mask] = uint16(f + prefixLift)
	bias, until := biasAt(sieve.start)
	words := (p.end - p.a + wheelSpan - 1) / wheelSpan
	for w := range words {
		if sieve.start+w >= until {
			bias, until = biasAt(sieve.start + w)
		}
		nz, neg := signs(binary.LittleEndian.Uint64(sieve.buf[8*w:]), bias)
		base := p.a + wheelSpan*w
		for slot, r := range residues {
			if bit := uint64(0x80) << (8 * slot); nz&bit != 0 {
				e := base + r
				if neg&bit != 0 {
					f--
					if e < p.end {
						p.minus.add(e)
					}
				} else {
					f++
					if e < p.end && e > 1 {
						p.plus.add(e)
					}
				}
			}
			for range phaseGap[slot] / 2 {
				at++
				p.table[at&mask] = uint16(f + prefixLift)
			}
		}
		if f < -prefixLift || f >= prefixLift {
			return 0, fmt.Errorf("F(%d) = %d exceeds 16 bits", base+29, f)
		}
	}
	return f, nil
}

// sumDirect adds the terms μ(e)·H(⌊n/e⌋) of the segment and keeps the
// F(⌊n/s⌋), s | 2310, that lie in it.
func (p *lowPart) sumDirect() {
	for i, f := range p.funcs {
		t := p.totals[i]
		if p.a == 0 {
			t = f.at(p.n) // e = 1
		}
		for _, e := range p.plus.numbers {
			t = t.Add(f.at(p.n / e))
		}
		for _, e := range p.minus.numbers {
			t = t.Sub(f.at(p.n / e))
		}
		p.totals[i] = t
	}
	for q := int64(1); q <= min(p.n, roughSpan); q++ {
		if t := p.n / q; roughSpan%q == 0 && t >= p.a && t < p.end {
			p.parts[q] = p.table.at(t)
		}
	}
}

// recursion subtracts from acc[k], k = nextK, …, K, what the segment
// contributes to the recursion for F(⌊n/k⌋).
func (p *lowPart) recursion(ctx context.Context) error {
	np, nm := len(p.plus.numbers), len(p.minus.numbers)
	for k := p.nextK; k <= p.cut; k++ {
		x := p.n / k
		r := isqrt(x)
		sum := int64(0)
		work := 0
		if r >= p.a {
			np, nm = p.plus.upto(np, r), p.minus.upto(nm, r)
			sum = p.quotients(x, &p.plus, np) - p.quotients(x, &p.minus, nm)
			work = np + nm
			if p.a == 0 {
				sum += countRough(x) // e = 1
			}
			if r < p.end {
				sum -= p.table.at(r) * countRough(r)
			}
		}
		lookups := int64(0)
		if r < p.end {
			last := r
			if p.a > 0 {
				last = min(last, x/p.a)
			}
			from, to := max(1, countRough(x/p.end)), countRough(last)
			if from < to {
				sum += p.prefixes(x, from, to)
				lookups = to - from
			}
		}
		p.acc[k] -= sum
		p.nextK = k + 1
		if p.pace.add(nsLowK + nsCount*float64(work) + nsPrefix*float64(lookups)) {
			if err := p.pace.pause(ctx, p.summation); err != nil {
				return err
			}
		}
	}
	return nil
}

// quotients returns Σ C(⌊x/e⌋) over the first count numbers of the list.
func (p *lowPart) quotients(x int64, l *signList, count int) int64 {
	if x <= floatMax && !p.opts.exact {
		return sumCounts(float64(x)+0.5, l.inverse[:count])
	}
	sum := int64(0)
	for _, e := range l.numbers[:count] {
		sum += countRough(x / e)
	}
	return sum
}

// prefixes returns Σ F(⌊x/d⌋) over the rough d with index in [from, to).
func (p *lowPart) prefixes(x, from, to int64) int64 {
	sum := int64(0)
	if x <= floatMax && !p.opts.exact {
		if mid := min(to, int64(len(p.inverse))); from < mid {
			sum = sumPrefix((float64(x)+0.5)/2, p.inverse[from:mid], &p.table)
			from = mid
		}
	}
	for j := from; j < to; j++ {
		sum += p.table.at(x / roughAt(j))
	}
	return sum
}
