package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/internal/redistest"
)

// documentedACL returns the rights that docs/SECURITY.md gives a user, with a
// password.
func documentedACL(t *testing.T, user, password string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?m)^user " + user + " (on >PASSWORD .*)$").FindSubmatch(text)
	if m == nil {
		t.Fatalf("docs/SECURITY.md has no line for the user %s", user)
	}
	return strings.Fields(strings.Replace(string(m[1]), "PASSWORD", password, 1))
}

const adminPassword = "the-admin-of-the-test"

// lockedRedis starts a Redis that knows the documented users and one for the
// test itself, and no nameless one.
func lockedRedis(t *testing.T, password, readerPassword string) (*redistest.Server, *redis.Client) {
	t.Helper()
	args := append([]string{"--user", "nsweep"}, documentedACL(t, "nsweep", password)...)
	args = append(append(args, "--user", "nsweep-reader"), documentedACL(t, "nsweep-reader", readerPassword)...)
	srv := redistest.Start(t, append(args, "--user", "admin", "on", ">"+adminPassword, "~*", "&*", "+@all", "--user", "default", "off")...)
	admin := redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "admin", Password: adminPassword, Protocol: 2})
	t.Cleanup(func() { admin.Close() })
	return srv, admin
}

// refusedRightly matches what Redis may refuse, in its log of refusals: the
// settings of Redis are asked for but may be withheld.
var refusedRightly = regexp.MustCompile(`\bobject[ :]config\|get\b`)

// unexpected returns what Redis has refused since it was last asked.
func unexpected(t *testing.T, admin *redis.Client) (all []string) {
	t.Helper()
	ctx := ctxFor(t)
	refused, err := admin.Do(ctx, "ACL", "LOG").Slice()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refused {
		if s := fmt.Sprint(r); !refusedRightly.MatchString(s) {
			all = append(all, s)
		}
	}
	if err := admin.Do(ctx, "ACL", "LOG", "RESET").Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// used returns the commands that were called since the last time, those of
// scripts among them.
func used(t *testing.T, admin *redis.Client) map[string]bool {
	t.Helper()
	ctx := ctxFor(t)
	stats, err := admin.Info(ctx, "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.ConfigResetStat(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	m := map[string]bool{}
	for line := range strings.Lines(stats) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if ok && !strings.HasPrefix(rest, "calls=0,") {
			m[name] = true
		}
	}
	return m
}

// rights are the commands that the words of an ACL line allow, in their order.
func rights(t *testing.T, admin *redis.Client, words []string) map[string]bool {
	t.Helper()
	m := map[string]bool{}
	for _, w := range words {
		if w[0] == '+' || w[0] == '-' {
			for _, c := range meant(t, admin, w) {
				m[c] = w[0] == '+'
			}
		}
	}
	maps.DeleteFunc(m, func(_ string, ok bool) bool { return !ok })
	return m
}

// meant returns the commands that a word is about; none for -@all, which begins.
func meant(t *testing.T, admin *redis.Client, word string) []string {
	t.Helper()
	category, ok := strings.CutPrefix(word[1:], "@")
	switch {
	case !ok:
		return []string{word[1:]}
	case category == "all":
		return nil
	}
	list, err := admin.Do(ctxFor(t), "ACL", "CAT", category).StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// idle returns the words that could go: rights of which nothing is used, and
// prohibitions that forbid nothing.
func idle(t *testing.T, admin *redis.Client, words []string, used map[string]bool) (bad []string) {
	t.Helper()
	for i, w := range words {
		switch {
		case w == "-@all":
		case w[0] == '+':
			if !slices.ContainsFunc(meant(t, admin, w), func(c string) bool { return used[c] }) {
				bad = append(bad, w)
			}
		case w[0] == '-':
			without := slices.Delete(slices.Clone(words), i, i+1)
			if maps.Equal(rights(t, admin, words), rights(t, admin, without)) {
				bad = append(bad, w)
			}
		}
	}
	return bad
}

// everyKind is an experiment with every way to keep values.
const everyKind = `
name: kinds
sweeps:
  - {name: dense, engine: toy, n: {from: 1, to: 990}, sums: [{power: 2}]}
  - {name: sums, engine: toy, n: {from: 1, to: 1000}, keep: sums, checkpoints: [{n: 1, value: 10}]}
  - {name: points, engine: toy, n: {values: [5, 500, 5000]}}
`

// TestFewRights does all that there is to do as the documented users. Redis
// refuses them nothing that they ask for, every right of theirs is used, and what
// they have no business with is refused.
func TestFewRights(t *testing.T) {
	t.Parallel()
	srv, admin := lockedRedis(t, "workers", "readers")
	ctx := ctxFor(t)
	dir := t.TempDir()
	write(t, dir, "kinds.yaml", everyKind)
	as := func(user, password string, more ...string) []string {
		return append(more, "NSWEEP_REDIS_URL=redis://"+srv.Addr()+"/1", "NSWEEP_REDIS_USERNAME="+user, "NSWEEP_REDIS_PASSWORD="+password, "NSWEEP_TEST_SPEEDUP=10")
	}
	env, reader := as("nsweep", "workers"), as("nsweep-reader", "readers")
	used(t, admin) // forgets the start

	scheduler := cli(t, dir, env, "scheduler")
	worker := cli(t, dir, as("nsweep", "workers", "NSWEEP_TOY_FAIL_AT=777"), "worker", "--concurrency", "2")
	call(t, dir, env, codeFailed, "submit", "kinds.yaml", "--wait")
	worker.cmd.Process.Signal(os.Interrupt)
	worker.ends(codeDone)
	for _, command := range []string{"retry", "pause", "resume"} {
		call(t, dir, env, codeDone, command, "kinds")
	}
	second := cli(t, dir, env, "worker", "--concurrency", "2")
	for _, args := range [][]string{
		{"submit", "kinds.yaml", "--wait", "--set", "sweeps.dense.n.to=1500"}, {"verify", "kinds", "--sample", "all"}, {"run", "kinds.yaml", "--fresh"},
	} {
		call(t, dir, env, codeDone, args...)
	}
	page := cli(t, dir, env, "serve", "--listen", "127.0.0.1:0")
	viewPage(t, page, "metrics", "", "nsweep_queue_depth{")
	if bad := unexpected(t, admin); len(bad) > 0 {
		t.Errorf("Redis refused the user nsweep:\n%s", strings.Join(bad, "\n"))
	}

	// The reader, with nobody else at work.
	for _, p := range []*proc{scheduler, second, page} {
		p.cmd.Process.Signal(os.Interrupt)
		p.wait()
	}
	seen := used(t, admin)
	if err := admin.ScriptFlush(ctx).Err(); err != nil { // as after a restart
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"runs"}, {"status", "kinds"}, {"report", "kinds"}, {"get", "kinds", "dense", "1..60"}, {"get", "kinds", "points", "500"},
		{"export", "kinds", "dense", "--bundle", "bundle"}, {"plot", "kinds", "dense", "-o", "dense.svg"}, {"diff", "kinds/dense", "kinds/dense"},
		{"doctor", "kinds.yaml"},
	} {
		call(t, dir, reader, codeDone, args...)
	}
	readerPage := cli(t, dir, reader, "serve", "--listen", "127.0.0.1:0", "--read-only")
	viewPage(t, readerPage, "metrics", "", "nsweep_queue_depth{")
	if bad := unexpected(t, admin); len(bad) > 0 {
		t.Errorf("Redis refused the reader:\n%s", strings.Join(bad, "\n"))
	}
	readerSeen := used(t, admin)
	before, _ := call(t, dir, env, codeDone, "status", "kinds", "--json")
	for _, args := range [][]string{{"delete", "kinds", "--yes"}, {"run", "kinds.yaml", "--fresh"}, {"worker", "--engine", "toy"}, {"scheduler"}} {
		_, errs := call(t, dir, reader, codeUnreachable, args...)
		if strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "does not let this user") {
			t.Errorf("the reader's %v says %q", args, errs)
		}
	}
	if after, _ := call(t, dir, env, codeDone, "status", "kinds", "--json"); after != before {
		t.Errorf("the reader changed\n%s\nto\n%s", before, after)
	}
	call(t, dir, env, codeDone, "delete", "kinds", "--yes")
	maps.Copy(seen, used(t, admin))

	for user, commands := range map[string]map[string]bool{"nsweep": seen, "nsweep-reader": readerSeen} {
		words := documentedACL(t, user, "x")
		if bad := idle(t, admin, words, commands); len(bad) > 0 {
			t.Errorf("user %s: nothing needs %v; used are %v", user, bad, slices.Sorted(maps.Keys(commands)))
		}
		// What neither user may do, whatever the keys are called.
		may := rights(t, admin, words)
		for _, c := range []string{"flushall", "flushdb", "keys", "config|set", "acl|setuser", "debug", "shutdown", "replicaof", "monitor", "migrate", "restore", "swapdb", "script|flush", "function|load", "client|kill", "sort", "publish", "blpop", "rename"} {
			if may[c] {
				t.Errorf("user %s may %s", user, c)
			}
		}
		for _, cmd := range [][]any{{"GET", "other:key"}, {"EVAL", "return redis.call('GET', 'other:key')", "0"}, {"HGETALL", "nsweep"}} {
			c := redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: user, Password: map[string]string{"nsweep": "workers", "nsweep-reader": "readers"}[user], Protocol: 2})
			if err := c.Do(ctx, cmd...).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") && !strings.Contains(err.Error(), "ACL failure") && !strings.Contains(err.Error(), "can't access") {
				t.Errorf("user %s: %v is answered with %v", user, cmd, err)
			}
			c.Close()
		}
	}
}

