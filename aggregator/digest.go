package aggregator

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/nsweep/nsweep/engine"
)

// digestBuffer is how many bytes of lines are gathered before they are hashed,
// lineMax more than the longest line: two numbers of at most 40 characters, or
// two of 19 digits and a hash in hex.
const (
	digestBuffer = 32 << 10
	lineMax      = 128
)

// lines hashes text line by line.
type lines struct {
	hash hash.Hash
	buf  []byte // of length digestBuffer + lineMax
	fill int    // bytes of buf in use, below digestBuffer between lines
}

func newLines() *lines {
	return &lines{hash: sha256.New(), buf: make([]byte, digestBuffer+lineMax)}
}

// end notes that the line being written ends at buf[fill-1].
func (l *lines) end(fill int) {
	if fill >= digestBuffer {
		l.hash.Write(l.buf[:fill])
		fill = 0
	}
	l.fill = fill
}

// sum returns the digest of all lines so far in hex.
func (l *lines) sum() string {
	l.hash.Write(l.buf[:l.fill])
	l.fill = 0
	return hex.EncodeToString(l.hash.Sum(nil))
}

// cell adds the tree digest's line for the n in [lo, hi).
func (l *lines) cell(lo, hi int64, sum [sha256.Size]byte) {
	b := strconv.AppendInt(l.buf[:l.fill], lo, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, hi-1, 10)
	b = append(b, ' ')
	b = hex.AppendEncode(b, sum[:])
	b = append(b, '\n')
	l.end(len(b))
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
		at := counter.put(l.buf, l.fill)
		counter.inc(p.Lo + int64(i) + 1)
		l.buf[at] = ' '
		at = putInt(l.buf, at+1, v)
		l.buf[at] = '\n'
		l.end(at + 1)
	}
	for i, v := range p.Wide {
		b := strconv.AppendInt(l.buf[:l.fill], p.Lo+int64(i), 10)
		b = append(b, ' ')
		if x, ok := v.Int64(); ok {
			b = b[:putInt(l.buf, len(b), x)]
		} else {
			b = v.Append(b)
		}
		b = append(b, '\n')
		l.end(len(b))
	}
}
