package embedredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

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
	for deadline := time.Now().Add(hang); len(seen) < 40; {
		if time.Now().After(deadline) {
			t.Errorf("only %d states were seen", len(seen))
			break
		}
		must(t, s.Sync(ctx))
		f := inFile(t, s)
		if f["k1"].text != f["k2"].text || f["k1"].text != f["k3"].text {
			t.Fatalf("the file holds %q, %q and %q", f["k1"].text, f["k2"].text, f["k3"].text)
		}
		seen[f["k1"].text] = true
	}
	close(stop)
	wg.Wait()
}

// TestWritersWait lets the file fall behind in fake time: writers are held
// back until it has caught up, or failed, or the server closes.
func TestWritersWait(t *testing.T) {
	for what, end := range map[string]func(*tracker){
		"written": func(tr *tracker) { tr.flushed(snapshot{}, nil) },
		"failed":  func(tr *tracker) { tr.flushed(snapshot{}, errors.New("full")) },
		"closing": func(tr *tracker) { tr.release() },
	} {
		synctest.Test(t, func(t *testing.T) {
			tr := &tracker{persist: kept, dirty: map[string]struct{}{}}
			tr.moved = sync.NewCond(&tr.mu)
			tr.wait() // nothing to write
			tr.mark("k")
			time.Sleep(maxBehind / 2)
			tr.wait() // not far behind
			tr.mark("k2")
			tr.writing, tr.since = tr.since, time.Time{} // a snapshot is being written
			time.Sleep(maxBehind)
			done := false
			go func() {
				tr.wait()
				done = true
			}()
			synctest.Wait()
			if done {
				t.Fatalf("%s: a writer went on too early", what)
			}
			end(tr)
			synctest.Wait()
			if !done {
				t.Fatalf("%s: a writer still waits", what)
			}
		})
	}
}
