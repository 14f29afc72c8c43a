package store

import (
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

func TestVersions(t *testing.T) {
	for version, fit := range map[string]bool{"6.2.0": true, "6.2": true, "7.0.15": true, "10.0.1": true, "6.0.16": false, "5.0": false, "6": false, "": false, "x.y": false} {
		f := Fitness{Version: version, Policy: "noeviction", Mode: "standalone", Role: "master"}
		if got := f.problem(); (got == "") != fit {
			t.Errorf("version %q: %q", version, got)
		}
	}
}

func TestParseInfo(t *testing.T) {
	f := parseInfo("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:abc\r\n\r\n# Memory\r\nused_memory:12\r\nmaxmemory:34\r\nmaxmemory_policy:noeviction\r\n" +
		"# Persistence\r\naof_enabled:1\r\naof_last_write_status:err\r\n# Cluster\r\ncluster_enabled:1\r\n")
	want := Fitness{Version: "7.0.15", RunID: "abc", AOF: true, AOFError: true, Policy: "noeviction", UsedMemory: 12, MaxMemory: 34, Mode: "cluster"}
	if f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
}

func TestLasting(t *testing.T) {
	for key, want := range map[string]bool{
		"nsweep:runs": true, "nsweep:graves": true, "nsweep:{r.e}:manifest": true, "nsweep:{r.e}:val:tasks:0": true, "nsweep:{r.e}:states": true,
		"nsweep:workers": false, "nsweep:{r.e}:tasks": false, "nsweep:{r.e}:beats": false, "nsweep:{r.e}:leader": false, "asynq:{q}:t:1": false, "": false,
	} {
		if Lasting(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("0/0")
	f.Add("244140625000000/4095")
	f.Add("-1/3")
	f.Fuzz(func(t *testing.T, s string) {
		index, err := parseAddress(s)
		if err != nil {
			return
		}
		// Signs and leading zeros are read too; what is written is canonical.
		again, err := parseAddress(address(index))
		if err != nil || again != index || strings.Contains(address(index), "-") {
			t.Fatalf("%q is %d, written %q", s, index, address(index))
		}
	})
}

func TestChunks(t *testing.T) {
	if got := chunksOf(jobsSweep(1, 1_000_001), ""); got != "0-4" {
		t.Errorf("%q", got)
	}
	for before, want := range map[string]string{
		"0-4": "0-4", "7-9": "0-4 7-9", "5-6": "0-6", "2-3 11-12": "0-4 11-12", "nonsense": "0-4", "100-100 3-20": "0-20 100-100",
	} {
		if got := chunksOf(jobsSweep(1, 1_000_001), before); got != want {
			t.Errorf("after %q: %q, want %q", before, got, want)
		}
	}
	if got := chunksOf(jobsSweep(0, 0), "3-4"); got != "3-4" {
		t.Errorf("without a dense part: %q", got)
	}
}

// jobsSweep returns a sweep in cells of 50.
func jobsSweep(lo, hi int64) jobs.Sweep {
	return jobs.Sweep{Name: "s", Set: jobs.Set{Lo: lo, Hi: hi}, Grid: engine.Grid{
		Bands:  []engine.Band{{Upto: engine.MaxN, Cell: 50}},
		Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 4}},
	}}
}
