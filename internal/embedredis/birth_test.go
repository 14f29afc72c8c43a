package embedredis

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
)

// put stores a key in a fresh folder's file and returns the file's content.
func put(t *testing.T, dir string) []byte {
	t.Helper()
	s := open(t, Options{Dir: dir})
	must(t, client(t, s.Dial).Set(context.Background(), "k1", "value", 0).Err())
	must(t, s.Close())
	b, err := os.ReadFile(filepath.Join(dir, dbFile))
	must(t, err)
	return b
}

// TestEmptiedFile: a data file that holds nothing, or only the beginning of one,
// is no new store. It is refused as it is, and is left alone.
func TestEmptiedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, dbFile)
	sound := put(t, dir)
	page := os.Getpagesize()
	for _, size := range []int{0, 1, 100, page - 1, page, page + 1, 2*page - 1, 2 * page, 2*page + 1} {
		cut := sound[:size]
		must(t, os.WriteFile(path, cut, 0o600))
		_, err := Open(Options{Dir: dir})
		var damaged *DamagedError
		if !errors.As(err, &damaged) || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), path) != 1 || !strings.Contains(err.Error(), "move it away to begin anew") {
			t.Errorf("of %d bytes %d are left: %v", len(sound), size, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(cut) {
			t.Errorf("%d bytes: the refused file was changed (%v)", size, err)
		}
		// One that faulted is open until the process ends; as another file it would
		// not be in the way.
		must(t, os.Remove(path))
	}
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "(it is empty)") {
		t.Errorf("empty: %v", err)
	}

	// A file of bbolt's that is none of ours.
	must(t, os.Remove(path))
	db, err := bbolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Close())
	if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "(it holds none of nsweep's data)") {
		t.Errorf("somebody else's file: %v", err)
	}
	must(t, os.Remove(path))
	put(t, dir) // begun anew, as the message says
}

// TestBrokenOffStart: wherever a first start was killed, the next one begins with
// an empty store, and removes what was left.
func TestBrokenOffStart(t *testing.T) {
	whole := func(t *testing.T, path string) {
		must(t, makeFile(path))
	}
	for name, leave := range map[string]func(t *testing.T, path string){
		"name only": func(t *testing.T, path string) { must(t, os.WriteFile(path+newSuffix+"1", nil, 0o600)) },
		"half":      func(t *testing.T, path string) { must(t, os.WriteFile(path+newSuffix+"1", make([]byte, 5000), 0o600)) },
		"whole": func(t *testing.T, path string) {
			whole(t, path)
			must(t, os.Rename(path, path+newSuffix+"1"))
		},
		"two names": func(t *testing.T, path string) {
			whole(t, path)
			must(t, os.Link(path, path+newSuffix+"1"))
		},
		"twice": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+newSuffix+"1", nil, 0o600))
			must(t, os.WriteFile(path+newSuffix+"2", nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			leave(t, filepath.Join(dir, dbFile))
			put(t, dir)
			s := open(t, Options{Dir: dir})
			if f := inFile(t, s); len(f) != 1 {
				t.Errorf("file %v", f)
			}
			left, err := filepath.Glob(filepath.Join(dir, "*.new-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestFirstStartsTogether: of several first starts at a time one owns the folder,
// and no other file takes the place of its own.
func TestFirstStartsTogether(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		var wg sync.WaitGroup
		servers, errs := make([]*Server, 4), make([]error, 4)
		for i := range servers {
			wg.Go(func() { servers[i], errs[i] = Open(Options{Dir: dir, Persist: kept}) })
		}
		wg.Wait()
		owners := 0
		for i, s := range servers {
			var used *InUseError
			switch {
			case s != nil:
				owners++
				must(t, client(t, s.Dial).Set(context.Background(), "k1", "mine", 0).Err())
				must(t, s.Close())
			case !errors.As(errs[i], &used):
				t.Errorf("not an owner for another reason: %v", errs[i])
			}
		}
		s := open(t, Options{Dir: dir})
		if f := inFile(t, s); owners != 1 || len(f) != 1 || f["k1"].text != "mine" {
			t.Errorf("%d owners, file %v", owners, f)
		}
		must(t, s.Close())
	}
}

// TestGiveName: without links a file gets its name too, and never takes that of
// another.
func TestGiveName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	must(t, os.WriteFile(path+"1", []byte("one"), 0o600))
	must(t, os.WriteFile(path+"2", []byte("two"), 0o600))
	must(t, giveName(path+"1", path))
	must(t, giveName(path+"2", path))
	must(t, giveName(path+"3", path)) // somebody has removed it, and made another
	if b, err := os.ReadFile(path); err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
	must(t, os.Remove(path))
	if err := giveName(path+"3", path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file at all: %v", err)
	}
}
