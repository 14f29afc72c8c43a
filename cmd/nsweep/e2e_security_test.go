package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// secrets are what must show nowhere, by what they are.
type secrets map[string]string

// absent looks for every secret in a text.
func (s secrets) absent(t *testing.T, where, text string) {
	t.Helper()
	for what, secret := range s {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("the %s is in %s: …%s…", what, where, text[max(0, i-80):min(len(text), i+80)])
		}
	}
}

// absentBelow looks for them in every file below the folders, and returns how many
// files it has read.
func (s secrets) absentBelow(t *testing.T, roots ...string) (files int) {
	t.Helper()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			s.absent(t, path, string(text))
			files++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestNoSecrets does a whole job with every secret that there is, given in every
// way. None shows: not in what the processes say however much they are asked to,
// not on their command lines, not on the page or in messages, not in files, not in
// Redis.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	hidden := secrets{"password": "xK7-planted-Qz93", "reader's password": "r3ader-planted-Lw5", "signing key": "n0tify-planted-Vb8", "token": "t0ken-planted-Mc2-0123"}
	var mu sync.Mutex
	var told strings.Builder
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		head, err2 := json.Marshal(r.Header)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&told, "%s %s %v %v\n", head, body, err, err2)
	}))
	defer hook.Close()
	srv, admin := lockedRedis(t, hidden["password"], hidden["reader's password"])
	dir, private := t.TempDir(), t.TempDir()
	write(t, private, "password", hidden["password"]+"\n")
	write(t, private, "token", hidden["token"]+"\n")
	// A password in an experiment is the user's own doing, but goes no further.
	write(t, private, "toy.yaml", "notify: {url: \""+hook.URL+"\", on: [complete]}\nredis: {url: \"redis://nsweep:"+hidden["password"]+"@"+srv.Addr()+"/0\"}\n"+toyYAML[1:])
	env := func(user string, more ...string) []string {
		return append(more, "NSWEEP_REDIS_URL="+srv.URL(), "NSWEEP_REDIS_USERNAME="+user, "NSWEEP_TEST_SPEEDUP=10")
	}
	byVariable := env("nsweep", "NSWEEP_REDIS_PASSWORD="+hidden["password"], "NSWEEP_NOTIFY_SECRET="+hidden["signing key"])
	byFile := env("nsweep", "NSWEEP_REDIS_PASSWORD_FILE="+filepath.Join(private, "password"))
	byURL := []string{"NSWEEP_REDIS_URL=redis://nsweep:" + hidden["password"] + "@" + srv.Addr() + "/0", "NSWEEP_TEST_SPEEDUP=10"}
	reader := env("nsweep-reader", "NSWEEP_REDIS_PASSWORD="+hidden["reader's password"])

	running := []*proc{
		cli(t, dir, byVariable, "scheduler", "-vv"),
		// Slow enough for the scheduler to see the run before it ends, and tell of it.
		cli(t, dir, append(byFile, "NSWEEP_TOY_PER_CELL=100ms"), "worker", "--concurrency", "2", "-vv"),
		cli(t, dir, reader, "serve", "--listen", "127.0.0.1:0", "--read-only", "--token-file", filepath.Join(private, "token"), "-vv"),
	}
	do := func(code int, env []string, args ...string) {
		t.Helper()
		out, errs := call(t, dir, env, code, append(args, "-vv")...)
		hidden.absent(t, fmt.Sprint(args), out+errs)
	}
	fast := []string{"NSWEEP_TEST_SPEEDUP=10"}
	submit := cli(t, dir, fast, "submit", filepath.Join(private, "toy.yaml"), "--wait", "-vv")
	until(t, "values", func() bool { return cli(t, dir, byURL, "get", "toy", "toy", "1").wait() == codeDone })
	for _, p := range append(running, submit) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
		if err == nil { // submit may have ended
			hidden.absent(t, "a command line", string(line))
		}
	}
	submit.ends(codeDone)
	hidden.absent(t, "submit", submit.out.String()+submit.err.String())
	for _, path := range []string{"", "run/toy", "metrics"} {
		hidden.absent(t, "page "+path, viewPage(t, running[2], path, hidden["token"], "toy"))
	}
	do(codeDone, byURL, "status", "toy", "--json")
	do(codeDone, byFile, "verify", "toy")
	do(codeDone, reader, "export", "toy", "toy", "--bundle", "bundle")
	do(codeDone, byURL, "doctor", filepath.Join(private, "toy.yaml"))
	do(codeDone, fast, "plan", filepath.Join(private, "toy.yaml"))
	// Errors, which are where secrets tend to show.
	do(codeUnreachable, env("nsweep", "NSWEEP_REDIS_PASSWORD="+hidden["password"]+"x"), "runs")
	do(codeUnreachable, []string{"NSWEEP_REDIS_URL=redis://nsweep:" + hidden["password"] + "@127.0.0.1:1/0"}, "runs")
	do(codeUnreachable, []string{"NSWEEP_REDIS_URL=redis-sentinel://nsweep:" + hidden["password"] + "@127.0.0.1:1,127.0.0.1:2?master=m", "NSWEEP_REDIS_SENTINEL_PASSWORD=" + hidden["signing key"]}, "doctor")
	do(codeUsage, []string{"NSWEEP_REDIS_URL=redis://nsweep:" + hidden["password"] + "@127.0.0.1:x"}, "runs")
	do(codeUsage, append(byFile, "NSWEEP_REDIS_PASSWORD="+hidden["password"]+"x"), "runs")

	until(t, "the message", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return told.Len() > 0
	})
	hidden.absent(t, "a message", told.String())
	for _, p := range running {
		p.cmd.Process.Signal(os.Interrupt)
		p.ends(codeDone)
		hidden.absent(t, fmt.Sprint(p.cmd.Args[1:]), p.out.String()+p.err.String())
	}
	// What Redis has now, and, in its file, all that it ever had.
	ctx := ctxFor(t)
	keys, err := admin.Keys(ctx, "*").Result()
	if err != nil || len(keys) < 5 {
		t.Fatalf("keys %q, %v", keys, err)
	}
	for _, k := range keys {
		value, err := admin.Dump(ctx, k).Result()
		if err != nil {
			t.Fatal(err)
		}
		hidden.absent(t, "key "+k, k+value)
	}
	srv.Stop()
	if n := hidden.absentBelow(t, dir, srv.Dir()); n < 5 {
		t.Errorf("only %d files were read", n)
	}
	if !findsPlanted(t, srv.Dir(), hook.URL) {
		t.Error("Redis' file does not even hold what it should: nothing was looked at")
	}
}

// findsPlanted reports whether a text is in a file below the folder.
func findsPlanted(t *testing.T, root, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestUnitsHoldNoSecret: the examples of unit files take the address of Redis, and
// what else is private, from a file.
func TestUnitsHoldNoSecret(t *testing.T) {
	secret := regexp.MustCompile(`(?i)(password|secret|token)\s*=|--redis|://[^/\s]*@`)
	files, err := filepath.Glob(unitDir + "/*.service")
	if err != nil || len(files) == 0 {
		t.Fatalf("units %v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if m := secret.Find(text); m != nil || !bytes.Contains(text, []byte("EnvironmentFile=")) {
			t.Errorf("%s: %q, or no EnvironmentFile", f, m)
		}
	}
}
