package config

import (
	"testing"

	"pgregory.net/rapid"
)

func TestParseShare(t *testing.T) {
	for text, want := range map[string]int64{"all": 1_000_000, "100%": 1_000_000, "2%": 20_000, "2 %": 20_000, "0.5%": 5000, "0.0001%": 1,
		"12.3456%": 123_456, "0%": 0, "0": 0, "007%": 70_000} {
		if got, err := ParseShare(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "2", "2%%", "-1%", "+1%", "101%", "100.0001%", "1e1%", "0.00001%", "1.%", ".5%", "a%", "All", "½%", "1,5%", "99999999999999999999%"} {
		if got, err := ParseShare(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

// TestParseShareNeverBeyond: whatever is read lies within 0 and all.
func TestParseShareNeverBeyond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{0,4}\.?[0-9]{0,5}%?`).Draw(t, "text")
		if v, err := ParseShare(text); err == nil && (v < 0 || v > 1_000_000) {
			t.Fatalf("%q: %d", text, v)
		}
	})
}

// TestVerify: each way to write a share is read, and written back as itself.
func TestVerify(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "verify: all\n": 1_000_000, "verify: 2%\n": 20_000, "verify: {sample: all}\n": 1_000_000,
		"verify: {sample: 0.0001%}\n": 1, "verify:\n  sample: 2 %\n": 20_000} {
		e, err := load(sound + text)
		if err != nil || e.Verify != want {
			t.Errorf("%q: %v", text, err)
			continue
		}
		again, err := load(string(e.YAML()))
		if err != nil || again.Verify != want {
			t.Errorf("%q is written as\n%s%v", text, e.YAML(), err)
		}
	}
}
