package embedredis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// TestOnlyChangesAreWritten looks at snapshots of a server that nobody else
// takes snapshots of.
func TestOnlyChangesAreWritten(t *testing.T) {
	ctx := context.Background()
	m := miniredis.NewMiniRedis()
	first, err := m.Dial()
	must(t, err)
	must(t, first.Close())
	defer m.Close()
	track := newTracker(m, kept, true)
	srv := m.Server()
	srv.SetPreHook(track.hook)
	c := client(t, func(context.Context) (net.Conn, error) {
		near, far := newPipe()
		srv.ServeConn(far)
		return near, nil
	})
	onDisk := map[string]struct{}{}
	take := func() map[string]entry {
		snap := track.snapshot(onDisk)
		track.flushed(snap, nil)
		for k, e := range snap.entries {
			if onDisk[k] = struct{}{}; e.gone {
				delete(onDisk, k)
			}
		}
		return snap.entries
	}
	for i := range 20 {
		must(t, c.Set(ctx, fmt.Sprintf("k%d", i), "v", 0).Err())
	}
	if got := take(); len(got) != 20 {
		t.Fatalf("%d of 20 entries", len(got))
	}
	must(t, c.Get(ctx, "k1").Err())
	must(t, c.Set(ctx, "k2", "w", 0).Err())
	must(t, c.Set(ctx, "foreign", "w", 0).Err())
	must(t, c.Eval(ctx, "redis.call('GET', KEYS[1]) redis.call('SETRANGE', KEYS[2], 0, 'x') return 1", []string{"k3", "k4"}).Err())
	must(t, c.Set(ctx, "k:never", "in the file", 0).Err())
	must(t, c.Del(ctx, "k:never", "k5").Err())
	want := map[string]entry{"k2": {typ: 's', text: "w"}, "k4": {typ: 's', text: "x"}, "k5": {gone: true}}
	if got := take(); !reflect.DeepEqual(got, want) {
		t.Fatalf("snapshot %+v, want %+v", got, want)
	}
	// What a transaction queued before a snapshot and wrote after it.
	conn := c.Conn()
	defer conn.Close()
	must(t, conn.Do(ctx, "MULTI").Err())
	must(t, conn.Do(ctx, "SET", "k6", "tx").Err())
	if got := take(); len(got) != 1 || got["k6"].text != "v" {
		t.Fatalf("between MULTI and EXEC: %+v", got)
	}
	must(t, conn.Do(ctx, "EXEC").Err())
	if got := take(); len(got) != 1 || got["k6"].text != "tx" {
		t.Fatalf("after EXEC: %+v", got)
	}
	// What could not be written comes again.
	must(t, c.Set(ctx, "k7", "x", 0).Err())
	track.flushed(track.snapshot(onDisk), errors.New("full"))
	if got := take(); len(got) != 1 || got["k7"].text != "x" {
		t.Fatalf("after a failed write: %+v", got)
	}
	if got := take(); len(got) != 0 {
		t.Fatalf("nothing changed: %+v", got)
	}
	// A key that is given a time to live is taken out, and put back.
	must(t, c.Expire(ctx, "k8", time.Hour).Err())
	if got := take(); !reflect.DeepEqual(got, map[string]entry{"k8": {gone: true}}) {
		t.Fatalf("%+v", got)
	}
	must(t, c.Persist(ctx, "k8").Err())
	if got := take(); len(got) != 1 || got["k8"].text != "v" {
		t.Fatalf("%+v", got)
	}
	must(t, c.FlushDB(ctx).Err())
	if got := take(); len(got) != 19 || !got["k8"].gone {
		t.Fatalf("after FLUSHDB: %+v", got)
	}
}

// TestNoChangeIsMissed runs all kinds of commands from several connections
// while snapshots are taken, and compares file and memory in the end.
func TestNoChangeIsMissed(t *testing.T) {
	ctx := context.Background()
	s := open(t, Options{Dir: t.TempDir()})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := s.Sync(ctx); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	var writers sync.WaitGroup
	for g := range 4 {
		c := client(t, s.Dial)
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 7))
			for i := range 400 {
				randomCommand(ctx, c, rnd, i)
			}
		})
	}
	writers.Wait()
	close(stop)
	wg.Wait()
	must(t, s.Sync(ctx))
	if got, want := inFile(t, s), inMemory(s); !reflect.DeepEqual(got, want) {
		for k := range want {
			if !reflect.DeepEqual(got[k], want[k]) {
				t.Errorf("key %s: file %+v, memory %+v", k, got[k], want[k])
			}
		}
		for k := range got {
			if _, ok := want[k]; !ok {
				t.Errorf("key %s is in the file only", k)
			}
		}
		t.Fatalf("%d keys in the file, %d in memory", len(got), len(want))
	}
	if len(inMemory(s)) < 5 {
		t.Fatal("the commands left too little to compare")
	}
}

