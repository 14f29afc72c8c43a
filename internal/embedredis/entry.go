package embedredis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/alicebob/miniredis/v2"
)

// snapshot is what has changed, as it stood at one moment.
type snapshot struct {
	keys    map[string]struct{} // the marks it answers
	all     bool
	entries map[string]entry
}

// entry is one key's value, or the fact that the file should not have it.
type entry struct {
	gone   bool
	typ    byte
	text   string   // of a string
	fields []string // of a hash: fields and values by turns; of a set or list: members
}

// The types of values that are kept.
const (
	typeString = 's'
	typeHash   = 'h'
	typeSet    = 'S'
	typeList   = 'l'
)

// read returns the value of a key. It reports false when there is none that is
// to be kept: no value, one that expires, or one of another type. Strings are
// not copied, they never change.
func read(db *miniredis.RedisDB, key string) (entry, bool) {
	if db.TTL(key) != 0 {
		return entry{}, false
	}
	// The only errors are that the key is missing or has another type, and
	// both were just asked.
	switch db.Type(key) {
	case "string":
		text, err := db.Get(key)
		return entry{typ: typeString, text: text}, err == nil
	case "hash":
		names, err := db.HKeys(key)
		fields := make([]string, 0, 2*len(names))
		for _, f := range names {
			fields = append(fields, f, db.HGet(key, f))
		}
		return entry{typ: typeHash, fields: fields}, err == nil
	case "set":
		members, err := db.Members(key)
		return entry{typ: typeSet, fields: members}, err == nil
	case "list":
		members, err := db.List(key)
		return entry{typ: typeList, fields: append([]string(nil), members...)}, err == nil
	}
	return entry{}, false
}

// restore puts a value into an empty database.
func (e entry) restore(db *miniredis.RedisDB, key string) error {
	switch e.typ {
	case typeString:
		return db.Set(key, e.text)
	case typeHash:
		db.HSet(key, e.fields...)
		return nil
	case typeSet:
		_, err := db.SetAdd(key, e.fields...)
		return err
	}
	_, err := db.Push(key, e.fields...)
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes CRC-32C of the rest, type, and the text, or each part after
// its length as a varint.
func (e entry) encode() []byte {
	size := 5 + len(e.text)
	for _, f := range e.fields {
		size += binary.MaxVarintLen32 + len(f)
	}
	b := make([]byte, 5, size)
	b[4] = e.typ
	b = append(b, e.text...)
	for _, f := range e.fields {
		b = binary.AppendUvarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return b
}

var errDamaged = errors.New("its stored value is damaged")

// decode is the inverse of encode. It copies what it keeps of b.
func decode(b []byte) (entry, error) {
	if len(b) < 5 || binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return entry{}, errDamaged
	}
	e := entry{typ: b[4]}
	b = b[5:]
	switch e.typ {
	case typeString:
		e.text = string(b)
		return e, nil
	case typeHash, typeSet, typeList:
	default:
		return entry{}, fmt.Errorf("its type %q is not known", e.typ)
	}
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return entry{}, errDamaged
		}
		e.fields = append(e.fields, string(b[k:k+int(n)]))
		b = b[k+int(n):]
	}
	if len(e.fields) == 0 || (e.typ == typeHash && len(e.fields)%2 != 0) {
		return entry{}, errDamaged
	}
	return e, nil
}
