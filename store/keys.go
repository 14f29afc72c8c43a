package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// ChunkCells is the number of cells in one chunk of the ledger. A chunk's
// bitmap is 512 bytes and its CRCs at most 16 KiB.
const ChunkCells = 4096

// chunkBytes is the length of a chunk's bitmap.
const chunkBytes = ChunkCells / 8

// Keys that belong to no run.
const (
	keyRuns    = "nsweep:runs"    // hash: name → epoch
	keyNumbers = "nsweep:numbers" // hash: name → how many epochs it has had
	keyGraves  = "nsweep:graves"  // set of name.epoch whose keys are still to be removed
	keyWorkers = "nsweep:workers" // hash: worker → "started at json"
)

// runKeys builds the keys of one epoch. They share the hash tag {name.epoch}.
// Names hold no colon, so no two keys can meet.
type runKeys struct{ prefix string }

func keysOf(id jobs.RunID) runKeys { return runKeys{"nsweep:{" + id.String() + "}:"} }

func (k runKeys) manifest() string { return k.prefix + "manifest" }
func (k runKeys) counts() string   { return k.prefix + "counts" }
func (k runKeys) tasks() string    { return k.prefix + "tasks" }
func (k runKeys) beats() string    { return k.prefix + "beats" }
func (k runKeys) failures() string { return k.prefix + "failures" }
func (k runKeys) states() string   { return k.prefix + "states" }
func (k runKeys) leader() string   { return k.prefix + "leader" }
func (k runKeys) who() string      { return k.prefix + "who" }

// hands numbers workers with their algorithms, quarantine says whose commits are
// refused.
func (k runKeys) hands() string      { return k.prefix + "hands" }
func (k runKeys) quarantine() string { return k.prefix + "quarantine" }

// prov is the key of some notes of a worker, which is called by its short name.
func (k runKeys) prov(sweep, short string, bucket int64) string {
	return k.at("prov:"+sweep+":", short, bucket)
}

func (k runKeys) done(sweep string, chunk int64) string { return k.at("done:", sweep, chunk) }
func (k runKeys) crc(sweep string, chunk int64) string  { return k.at("crc:", sweep, chunk) }
func (k runKeys) by(sweep string, chunk int64) string   { return k.at("by:", sweep, chunk) }
func (k runKeys) chk(sweep string, chunk int64) string  { return k.at("chk:", sweep, chunk) }
func (k runKeys) rec(sweep string, chunk int64) string  { return k.at("rec:", sweep, chunk) }
func (k runKeys) val(sweep string, block int64) string  { return k.at("val:", sweep, block) }

func (k runKeys) at(kind, sweep string, i int64) string {
	return k.prefix + kind + sweep + ":" + strconv.FormatInt(i, 10)
}

func (k runKeys) clips(sweep string) string     { return k.prefix + "clips:" + sweep }
func (k runKeys) disputes(sweep string) string  { return k.prefix + "disputes:" + sweep }
func (k runKeys) points(sweep string) string    { return k.prefix + "points:" + sweep }
func (k runKeys) pointCRCs(sweep string) string { return k.prefix + "pcrc:" + sweep }

// pattern matches every key of the epoch. Names and epochs hold no character
// that means something in a pattern.
func (k runKeys) pattern() string { return k.prefix + "*" }

// Lasting reports whether the key holds something that must outlive a restart
// of an embedded store. Notes about who is working are not: after a restart
// nobody is.
func Lasting(key string) bool {
	switch {
	case !strings.HasPrefix(key, "nsweep:") || key == keyWorkers:
		return false
	case strings.HasSuffix(key, "}:tasks"), strings.HasSuffix(key, "}:beats"), strings.HasSuffix(key, "}:leader"):
		return false
	}
	return true
}

// address writes a grid index as "chunk/bit": cell = 4096·chunk + bit. Scripts
// compare addresses as text, because Lua's numbers are exact only to 2^53.
func address(index int64) string {
	return strconv.FormatInt(index/ChunkCells, 10) + "/" + strconv.FormatInt(index%ChunkCells, 10)
}

// parseAddress is the inverse of address.
func parseAddress(s string) (int64, error) {
	c, b, ok := strings.Cut(s, "/")
	chunk, err := strconv.ParseInt(c, 10, 64)
	bit, err2 := strconv.ParseInt(b, 10, 64)
	if !ok || err != nil || err2 != nil || chunk < 0 || chunk > engine.MaxN/ChunkCells || bit < 0 || bit >= ChunkCells {
		return 0, fmt.Errorf("%q is no address of a cell", s)
	}
	return chunk*ChunkCells + bit, nil
}

// blockOf returns the block that holds n and the place of n in it, 0 … 3999.
func blockOf(n int64) (block, place int64) {
	return (n - 1) / engine.BlockLen, (n - 1) % engine.BlockLen
}