// viewPage reads a page, with a token where it wants one, until it shows something.
func viewPage(t *testing.T, page *proc, path, token, want string) (body string) {
	t.Helper()
	until(t, want+" on the page", func() bool {
		m := dashboardOn.FindStringSubmatch(page.err.String())
		if m == nil {
			return false
		}
		req, err := http.NewRequestWithContext(ctxFor(t), http.MethodGet, m[1]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		body = string(b)
		return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(body, want)
	})
	return body
}

// TestScriptsKeepToTheRights: the commands in the scripts of nsweep and of asynq
// are all within the documented rights, also those in scripts that no test gets
// to run.
func TestScriptsKeepToTheRights(t *testing.T) {
	t.Parallel()
	_, admin := lockedRedis(t, "x", "y")
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/hibiken/asynq/internal/rdb").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../store/lua/*.lua")
	if err != nil || len(files) < 10 {
		t.Fatalf("scripts %v, %v", files, err)
	}
	asynq, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil || len(asynq) == 0 {
		t.Fatalf("asynq %v, %v", asynq, err)
	}
	may := rights(t, admin, documentedACL(t, "nsweep", "x"))
	may["memory"] = may["memory|usage"]
	call := regexp.MustCompile(`redis\.p?call\(\s*["']([A-Za-z]+)["']`)
	found := map[string]bool{}
	for _, f := range append(files, asynq...) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			c := strings.ToLower(m[1])
			found[c] = true
			if !may[c] {
				t.Errorf("%s calls %s, which docs/SECURITY.md does not allow", filepath.Base(f), m[1])
			}
		}
	}
	if len(found) < 30 {
		t.Errorf("found only %v", slices.Sorted(maps.Keys(found)))
	}
}