// randomCommand sends one command or transaction. Many fail because the key
// holds another type; that is part of it.
func randomCommand(ctx context.Context, c *redis.Client, rnd *rand.Rand, i int) {
	key := func(kind string) string { return fmt.Sprintf("k%s%d", kind, rnd.IntN(6)) }
	v := fmt.Sprint(i)
	switch rnd.IntN(20) {
	case 0, 1:
		c.Set(ctx, key("s"), v, 0)
	case 2:
		c.SetRange(ctx, key("s"), int64(rnd.IntN(50)), v)
	case 3, 4:
		c.HSet(ctx, key("h"), "f"+fmt.Sprint(rnd.IntN(4)), v)
	case 5:
		c.HDel(ctx, key("h"), "f1", "f2")
	case 6:
		c.SAdd(ctx, key("m"), v)
	case 7:
		c.SPop(ctx, key("m"))
	case 8:
		c.RPush(ctx, key("l"), v)
	case 9:
		c.LPop(ctx, key("l"))
	case 10:
		c.Del(ctx, key("s"), key("h"))
	case 11:
		c.Rename(ctx, key("s"), key("s"))
	case 12:
		c.Expire(ctx, key("s"), time.Hour)
	case 13:
		c.Persist(ctx, key("s"))
	case 14:
		c.MSet(ctx, key("s"), v, key("s"), v)
	case 15:
		pipe := c.TxPipeline()
		pipe.Set(ctx, key("s"), v, 0)
		pipe.HSet(ctx, key("h"), "f", v)
		_, _ = pipe.Exec(ctx)
	case 16:
		_ = c.Watch(ctx, func(tx *redis.Tx) error {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { p.Incr(ctx, "k:count"); return nil })
			return err
		}, "k:count")
	case 17:
		c.Eval(ctx, "redis.call('SET', KEYS[1], ARGV[1]) redis.call('DEL', KEYS[2]) return redis.call('INCR', KEYS[1])", []string{key("s"), key("h")}, v)
	case 18:
		c.Do(ctx, "COPY", key("s"), key("s"), "REPLACE")
	case 19:
		if rnd.IntN(40) == 0 {
			c.FlushDB(ctx)
		}
	}
}

// TestSnapshotsAreWhole writes three keys together, by scripts and by
// transactions, and looks at the file all the time: the three never differ.
func TestSnapshotsAreWhole(t *testing.T) {
	ctx := context.Background()
	s := open(t, Options{Dir: t.TempDir()})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 2 {
		c := client(t, s.Dial)
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				v := fmt.Sprintf("%d.%d", g, i)
				var err error
				if i%2 == 0 {
					err = c.Eval(ctx, "for i = 1, 3 do redis.call('SET', KEYS[i], ARGV[1]) end return 1", []string{"k1", "k2", "k3"}, v).Err()
				} else {
					_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
						for _, k := range []string{"k3", "k2", "k1"} {
							p.Set(ctx, k, v, 0)
						}
						return nil
					})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	seen := map[string]bool{}
	deadline := time.Now().Add(20 * time.Second)
	for len(seen) < 40 && time.Now().Before(deadline) {
		must(t, s.Sync(ctx))
		f := inFile(t, s)
		if f["k1"].text != f["k2"].text || f["k1"].text != f["k3"].text {
			t.Fatalf("the file holds %q, %q and %q", f["k1"].text, f["k2"].text, f["k3"].text)
		}
		seen[f["k1"].text] = true
	}
	close(stop)
	wg.Wait()
	if len(seen) < 10 {
		t.Fatalf("only %d states were seen", len(seen))
	}
}

func TestTimePasses(t *testing.T) {
	ctx := context.Background()
	s := open(t, Options{Dir: t.TempDir()})
	c := client(t, s.Dial)
	must(t, c.Set(ctx, "k", "v", 20*time.Millisecond).Err())
	deadline := time.Now().Add(20 * time.Second)
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
