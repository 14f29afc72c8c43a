package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

const masterName = "nights"

// startSentinels starts three sentinels that watch a server; two must agree that
// it is gone. It returns them and the URL that names them all.
func startSentinels(t *testing.T, master *redistest.Server, lines ...string) (all []*redistest.Server, url string) {
	t.Helper()
	lines = append([]string{
		"sentinel down-after-milliseconds " + masterName + " 500",
		"sentinel failover-timeout " + masterName + " 5000",
	}, lines...)
	var addrs []string
	for range 3 {
		s := redistest.StartSentinel(t, master, masterName, 2, lines...)
		all, addrs = append(all, s), append(addrs, s.Addr())
	}
	return all, "redis-sentinel://" + strings.Join(addrs, ",") + "?master=" + masterName
}

// raw opens a client beside nsweep's own.
func raw(t *testing.T, s *redistest.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2})
	t.Cleanup(func() { c.Close() })
	return c
}

// valuesOn returns how many values of the run a server has, also one that nsweep
// would refuse. Without the run it has none.
func valuesOn(t *testing.T, s *redistest.Server, run string) (n int64) {
	t.Helper()
	ctx := ctxFor(t)
	st, err := store.Open(ctx, store.Options{Addrs: []string{s.Addr()}, Unchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r, err := st.Run(ctx, run)
	if err != nil {
		return 0
	}
	var counts map[string]jobs.Counts
	if counts, err = st.Counts(ctx, r.ID); err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		n += c.Values
	}
	return n
}

// processed returns how many tasks asynq has counted on a server.
func processed(t *testing.T, c *redis.Client) (n int64) {
	t.Helper()
	ctx := ctxFor(t)
	keys, err := c.Keys(ctx, "asynq:*:processed").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		v, err := c.Get(ctx, k).Int64()
		if err != nil {
			t.Fatal(err)
		}
		n += v
	}
	return n
}

// TestFailOver kills the Redis of a sentinel group in the middle of a run, after
// its replica was cut off for a while. Scheduler, workers, and asynq with them,
// go on with the replica, compute what it never got, and end with the digests of
// an undisturbed run.
func TestFailOver(t *testing.T) {
	t.Parallel()
	alone, dir := t.TempDir(), t.TempDir()
	write(t, alone, "toy.yaml", toyYAML)
	call(t, alone, nil, codeDone, "run", "toy.yaml")
	want := digests(result(t, alone, nil, "toy"))

	primary := redistest.Start(t)
	_, port, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		t.Fatal(err)
	}
	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+port, "--repl-diskless-sync-delay", "0")
	sentinels, url := startSentinels(t, primary)
	ctx := ctxFor(t)
	for _, s := range sentinels {
		c := raw(t, s)
		until(t, "the sentinels to know each other and the replica", func() bool {
			m, err := c.Do(ctx, "SENTINEL", "MASTER", masterName).Slice()
			text := fmt.Sprint(m)
			return err == nil && strings.Contains(text, "num-other-sentinels 2") && strings.Contains(text, "num-slaves 1")
		})
	}
	down := raw(t, replica)
	until(t, "the replica to follow", func() bool {
		info, err := down.Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})

	write(t, dir, "toy.yaml", toyYAML)
	slow, hurry := atPace(t, time.Second)
	env := append(slow, "NSWEEP_REDIS_URL="+url, "NSWEEP_TEST_SPEEDUP=5")
	scheduler := cli(t, dir, env, "scheduler")
	workers := []*proc{cli(t, dir, env, "worker", "--concurrency", "2"), cli(t, dir, env, "worker", "--concurrency", "2")}
	wait := cli(t, dir, env, "submit", "toy.yaml", "--wait")
	until(t, "values on the replica", func() bool { return valuesOn(t, replica, "toy") > 0 })

	// The replica is cut off: it may not sign in any more.
	if err := down.ConfigSet(ctx, "masteruser", "nobody").Err(); err != nil {
		t.Fatal(err)
	}
	if err := down.ConfigSet(ctx, "masterauth", "nothing").Err(); err != nil {
		t.Fatal(err)
	}
	up := raw(t, primary)
	if err := up.ClientKillByFilter(ctx, "TYPE", "replica").Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "the replica to be cut off", func() bool {
		info, err := up.Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, "connected_slaves:0")
	})
	kept, tasks := valuesOn(t, replica, "toy"), processed(t, down)
	until(t, "values that the replica does not get", func() bool { return valuesOn(t, primary, "toy") >= kept+400 })
	lost := valuesOn(t, primary, "toy") - kept
	primary.Kill()
	if n := valuesOn(t, replica, "toy"); n != kept || n+lost >= 5000 {
		t.Fatalf("the replica has %d values, had %d, and misses %d", n, kept, lost)
	}

	hurry()
	if code := wait.wait(); code != codeDone {
		t.Fatalf("exit code %d: %s\nscheduler: %s", code, wait.err.String(), scheduler.err.String())
	}
	if got := digests(result(t, dir, env, "toy")); got != want {
		t.Errorf("digests differ:\n%s\nwant\n%s", got, want)
	}
	if n := valuesOn(t, replica, "toy"); n != 5000 {
		t.Errorf("the replica that took over has %d values", n)
	}
	// It was asynq that brought the work, over the same connections.
	if n := processed(t, down); n <= tasks {
		t.Errorf("asynq has counted %d tasks, before the replica was cut off %d", n, tasks)
	}
	for _, p := range append(workers, scheduler) {
		select {
		case <-p.done:
			t.Errorf("nsweep %v ended: %s", p.cmd.Args[1:], p.err.String())
		default:
		}
	}
	t.Logf("%d values lost and computed again", lost)
}

