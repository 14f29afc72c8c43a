package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/store"
)

var aclLine = regexp.MustCompile("(?m)^user nsweep (on >PASSWORD .*)$")

// refusedRightly matches what Redis may refuse this user, in its log of refusals.
var refusedRightly = regexp.MustCompile(`\breason[ :]auth\b|\bobject[ :]config\|get\b`)

// documentedACL returns the rights that docs/SECURITY.md gives the user, with a
// password.
func documentedACL(t *testing.T, password string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	m := aclLine.FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/SECURITY.md has no line for the user nsweep")
	}
	return strings.Fields(strings.Replace(string(m[1]), "PASSWORD", password, 1))
}

// TestFewRightsNoSecrets does a whole job as the user that the documents
// describe. Redis refuses it nothing, and the password shows nowhere: not in what
// the processes say, not on their command lines, not in files, not in Redis.
func TestFewRightsNoSecrets(t *testing.T) {
	t.Parallel()
	const planted = "xK7-planted-Qz93"
	args := append([]string{"--user", "nsweep"}, documentedACL(t, planted)...)
	args = append(args, "--user", "admin", "on", ">other", "~*", "&*", "+@all", "--user", "default", "off")
	srv := redistest.Start(t, args...)
	dir, secret := t.TempDir(), t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	write(t, secret, "password", planted+"\n")
	env := func(more ...string) []string {
		return append([]string{"NSWEEP_REDIS_URL=" + srv.URL(), "NSWEEP_REDIS_USERNAME=nsweep", "NSWEEP_TEST_SPEEDUP=10"}, more...)
	}
	byVariable := env("NSWEEP_REDIS_PASSWORD=" + planted)
	byFile := env("NSWEEP_REDIS_PASSWORD_FILE=" + filepath.Join(secret, "password"))
	byURL := []string{"NSWEEP_REDIS_URL=redis://nsweep:" + planted + "@" + srv.Addr() + "/0", "NSWEEP_TEST_SPEEDUP=10"}

	var said strings.Builder
	scheduler := cli(t, dir, byVariable, "scheduler", "-vv")
	worker := cli(t, dir, byFile, "worker", "-vv")
	do := func(code int, env []string, args ...string) {
		t.Helper()
		out, errs := call(t, dir, env, code, args...)
		fmt.Fprintln(&said, out, errs)
	}
	do(codeDone, byURL, "submit", "toy.yaml", "--wait", "-vv")
	for _, p := range []*proc{scheduler, worker} {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
		if err == nil {
			said.Write(line)
		}
	}
	do(codeDone, byURL, "status", "toy")
	do(codeDone, byFile, "verify", "toy", "-vv")
	do(codeDone, byFile, "get", "toy", "toy", "1..10")
	do(codeUnreachable, env("NSWEEP_REDIS_PASSWORD="+planted+"x"), "runs", "-vv")
	do(codeUnreachable, []string{"NSWEEP_REDIS_URL=redis://nsweep:" + planted + "@127.0.0.1:1/0"}, "runs", "-vv")

	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Addrs: []string{srv.Addr()}, Username: "admin", Password: "other"})
	if err != nil {
		t.Fatal(err)
	}
	refused, err := st.Client().Do(ctx, "ACL", "LOG").Slice()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refused {
		// A wrong password was tried above, and the settings of Redis are asked for
		// but may be withheld.
		if s := fmt.Sprint(r); !refusedRightly.MatchString(s) {
			t.Errorf("Redis refused: %s", s)
		}
	}
	st.Close()
	do(codeDone, byFile, "delete", "toy", "--yes")
	for _, p := range []*proc{scheduler, worker} {
		p.cmd.Process.Signal(os.Interrupt)
		if code := p.wait(); code != codeDone {
			t.Errorf("exit code %d: %s", code, p.err.String())
		}
		said.WriteString(p.out.String() + p.err.String())
	}
	if strings.Contains(said.String(), planted) {
		t.Errorf("the password shows in\n%s", said.String())
	}
	srv.Stop() // everything is in its files now
	for _, root := range []string{dir, srv.Dir()} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte(planted)) {
				t.Errorf("the password is in %s", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
