package main

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestEngineMemory holds what docs/MATH.md says about memory: the most that a
// process has resident for one value, for the second of two, and for a window of
// ten million values.
func TestEngineMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("other systems count in other units")
	}
	bin, err := released()
	if err != nil {
		t.Fatal(err)
	}
	measure, err := goBuild("./testdata/maxrss")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		most int // MB
		long bool
	}{
		{"hopping 10^6", 50, false},
		{"hopping 10^7", 150, false},
		{"hopping 9999999..10^7", 300, false},
		{"bezout 10^13", 50, false},
		{"bezout 100000001..110000000", 40, false},
		{"bezout 1000000001..1010000000", 40, false},
		{"bezout 10^15", 120, true},
	} {
		if c.long && !soak() {
			continue
		}
		args := append(append([]string{bin, "compute"}, strings.Fields(c.args)...), "--summary")
		out, err := exec.Command(measure, args...).Output()
		kib, err2 := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil || err2 != nil {
			t.Errorf("compute %s: %v, %v: %s", c.args, err, err2, out)
			continue
		}
		t.Logf("compute %s: %d MB", c.args, kib>>10)
		if mb := kib >> 10; mb > c.most || mb < 10 {
			t.Errorf("compute %s takes %d MB, want at most %d", c.args, mb, c.most)
		}
	}
}
