package bezout

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nsweep/nsweep/engine"
)

// A saved state is
//
//	magic      16 bytes, the last two the version of the layout
//	identity   n, K, value version, 1 when Φ is summed too
//	position   word, nextK, next, F, F(R), work done in nanoseconds
//	totals     16 bytes each
//	parts      F(⌊n/s⌋) for s = 1, …, 2310
//	sums       acc[1], …, acc[K]
//	digest     SHA-256 of all before it
//
// with integers of 64 bits in little-endian order. It describes a moment at
// which no segment and no batch is in use.
const stateMagic = "nsweep-bezout-\x00\x01"

var errStateDamaged = errors.New("its digest does not match")

func (s *summation) identity() []int64 {
	details := int64(0)
	if s.opts.details {
		details = 1
	}
	return []int64{s.n, s.cut, int64(info.Version), details}
}

func (s *summation) encode(done float64) []byte {
	b := make([]byte, 0, len(stateMagic)+8*(10+2*len(s.totals)+len(s.parts)+len(s.acc))+sha256.Size)
	b = append(b, stateMagic...)
	ints := func(vs ...int64) {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	ints(s.identity()...)
	ints(s.word, s.nextK, s.next, s.f, s.fRoot, int64(done))
	for _, t := range s.totals {
		ints(t.Hi, int64(t.Lo))
	}
	ints(s.parts[1:]...)
	ints(s.acc[1:]...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// decode takes over a state that belongs to this summation, or says why not and
// leaves the summation as it is.
func (s *summation) decode(b []byte) error {
	if len(b) < len(stateMagic)+sha256.Size {
		return fmt.Errorf("%d bytes are too short", len(b))
	}
	if !bytes.HasPrefix(b, []byte(stateMagic)) {
		return errors.New("it is of another kind or version")
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		return errStateDamaged
	}
	body = body[len(stateMagic):]
	if len(body)%8 != 0 {
		return errStateDamaged
	}
	values := make([]int64, len(body)/8)
	for i := range values {
		values[i] = int64(binary.LittleEndian.Uint64(body[8*i:]))
	}
	for i, want := range s.identity() {
		if i >= len(values) || values[i] != want {
			return errors.New("it belongs to another computation")
		}
	}
	values = values[len(s.identity()):]
	if len(values) != 6+2*len(s.totals)+len(s.parts)-1+len(s.acc)-1 {
		return errors.New("it has another length")
	}
	word, nextK, next := values[0], values[1], values[2]
	if word < 0 || word > s.limit/wheelSpan+1 || nextK < 0 || nextK > s.cut+1 || next < s.cut || next > s.upper {
		return errors.New("its position is out of range")
	}
	s.word, s.nextK, s.next, s.f, s.fRoot = word, nextK, next, values[3], values[4]
	s.pace.done = float64(values[5])
	values = values[6:]
	for i := range s.totals {
		s.totals[i] = engine.Int128{Hi: values[2*i], Lo: uint64(values[2*i+1])}
	}
	values = values[2*len(s.totals):]
	values = values[copy(s.parts[1:], values):]
	copy(s.acc[1:], values)
	return nil
}

// restore goes on from a state that the sink holds, if there is one.
func (s *summation) restore(sink engine.Sink) {
	if sink.Load == nil {
		return
	}
	b := sink.Load()
	if b == nil {
		return
	}
	if err := s.decode(b); err != nil && sink.Warn != nil {
		sink.Warn(fmt.Sprintf("bezout: saved state of W(%d) discarded: %v", s.n, err))
	}
}
