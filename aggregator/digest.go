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

func newLines() *lines { return &lines{hash: sha256.New()} }

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
	const at = 256 // few enough for their lines to stay in the cache
	for ; p.Len() > at; p = p.Slice(at, p.Len()) {
		l.buf = p.Slice(0, at).AppendLines(l.buf, ' ')
		l.flush()
	}
	l.buf = p.AppendLines(l.buf, ' ')
	l.flush()
}
