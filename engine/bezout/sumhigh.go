package bezout

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
)

// batchSize is the number of F(⌊n/m⌋) gathered before they are subtracted
// wherever they occur: half a megabyte.
const batchSize = 1 << 17

var batches = sync.Pool{New: func() any { return new([batchSize]int32) }}

// highPart is the working memory of the walk above R.
type highPart struct {
	*summation
	sieve  *muSieve
	batch  []int32 // F(⌊n/m⌋) for lo ≤ m ≤ hi, by m − lo
	lo, hi int64
}

// high walks through the segments above R up to y.
func (s *summation) high(ctx context.Context) error {
	words := min(s.opts.highWords, s.limit/wheelSpan-s.word+1)
	batch := batches.Get().(*[batchSize]int32)
	defer batches.Put(batch)
	p := &highPart{
		summation: s,
		sieve:     newMuSieve(s.primes, words, s.word, s.limit),
		batch:     (*batch)[:min(batchSize, s.next-s.cut)],
	}
	p.open()
	for s.next > s.cut {
		p.sieve.next()
		if err := p.segment(ctx); err != nil {
			return err
		}
		s.word += words
		if s.next == s.cut {
			if err := p.close(ctx); err != nil {
				return err
			}
		}
		if s.pace.add(float64(wheelSpan*words) * nsHighNumber(s.limit)) {
			if s.pace.saving() && s.next > s.cut {
				if err := p.close(ctx); err != nil {
					return err
				}
				p.open()
			}
			if err := s.pace.pause(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// segment reads F(⌊n/m⌋) off the current segment for the m that fall into it
// and leaves F at its end in f. The first segments above R fill many batches
// each, and ctx is looked at in each of them.
func (p *highPart) segment(ctx context.Context) error {
	s := p.summation
	start, end := p.sieve.start, wheelSpan*(p.sieve.start+p.sieve.words)
	f, word := s.f, start
	var bias uint64
	var until int64
	fast := s.n <= floatMax && !s.opts.exact
	n := float64(s.n)
	for s.next > s.cut {
		m := s.next
		var t int64
		if fast {
			// The quotient of two integers below 2⁵² rounds to an integer
			// only when it is one: it is at least 1/m away from the next one
			// above, and half a unit in the last place is less.
			t = int64(n / float64(m))
		} else {
			t = s.n / m
		}
		if t >= end {
			break
		}
		if w := t / wheelSpan; w > word {
			f += p.sumWords(word, w)
			word = w
		}
		if word >= until {
			bias, until = biasAt(word)
		}
		nz, neg := signs(binary.LittleEndian.Uint64(p.sieve.buf[8*(word-start):]), bias)
		mask := uptoMask[t-wheelSpan*word]
		v := f + sumSigns(nz&mask, neg&mask)
		if int64(int32(v)) != v {
			return fmt.Errorf("F(%d) = %d exceeds 32 bits", t, v)
		}
		p.batch[m-p.lo] = int32(v)
		s.next--
		if s.next < p.lo && s.next > s.cut {
			if err := p.close(ctx); err != nil {
				return err
			}
			p.open()
		}
	}
	s.f = f + p.sumWords(word, start+p.sieve.words)
	return nil
}

// sumSigns is the sum of μ over the marked bytes.
func sumSigns(nonzero, negative uint64) int64 {
	return int64(bits.OnesCount64(nonzero)) - 2*int64(bits.OnesCount64(negative))
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

// sumWords is Σ μ over the rough numbers of the words from, …, to−1 of the
// current segment.
func (p *highPart) sumWords(from, to int64) int64 {
	sum := int64(0)
	for from < to {
		bias, until := biasAt(from)
		until = min(until, to)
		sum += sumBytes(p.sieve.buf[8*(from-p.sieve.start):8*(until-p.sieve.start)], bias)
		from = until
	}
	return sum
}

// open starts the batch that ends at next.
func (p *highPart) open() {
	p.hi = p.next
	p.lo = max(p.cut+1, p.hi-int64(len(p.batch))+1)
}

// lookEvery is how many k are gone through between two looks at ctx: a
// millisecond.
const lookEvery = 1 << 15

// close adds the terms of the m met since open to the totals, and subtracts
// their F from the sums of all k with m = kd. After an error the summation is of
// no more use.
func (p *highPart) close(ctx context.Context) error {
	s := p.summation
	lo, base := s.next+1, p.lo
	met := p.batch[lo-base : p.hi-base+1]
	for i, q := range s.funcs {
		s.totals[i] = s.totals[i].Add(q.weighted(lo, met, s.fRoot))
	}
	for m := lo; m <= min(p.hi, roughSpan); m++ {
		s.parts[m] = int64(met[m-lo])
	}
	for k := int64(1); k <= min(s.cut, p.hi/13); k++ {
		if k%lookEvery == 1 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		s.acc[k] -= sumStrided(p.batch, k, base, max(1, countRough((lo-1)/k)), countRough(p.hi/k))
	}
	s.pace.add(float64(len(met)) * nsHighPoint)
	return nil
}
