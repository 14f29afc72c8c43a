package aggregator

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/nsweep/nsweep/engine"
)

// digestBuffer is how many bytes of lines are gathered before they are hashed.
const digestBuffer = 32 << 10

// lines hashes text line by line.
type lines struct {
	hash hash.Hash
	buf  []byte
}

func newLines() *lines { return &lines{hash: sha256.New(), buf: make([]byte, 0, digestBuffer+256)} }

// flush hashes what is gathered once it is enough.
func (l *lines) flush() {
	if len(l.buf) >= digestBuffer {
		l.hash.Write(l.buf)
		l.buf = l.buf[:0]
	}
}

// sum returns the digest of all lines so far in hex.
func (l *lines) sum() string {
	l.hash.Write(l.buf)
	l.buf = l.buf[:0]
	return hex.EncodeToString(l.hash.Sum(nil))
}

// cell adds the tree digest's line for the n in [lo, hi).
func (l *lines) cell(lo, hi int64, sum [sha256.Size]byte) {
	b := strconv.AppendInt(l.buf, lo, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, hi-1, 10)
	b = append(b, ' ')
	b = hex.AppendEncode(b, sum[:])
	l.buf = append(b, '\n')
	l.flush()
}

// point adds the tree digest's line for a single n.
func (l *lines) point(n int64, v engine.Int128) {
	var b [16]byte
	v.PutBytes(b[:])
	l.cell(n, n+1, sha256.Sum256(b[:]))
}

// values adds the text digest's line for each value.
func (l *lines) values(p engine.Piece) {
	var counter decimal
	counter.set(p.Lo)
	for i, v := range p.Narrow {
		if i > 0 {
			counter.inc()
		}
		b := append(l.buf, counter.text()...)
		b = append(b, ' ')
		b = appendInt(b, v)
		l.buf = append(b, '\n')
		l.flush()
	}
	for i, v := range p.Wide {
		b := strconv.AppendInt(l.buf, p.Lo+int64(i), 10)
		b = append(b, ' ')
		b = v.Append(b)
		l.buf = append(b, '\n')
		l.flush()
	}
}

// decimal is a counter whose text is at hand: adding one changes a single digit
// nine times out of ten.
type decimal struct {
	digits [20]byte
	start  int
}

func (d *decimal) set(n int64) {
	s := strconv.AppendInt(d.digits[:0:0], n, 10)
	d.start = len(d.digits) - len(s)
	copy(d.digits[d.start:], s)
}

func (d *decimal) text() []byte { return d.digits[d.start:] }

// inc adds one. A positive int64 has at most 19 digits, so there is room.
func (d *decimal) inc() {
	i := len(d.digits) - 1
	for ; i >= d.start && d.digits[i] == '9'; i-- {
		d.digits[i] = '0'
	}
	if i < d.start {
		d.start = i
		d.digits[i] = '0'
	}
	d.digits[i]++
}

// pairs holds the two digits of 0 … 99.
var pairs = func() (t [200]byte) {
	for i := range 100 {
		t[2*i], t[2*i+1] = byte('0'+i/10), byte('0'+i%10)
	}
	return t
}()

// appendInt is strconv.AppendInt for base 10, but writes into b in place.
func appendInt(b []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		b = append(b, '-')
		u = -u
	}
	var buf [20]byte
	i := len(buf)
	for u >= 100 {
		q := u / 100
		r := (u - 100*q) * 2
		i -= 2
		buf[i], buf[i+1] = pairs[r], pairs[r+1]
		u = q
	}
	if u >= 10 {
		i -= 2
		buf[i], buf[i+1] = pairs[2*u], pairs[2*u+1]
	} else {
		i--
		buf[i] = byte('0' + u)
	}
	return append(b, buf[i:]...)
}
