package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const unitDir = "../../docs/systemd"

// unit is a unit file: its settings by section and key, in order.
type unit map[string][]string

var unitLine = regexp.MustCompile(`^([A-Z][A-Za-z]*)=(.*)$`)

func readUnit(t *testing.T, path string) unit {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u, section := unit{}, ""
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		switch m := unitLine.FindStringSubmatch(line); {
		case line == "" || line[0] == '#':
		case line == "[Unit]" || line == "[Service]" || line == "[Timer]" || line == "[Install]":
			section = line
		case m != nil && section != "":
			u[section+m[1]] = append(u[section+m[1]], m[2])
		default:
			t.Errorf("%s:%d: %q", path, i+1, line)
		}
	}
	return u
}

// one returns the only value of a setting.
func (u unit) one(t *testing.T, key string) string {
	t.Helper()
	if len(u[key]) != 1 {
		t.Fatalf("%s is %q, want one", key, u[key])
	}
	return u[key][0]
}

// TestUnits parses the examples of unit files: their commands are commands of
// this program with flags that it takes, and their limits leave room for an
// orderly stop.
func TestUnits(t *testing.T) {
	files, err := filepath.Glob(unitDir + "/*.service")
	if err != nil || len(files) != 3 {
		t.Fatalf("units %v, %v", files, err)
	}
	for _, f := range files {
		u := readUnit(t, f)
		words := strings.Fields(u.one(t, "[Service]ExecStart"))
		if len(words) < 2 || words[0] != "/usr/local/bin/nsweep" {
			t.Errorf("%s starts %q", f, words)
			continue
		}
		c, rest, err := (&app{reg: engines()}).root().Find(words[1:])
		if err != nil || c.Name() != words[1] {
			t.Errorf("%s: %q: %v", f, words, err)
			continue
		}
		if err := c.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		final := "2"
		if words[1] == "worker" {
			final = "2 3" // in quarantine
		}
		if u.one(t, "[Service]RestartPreventExitStatus") != final || u.one(t, "[Unit]StartLimitIntervalSec") != "0" {
			t.Errorf("%s: bad usage or wrong values are repeated, or an outage of Redis is not", f)
		}
		if words[1] != "worker" {
			continue
		}
		drain, err := c.Flags().GetDuration("drain-timeout")
		if err != nil {
			t.Fatal(err)
		}
		stop, err := time.ParseDuration(u.one(t, "[Service]TimeoutStopSec") + "s")
		if err != nil || stop < drain+12*time.Second {
			t.Errorf("%s: stopped after %s (%v), tasks and the last commits may take %s and 12 s", f, stop, err, drain)
		}
		text, err := c.Flags().GetString("max-memory")
		if err != nil {
			t.Fatal(err)
		}
		soft, err := parseSize(text)
		hard, err2 := parseSize(u.one(t, "[Service]MemoryMax"))
		if err != nil || err2 != nil || hard <= soft {
			t.Errorf("%s: --max-memory %d, MemoryMax %d, %v, %v", f, soft, hard, err, err2)
		}
	}
	night := readUnit(t, unitDir+"/nsweep-worker-night.service")
	if s := night.one(t, "[Service]ExecStart"); !strings.Contains(s, " --until 07:00 ") || night.one(t, "[Service]Restart") != "on-failure" {
		t.Errorf("the night's worker is %q", s)
	}
	if timer := readUnit(t, unitDir+"/nsweep-worker-night.timer"); timer.one(t, "[Timer]OnCalendar") != "*-*-* 22:00:00" {
		t.Errorf("the timer is %v", timer)
	}
}

// TestNightCondition runs the condition of the night's service at every hour.
func TestNightCondition(t *testing.T) {
	u := readUnit(t, unitDir+"/nsweep-worker-night.service")
	shell, ok := strings.CutPrefix(u.one(t, "[Service]ExecCondition"), "/bin/sh -c '")
	if !ok || !strings.HasSuffix(shell, "'") {
		t.Fatalf("condition %q", shell)
	}
	shell = strings.NewReplacer("$$", "$", "%%", "%").Replace(strings.TrimSuffix(shell, "'"))
	for h := range 24 {
		script := "date() { printf '%02d\\n' " + strconv.Itoa(h) + "; }; " + shell
		err := exec.Command("/bin/sh", "-c", script).Run()
		if night := h >= 22 || h < 7; (err == nil) != night {
			t.Errorf("at %d o'clock: %v", h, err)
		}
	}
}

// TestUnitsVerify has systemd itself check the units, where it is installed.
func TestUnitsVerify(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed; TestUnits has read the units")
	}
	files, err := filepath.Glob(unitDir + "/*.*")
	if err != nil || len(files) != 4 {
		t.Fatalf("units %v, %v", files, err)
	}
	// The command must be there for systemd to be content.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, filepath.Base(f))
		if err := os.WriteFile(copied, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/nsweep", self)), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, copied)
	}
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
	// It can fail: a unit with a misspelt key is not clean.
	bad := filepath.Join(dir, "bad.service")
	if err := os.WriteFile(bad, []byte("[Service]\nExecStrat=/bin/true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "verify", "--man=no", bad).CombinedOutput(); err == nil && len(out) == 0 {
		t.Error("systemd-analyze finds nothing wrong with a misspelt key")
	}
}
