package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/internal/redistest"
)

// securityBlocks returns the blocks of one kind in a section of docs/SECURITY.md.
func securityBlocks(t *testing.T, section, kind string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("docs/SECURITY.md has no section %s", section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, m := range fence.FindAllStringSubmatch(rest, -1) {
		if m[1] == kind {
			blocks = append(blocks, m[2])
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("section %s has no block of %s", section, kind)
	}
	return blocks
}

// confArgs turns lines of a configuration into arguments.
func confArgs(conf string) (args []string) {
	for line := range strings.Lines(conf) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		args = append(args, "--"+key, value)
	}
	return args
}

// documented prepares to run the commands of a section as they stand, but for
// names, ports and folders.
func documented(t *testing.T, dir string, env []string, replace ...string) func(script string) {
	t.Helper()
	for _, tool := range []string{"bash", "openssl", "redis-cli"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer(append(replace, "/etc/nsweep/", dir+"/", "/etc/redis/", dir+"/")...)
	return func(script string) {
		t.Helper()
		cmd := exec.CommandContext(ctxFor(t), "bash", "-euo", "pipefail", "-c", here.Replace(script))
		cmd.Dir = dir
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "NSWEEP_") && !strings.HasPrefix(e, "PATH=") {
				cmd.Env = append(cmd.Env, e)
			}
		}
		cmd.Env = append(append(cmd.Env, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH")), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v of\n%s\n%s", err, script, out)
		}
	}
}

// TestSecurityUsers runs the commands about users.
func TestSecurityUsers(t *testing.T) {
	t.Parallel()
	args := append([]string{"--user", "nsweep"}, documentedACL(t, "nsweep", "a-password")...)
	srv := redistest.Start(t, args...)
	_, port, _ := net.SplitHostPort(srv.Addr())
	dir := t.TempDir()
	write(t, dir, "password", "a-password\n")
	run := documented(t, dir, nil, "-h redis.lan", "-h 127.0.0.1 -p "+port, "redis.lan:6379", srv.Addr())
	for _, b := range securityBlocks(t, "Redis: users with few rights", "sh") {
		run(b)
	}
	if _, errs := call(t, dir, on(srv), codeUnreachable, "runs"); !strings.Contains(errs, "asks for a password") {
		t.Errorf("whoever has no name is told %q", errs)
	}
}

// TestSecurityTLS makes the certificates as documented, starts a Redis with the
// documented configuration, and uses it.
func TestSecurityTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	port := ownPort(t)
	run := documented(t, dir, nil, "redis.lan:6379", "localhost:"+port, "redis.lan", "localhost", "192.0.2.10", "127.0.0.1")
	blocks := securityBlocks(t, "Redis: TLS", "sh")
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	run(blocks[0])
	for _, name := range []string{"ca.key", "server.key", "client.key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	conf := strings.NewReplacer("/etc/redis/", dir+"/", "tls-port 6379", "tls-port "+port, "port 0\n", "").Replace(securityBlocks(t, "Redis: TLS", "conf")[0])
	// The plain port is for the test's own look at whether the server is up.
	redistest.Start(t, confArgs(conf)...)
	run(blocks[1])
	env := []string{"NSWEEP_REDIS_URL=rediss://127.0.0.1:" + port, "NSWEEP_REDIS_CA_FILE=" + filepath.Join(dir, "ca.pem")}
	if _, errs := call(t, dir, env, codeUnreachable, "runs"); !strings.Contains(errs, "it may want a certificate") {
		t.Errorf("whoever has no certificate is told %q", errs)
	}
}

// TestSecuritySentinels sets up two servers and three sentinels with the
// documented users and lines, and has them fail over. Redis refuses the users
// nothing.
func TestSecuritySentinels(t *testing.T) {
	t.Parallel()
	const section = "Redis: sentinels"
	conf := securityBlocks(t, section, "conf")
	if len(conf) != 2 {
		t.Fatalf("%d blocks", len(conf))
	}
	secret := strings.NewReplacer("PASSWORD", "a-password")
	args := confArgs(secret.Replace(conf[0]))
	for _, user := range []string{"nsweep", "sentinel", "replica"} {
		args = append(append(args, "--user", user), documentedACL(t, user, "a-password")...)
	}
	args = append(args, "--user", "admin", "on", ">"+adminPassword, "~*", "&*", "+@all", "--user", "default", "off", "--repl-diskless-sync-delay", "0")
	primary := redistest.Start(t, args...)
	_, port, _ := net.SplitHostPort(primary.Addr())
	replica := redistest.Start(t, append(args, "--replicaof", "127.0.0.1 "+port)...)

	lines := strings.Split(strings.TrimSpace(secret.Replace(conf[1])), "\n")
	if lines[0] != "port 26379" || lines[1] != "sentinel monitor "+masterName+" 192.0.2.10 6379 2" {
		t.Fatalf("sentinels are configured with %q", lines[:2])
	}
	var addrs []string
	var first *redis.Client
	for range 3 {
		s := redistest.StartSentinel(t, primary, masterName, 2, lines[2:]...)
		addrs, first = append(addrs, s.Addr()), raw(t, s)
	}
	ctx := ctxFor(t)
	until(t, "the sentinels to know each other and the replica", func() bool {
		m, err := first.Do(ctx, "SENTINEL", "MASTER", masterName).Slice()
		text := fmt.Sprint(m)
		return err == nil && strings.Contains(text, "num-other-sentinels 2") && strings.Contains(text, "num-slaves 1")
	})
	dir := t.TempDir()
	write(t, dir, "password", "a-password\n")
	env := []string{"NSWEEP_REDIS_USERNAME=nsweep", "NSWEEP_REDIS_PASSWORD_FILE=" + filepath.Join(dir, "password")}
	run := documented(t, dir, env, "a.lan,b.lan,c.lan", strings.Join(addrs, ","))
	block := securityBlocks(t, section, "sh")[0]
	run(block)

	until(t, "a fail-over", func() bool { return first.Do(ctx, "SENTINEL", "FAILOVER", masterName).Err() == nil })
	admin := redis.NewClient(&redis.Options{Addr: replica.Addr(), Username: "admin", Password: adminPassword, Protocol: 2})
	defer admin.Close()
	until(t, "the replica to be in charge", func() bool {
		info, err := admin.Info(ctx, "replication").Result()
		return err == nil && regexp.MustCompile(`role:master`).MatchString(info)
	})
	until(t, "the sentinels to say so", func() bool {
		addr, err := first.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
		return err == nil && net.JoinHostPort(addr[0], addr[1]) == replica.Addr()
	})
	run(block)
	old := redis.NewClient(&redis.Options{Addr: primary.Addr(), Username: "admin", Password: adminPassword, Protocol: 2})
	defer old.Close()
	for _, c := range []*redis.Client{admin, old} {
		if bad := unexpected(t, c); len(bad) > 0 {
			t.Errorf("Redis refused:\n%s", strings.Join(bad, "\n"))
		}
	}
}
