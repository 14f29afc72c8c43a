package embedredis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/nsweep/nsweep/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// hang bounds the wait for what must come about.
const hang = 2 * time.Minute

func kept(key string) bool { return strings.HasPrefix(key, "k") }

func open(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Persist == nil {
		o.Persist = kept
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func client(t *testing.T, dial func(context.Context) (net.Conn, error)) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: hang, WriteTimeout: hang,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	})
	t.Cleanup(func() { c.Close() })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inFile returns what the file holds, decoded.
func inFile(t *testing.T, s *Server) map[string]entry {
	t.Helper()
	out := map[string]entry{}
	must(t, s.disk.bolt.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketKeys).ForEach(func(k, v []byte) error {
			e, err := decode(v)
			out[string(k)] = e
			return err
		})
	}))
	return out
}

// inMemory returns what the file should hold.
func inMemory(s *Server) map[string]entry {
	out := map[string]entry{}
	for _, k := range s.mini.DB(0).Keys() {
		if e, ok := read(s.mini.DB(0), k); ok && kept(k) {
			out[k] = e
		}
	}
	return out
}

func TestDataOutlivesTheServer(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, Options{Dir: dir})
	c := client(t, s.Dial)
	binary := string([]byte{0, 1, 2, 255, 0})
	must(t, c.Set(ctx, "k:string", binary, 0).Err())
	must(t, c.Set(ctx, "k:empty", "", 0).Err())
	must(t, c.HSet(ctx, "k:hash", "f", binary, "", "empty", "g", "").Err())
	must(t, c.SAdd(ctx, "k:set", "a", "b").Err())
	must(t, c.RPush(ctx, "k:list", "x", "", "x").Err())
	must(t, c.Set(ctx, "other", "not kept", 0).Err())
	must(t, c.Set(ctx, "k:expires", "not kept", time.Hour).Err())
	must(t, c.Set(ctx, "k:deleted", "v", 0).Err())
	must(t, s.Sync(ctx))
	if _, ok := inFile(t, s)["k:deleted"]; !ok {
		t.Fatal("not in the file after Sync")
	}
	must(t, c.Del(ctx, "k:deleted").Err())
	must(t, c.Close())
	must(t, s.Close())
	must(t, s.Close())
	if _, err := s.Dial(ctx); err == nil {
		t.Fatal("a closed server takes connections")
	}
	if err := s.Sync(ctx); err == nil {
		t.Fatal("a closed server syncs")
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("folder %v, %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, dbFile)}; err != nil || !reflect.DeepEqual(left, want) {
		t.Fatalf("left behind: %v, %v", left, err)
	}

	s = open(t, Options{Dir: dir})
	c = client(t, s.Dial)
	keys, err := c.Keys(ctx, "*").Result()
	must(t, err)
	if want := []string{"k:empty", "k:hash", "k:list", "k:set", "k:string"}; !reflect.DeepEqual(keys, want) {
		t.Fatalf("keys %v, want %v", keys, want)
	}
	if v := c.Get(ctx, "k:string").Val(); v != binary {
		t.Errorf("string %q", v)
	}
	if v := c.HGetAll(ctx, "k:hash").Val(); !reflect.DeepEqual(v, map[string]string{"f": binary, "": "empty", "g": ""}) {
		t.Errorf("hash %q", v)
	}
	if v := c.SMembers(ctx, "k:set").Val(); !reflect.DeepEqual(v, []string{"a", "b"}) {
		t.Errorf("set %q", v)
	}
	if v := c.LRange(ctx, "k:list", 0, -1).Val(); !reflect.DeepEqual(v, []string{"x", "", "x"}) {
		t.Errorf("list %q", v)
	}
}

func TestTimePasses(t *testing.T) {
	ctx := context.Background()
	s := open(t, Options{Dir: t.TempDir()})
	c := client(t, s.Dial)
	must(t, c.Set(ctx, "k", "v", 20*time.Millisecond).Err())
	deadline := time.Now().Add(hang)
	for c.Exists(ctx, "k").Val() == 1 {
		if time.Now().After(deadline) {
			t.Fatal("the key does not expire")
		}
		must(t, s.Sync(ctx)) // something to wait for
	}
}

func TestRefusedCommands(t *testing.T) {
	ctx := context.Background()
	s := open(t, Options{Dir: t.TempDir()})
	c := client(t, s.Dial)
	for _, args := range [][]any{{"BLPOP", "k", 0}, {"hexpire", "k", 1, "FIELDS", 1, "f"}, {"WAIT", 0, 0}} {
		if err := c.Do(ctx, args...).Err(); err == nil || !strings.Contains(err.Error(), "embedded store") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := c.Eval(ctx, "return redis.call('BLPOP', KEYS[1], 0)", []string{"k"}).Err(); err == nil {
		t.Error("a script waits")
	}
	must(t, c.Ping(ctx).Err())
}

func TestSecondOwner(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, Owner: "nsweep run euler"})
	_, err := Open(Options{Dir: dir, Owner: "second"})
	var in *InUseError
	if !errors.As(err, &in) || in.PID != os.Getpid() || in.Owner != "nsweep run euler" || in.Dir != dir {
		t.Fatalf("%v", err)
	}
	if msg := in.Error(); strings.Contains(msg, "\n") || !strings.Contains(msg, fmt.Sprint(os.Getpid())) {
		t.Fatalf("%q", msg)
	}
	must(t, os.Remove(filepath.Join(dir, ownerFile)))
	if _, err := Open(Options{Dir: dir}); !errors.As(err, &in) || in.PID != 0 || !strings.Contains(in.Error(), "another process") {
		t.Fatalf("%v", err)
	}
	must(t, s.Close())
	open(t, Options{Dir: dir})
}

