package embedredis

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestDamagedFileIsRefused: whatever stands in the data file, opening it ends
// in a server or in an error of one line, never in a panic, and a refused file
// is not changed.
func TestDamagedFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, dbFile)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket(bucketMeta)
		if err != nil {
			return err
		}
		if err := meta.Put(keyFormat, []byte(fileFormat)); err != nil {
			return err
		}
		keys, err := tx.CreateBucket(bucketKeys)
		if err != nil {
			return err
		}
		for i := range 200 {
			e := entry{typ: typeString, text: strings.Repeat("x", 900)}
			if err := keys.Put([]byte{byte(i)}, e.encode()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for i := range 60 {
		bad := append([]byte{}, sound...)
		switch i % 3 {
		case 0: // garbage somewhere
			at := rng.IntN(len(bad) - 5000)
			for k := range 5000 {
				bad[at+k] = byte(rng.Uint32())
			}
		case 1: // cut off
			bad = bad[:rng.IntN(len(bad))]
		case 2: // all zeros from somewhere on
			clear(bad[rng.IntN(len(bad)):])
		}
		sub := filepath.Join(t.TempDir())
		if err := os.WriteFile(filepath.Join(sub, dbFile), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Dir: sub})
		if err == nil {
			if err := s.Close(); err != nil {
				t.Logf("closing: %v", err)
			}
			continue
		}
		refused++
		var damaged *DamagedError
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("refused with %q", err)
		}
		if errors.As(err, &damaged) && !strings.Contains(err.Error(), dbFile) {
			t.Errorf("the file is not named: %v", err)
		}
		after, rerr := os.ReadFile(filepath.Join(sub, dbFile))
		if rerr != nil || string(after) != string(bad) {
			t.Errorf("case %d: the refused file was changed (%v): %v", i, rerr, err)
		}
	}
	if refused < 20 {
		t.Errorf("only %d of 60 damaged files were refused", refused)
	}
}
