package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

func TestOriginRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(1, engine.MaxN).Draw(t, "lo")
		o := jobs.Origin{
			Lo: lo, Hi: rapid.Int64Range(lo, engine.MaxN).Draw(t, "last") + 1, Attempt: rapid.IntRange(0, 1000).Draw(t, "attempt"),
			Algorithm: rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,63}`).Draw(t, "algorithm"),
			Took:      time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "took")) * time.Millisecond,
			StartedMs: rapid.Int64Range(0, 1<<45).Draw(t, "started"),
		}
		if rapid.Bool().Draw(t, "points") {
			o.Points = rapid.Int64Range(1, o.Hi-o.Lo).Draw(t, "count")
		}
		text := fmt.Sprint(encodeOrigin(o), " ", o.StartedMs)
		back, err := decodeOrigin(text)
		if err != nil || fmt.Sprint(back) != fmt.Sprint(o) {
			t.Fatalf("%q is read as %+v (%v), want %+v", text, back, err, o)
		}
	})
}

// FuzzDecodeOrigin: whatever is accepted is possible, and is written again as
// it was but for leading zeros and signs.
func FuzzDecodeOrigin(f *testing.F) {
	for _, s := range []string{"1 5k 0 p0 plain 1700000000000", "1 5k/3 0 p0 plain 17", "", "1 0 0 0 a 0", "1 -1 0 0 a 0", "zzzzzzzzzzzzz 1 0 0 a 0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := decodeOrigin(s)
		if err != nil {
			return
		}
		o.Worker.ID = "w"
		if err := o.Check(); err != nil || o.Hi-1 > engine.MaxN || o.Count() < 1 {
			t.Errorf("%q is read as %+v: %v", s, o, err)
		}
		back, err := decodeOrigin(fmt.Sprint(encodeOrigin(o), " ", o.StartedMs))
		o.Worker.ID = ""
		if err != nil || fmt.Sprint(back) != fmt.Sprint(o) {
			t.Errorf("%q is read as %+v and then as %+v, %v", s, o, back, err)
		}
	})
}

// TestShortNames: no two workers of one machine share a short name, and it fits
// a key whatever the ID is.
func TestShortNames(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"h:1:abcd1234", "h:1:abcd1235", "", "w", "a b", "h:1:ABCD1234", "h:1:", strings.Repeat("x", 300), "h:2:{x}*y"} {
		s := jobs.Worker{ID: id}.Short()
		if other, ok := seen[s]; ok || strings.ContainsAny(s, "{}*?: ") || len(s) > 16 || len(s) < 4 {
			t.Errorf("%q and %q are called %q", id, other, s)
		}
		seen[s] = id
	}
}