func TestAttach(t *testing.T) {
	ctx := context.Background()
	for name, dir := range map[string]string{
		"short": t.TempDir(),
		"long":  filepath.Join(t.TempDir(), strings.Repeat("long", 50)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Attach(dir); !errors.Is(err, ErrNotRunning) {
				t.Fatalf("without an owner: %v", err)
			}
			s := open(t, Options{Dir: dir})
			dial, err := Attach(dir)
			must(t, err)
			if info, err := os.Stat(filepath.Join(dir, socketFile)); err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("socket %v, %v", info, err)
			}
			in, out := client(t, s.Dial), client(t, dial)
			// Many commands whose answers are long: the answers of the first
			// come while the last are still being sent.
			big := strings.Repeat("x", 100_000)
			must(t, in.Set(ctx, "k", big, 0).Err())
			for _, c := range []*redis.Client{in, out} {
				pipe := c.Pipeline()
				for range 60 {
					pipe.Set(ctx, "k2", big[:2000], 0)
					pipe.Get(ctx, "k")
				}
				cmds, err := pipe.Exec(ctx)
				must(t, err)
				if got := cmds[119].(*redis.StringCmd).Val(); got != big {
					t.Fatalf("%d bytes", len(got))
				}
			}
			must(t, out.Set(ctx, "k3", "v", 0).Err())
			if v := in.Get(ctx, "k3").Val(); v != "v" {
				t.Fatalf("%q", v)
			}
			must(t, s.Close())
			if err := out.Ping(ctx).Err(); err == nil {
				t.Fatal("still attached after Close")
			}
			if _, err := Attach(dir); !errors.Is(err, ErrNotRunning) {
				t.Fatalf("after the owner: %v", err)
			}
		})
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketFile), Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false) // as after a crash
	must(t, l.Close())
	if _, err := Attach(dir); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("%v", err)
	}
	open(t, Options{Dir: dir})
	if _, err := Attach(dir); err != nil {
		t.Fatal(err)
	}
}

func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	failures := make(chan error, 10)
	var log bytes.Buffer
	s, err := Open(Options{Dir: dir, Persist: kept, maxSize: 1 << 20, OnError: func(err error) { failures <- err }, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	defer s.Close()
	c := client(t, s.Dial)
	must(t, c.MSet(ctx, "k1", "before", "k2", "before").Err())
	must(t, s.Sync(ctx))
	must(t, c.MSet(ctx, "k1", "after", "k2", "after", "k3", strings.Repeat("x", 2<<20)).Err())
	if err := s.Sync(ctx); err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatalf("Sync: %v", err)
	}
	if err := s.Err(); err == nil {
		t.Fatal("Err forgot it")
	}
	if err := <-failures; err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatalf("OnError: %v", err)
	}
	if f := inFile(t, s); len(f) != 2 || f["k1"].text != "before" || f["k2"].text != "before" {
		t.Fatalf("after a failed write the file holds %d keys, k1 = %q", len(f), f["k1"].text)
	}
	// The memory still serves, and when there is room all of it is written.
	if v := c.Get(ctx, "k1").Val(); v != "after" {
		t.Fatalf("k1 = %q", v)
	}
	must(t, c.Del(ctx, "k3").Err())
	must(t, s.Sync(ctx))
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	if f := inFile(t, s); len(f) != 2 || f["k1"].text != "after" || f["k2"].text != "after" {
		t.Fatalf("the file holds %d keys, k1 = %q", len(f), f["k1"].text)
	}
	// Close says when the last changes are lost.
	must(t, c.Set(ctx, "k3", strings.Repeat("x", 2<<20), 0).Err())
	if err := s.Close(); err == nil {
		t.Fatal("Close lost changes without a word")
	}
}

func TestDamagedFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	c := client(t, s.Dial)
	must(t, c.Set(ctx, "k1", "value", 0).Err())
	must(t, s.Sync(ctx))
	must(t, s.Close())
	change := func(bucket []byte, key, value string) {
		t.Helper()
		db, err := bbolt.Open(filepath.Join(dir, dbFile), 0o600, nil)
		must(t, err)
		must(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put([]byte(key), []byte(value)) }))
		must(t, db.Close())
	}
	good := entry{typ: 's', text: "value"}.encode()
	bad := bytes.Clone(good)
	bad[len(bad)-1] ^= 1
	change(bucketKeys, "k1", string(bad))
	if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "key k1") {
		t.Fatalf("%v", err)
	}
	change(bucketKeys, "k1", string(good))
	change(bucketMeta, "format", "2")
	if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), `format "2"`) {
		t.Fatalf("%v", err)
	}
	change(bucketMeta, "format", "1")
	// A key that is no longer to be kept is dropped.
	change(bucketKeys, "x", string(good))
	s = open(t, Options{Dir: dir})
	if f := inFile(t, s); len(f) != 1 || f["k1"].text != "value" {
		t.Fatalf("file %v", f)
	}
}

func FuzzEntry(f *testing.F) {
	f.Add(entry{typ: typeString, text: "x"}.encode())
	f.Add(entry{typ: typeHash, fields: []string{"a", "", "b", strings.Repeat("c", 200)}}.encode())
	f.Add([]byte{0, 0, 0, 0, 'h', 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(e.encode())
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%+v became %+v, %v", e, again, err)
		}
	})
}