// TestSentinelRefuses: what can be wrong with sentinels ends in one line.
func TestSentinelRefuses(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	_, url := startSentinels(t, srv)
	locked := redistest.StartSentinel(t, srv, masterName, 1, "requirepass right")
	lockedURL := "redis-sentinel://" + locked.Addr() + "?master=" + masterName
	env := func(url string, more ...string) []string { return append(more, "NSWEEP_REDIS_URL="+url) }
	refuseAll(t, []refusal{
		{"wrong master", env(strings.Replace(url, masterName, "days", 1)), []string{"Redis days of the sentinels", "is unknown to them", "sentinel monitor"}},
		{"all away", env("redis-sentinel://127.0.0.1:1,127.0.0.1:2?master=" + masterName), []string{"cannot be reached", "127.0.0.1:1", "127.0.0.1:2", "connection refused"}},
		{"no password", env(lockedURL), []string{"they ask for a password", "NSWEEP_REDIS_SENTINEL_PASSWORD"}},
		{"wrong password", env(lockedURL, "NSWEEP_REDIS_SENTINEL_PASSWORD="+plantedWrong), []string{"they refuse the user name or password"}},
		{"the Redis' password for the sentinels", env(lockedURL, "NSWEEP_REDIS_PASSWORD="+plantedWrong), []string{"they ask for a password"}},
		{"no sentinel", env("redis-sentinel://" + srv.Addr() + "?master=" + masterName), []string{"they are no sentinels", "redis://"}},
		{"a sentinel as Redis", env("redis://"+locked.Addr(), "NSWEEP_REDIS_PASSWORD=right"), []string{"is a sentinel", "redis-sentinel://"}},
	})
	// With what is right each of them works.
	for _, e := range [][]string{env(url), env(lockedURL, "NSWEEP_REDIS_SENTINEL_PASSWORD=right"), on(srv)} {
		if out, _ := call(t, t.TempDir(), e, codeDone, "runs"); !strings.Contains(out, "no runs") {
			t.Errorf("says %s", out)
		}
	}
	srv.Kill()
	_, errs := call(t, t.TempDir(), env(url), codeUnreachable, "runs")
	if strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "connection refused") {
		t.Errorf("with a dead Redis: %q", errs)
	}
}

// TestSentinelTLS: sentinels and Redis that speak TLS only.
func TestSentinelTLS(t *testing.T) {
	t.Parallel()
	ca := redistest.NewAuthority(t)
	srv := redistest.StartTLS(t, ca)
	sentinel := redistest.StartSentinel(t, srv, masterName, 1)
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	env := append(tlsFiles(ca.File(), ca.Issue("client")), "NSWEEP_REDIS_URL=redis-sentinel://"+sentinel.Addr()+"?master="+masterName+"&tls=true")
	call(t, dir, env, codeDone, "run", "toy.yaml", "--set", "sweeps.toy.n.to="+strconv.Itoa(200))
}
