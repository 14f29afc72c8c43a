package embedredis

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// newSuffix begins the rest of the name that a data file has while it is made.
const newSuffix = ".new-"

// openFile opens a data file that is there. bbolt would take an empty file for a
// new one; but here files are never seen before they are whole, so that an empty
// one was emptied.
func openFile(path string, maxSize int) (db *bbolt.DB, err error) {
	err = guarded(path, func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: 300 * time.Millisecond, FreelistType: bbolt.FreelistMapType, MaxSize: maxSize,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
				if err != nil {
					return nil, err
				}
				info, err := f.Stat()
				if err == nil && info.Size() == 0 {
					err = &DamagedError{Path: path, Why: "it is empty"}
				}
				if err != nil {
					return nil, errors.Join(err, f.Close())
				}
				return f, nil
			},
		})
		return err
	})
	for _, damage := range []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		if errors.Is(err, damage) {
			return nil, &DamagedError{Path: path, Why: err.Error()}
		}
	}
	// bbolt's only other complaint about what is in the file, not exported.
	if err != nil && strings.HasPrefix(err.Error(), "file size too small") {
		return nil, &DamagedError{Path: path, Why: "it was cut off"}
	}
	return db, err
}

// makeFile makes a data file without data. It has its name only when all of it is
// on the disk, so a start that is broken off leaves no half of one. That
// somebody else makes one at the same time is no error.
func makeFile(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+newSuffix)
	if err != nil {
		return err
	}
	name := f.Name()
	defer os.Remove(name) // if it stays, the next start removes it
	if err := f.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(name, 0o600, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket(bucketMeta)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket(bucketKeys); err != nil {
			return err
		}
		return meta.Put(keyFormat, []byte(fileFormat))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := giveName(name, path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system can; then it keeps order by itself
	return d.Close()
}

// giveName lets path be the file name, unless there is a file already: then
// another process owns it, or soon will. A link, unlike a renaming, takes no
// file's place.
func giveName(name, path string) error {
	err := os.Link(name, path)
	if err == nil {
		return nil
	}
	// There is one, or the file system has no links, or whoever was quicker has
	// removed ours.
	if _, there := os.Lstat(path); there == nil {
		return nil
	}
	return os.Rename(name, path)
}

// sweepUp removes what starts that were broken off have left. The caller owns
// the data file, so nobody needs them.
func sweepUp(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return // they do no harm
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+newSuffix) {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}
