package embedredis

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/alicebob/miniredis/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Files in the folder.
const (
	dbFile     = "nsweep.db"
	ownerFile  = "nsweep.owner"
	socketFile = "nsweep.sock"
)

// fileFormat is the format of the file.
const fileFormat = "1"

var (
	bucketMeta = []byte("meta")
	bucketKeys = []byte("keys")
	keyFormat  = []byte("format")
)

// InUseError says that somebody has the folder open.
type InUseError struct {
	Dir   string
	Owner string // as Options.Owner, or empty when it is not known
	PID   int    // or 0
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	if e.Owner != "" {
		who += " (" + e.Owner + ")"
	}
	return fmt.Sprintf("data folder %s is in use by %s", e.Dir, who)
}

// disk is the file of a folder. The lock on it is the lock on the folder.
type disk struct {
	bolt *bbolt.DB
	keys map[string]struct{} // that the file holds
}

// openDisk opens the file, or makes it where there is none. Another owner has a
// moment to let go of it.
func openDisk(dir string, maxSize int) (*disk, error) {
	path := filepath.Join(dir, dbFile)
	db, err := openFile(path, maxSize)
	if errors.Is(err, os.ErrNotExist) {
		if err := makeFile(path); err != nil {
			return nil, fmt.Errorf("make the data file %s: %w", path, err)
		}
		db, err = openFile(path, maxSize)
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		e := &InUseError{Dir: dir}
		e.Owner, e.PID = readOwner(dir)
		return nil, e
	}
	var damaged *DamagedError // names the file already
	switch {
	case errors.As(err, &damaged):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("open the data file %s: %w", path, err)
	}
	sweepUp(path)
	return &disk{bolt: db, keys: map[string]struct{}{}}, nil
}

func (d *disk) close() error { return d.bolt.Close() }

// load fills an empty database. Keys that are no longer to be kept are left
// out, and removed by the next write.
func (d *disk) load(db *miniredis.RedisDB, persist func(string) bool) error {
	return guarded(d.bolt.Path(), func() error { return d.loadPages(db, persist) })
}

func (d *disk) loadPages(db *miniredis.RedisDB, persist func(string) bool) error {
	var drop [][]byte
	err := d.bolt.View(func(tx *bbolt.Tx) error {
		meta, keys := tx.Bucket(bucketMeta), tx.Bucket(bucketKeys)
		if meta == nil || keys == nil {
			return &DamagedError{Path: d.bolt.Path(), Why: "it holds none of nsweep's data"}
		}
		if f := string(meta.Get(keyFormat)); f != fileFormat {
			return fmt.Errorf("the file has format %q, this program reads %s", f, fileFormat)
		}
		return keys.ForEach(func(k, v []byte) error {
			key := string(k)
			if !persist(key) {
				drop = append(drop, []byte(key))
				return nil
			}
			e, err := decode(v)
			if err == nil {
				err = e.restore(db, key)
			}
			if err != nil {
				return fmt.Errorf("key %s: %w", key, err)
			}
			d.keys[key] = struct{}{}
			return nil
		})
	})
	if err != nil || len(drop) == 0 {
		return err
	}
	return d.bolt.Update(func(tx *bbolt.Tx) error {
		keys := tx.Bucket(bucketKeys)
		for _, k := range drop {
			if err := keys.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// write puts a snapshot into the file in one transaction, which is on the disk
// when it returns.
func (d *disk) write(s snapshot) error {
	if len(s.entries) == 0 {
		return nil
	}
	names := make([]string, 0, len(s.entries))
	for k := range s.entries {
		names = append(names, k)
	}
	sort.Strings(names) // neighbours lie on the same pages
	err := d.bolt.Update(func(tx *bbolt.Tx) error {
		keys := tx.Bucket(bucketKeys)
		for _, k := range names {
			e := s.entries[k]
			var err error
			if e.gone {
				err = keys.Delete([]byte(k))
			} else {
				err = keys.Put([]byte(k), e.encode())
			}
			if err != nil {
				return fmt.Errorf("key %s: %w", k, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k, e := range s.entries {
		if e.gone {
			delete(d.keys, k)
		} else {
			d.keys[k] = struct{}{}
		}
	}
	return nil
}

// owner is what the owner's note says.
type owner struct {
	PID   int    `json:"pid"`
	Owner string `json:"owner"`
}

// writeOwner leaves a note for those who find the folder locked.
func writeOwner(dir, name string) error {
	b, err := json.Marshal(owner{PID: os.Getpid(), Owner: name})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ownerFile), b, 0o600)
}

// readOwner reads the note; it may be missing.
func readOwner(dir string) (name string, pid int) {
	var o owner
	b, err := os.ReadFile(filepath.Join(dir, ownerFile))
	if err == nil {
		err = json.Unmarshal(b, &o)
	}
	if err != nil {
		return "", 0
	}
	return o.Owner, o.PID
}
