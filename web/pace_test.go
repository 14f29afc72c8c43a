package web

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestLeftAtSteadyPace checks that work done at one pace gives one estimate,
// the true one.
func TestLeftAtSteadyPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.Float64Range(0.1, 1e9).Draw(t, "speed") // cost a second
		seconds := rapid.IntRange(10, 5000).Draw(t, "seconds")
		total := speed * float64(seconds+rapid.IntRange(60, 100_000).Draw(t, "more"))
		var p pace
		for s := range seconds + 1 {
			p.add(sample{noon.Add(time.Duration(s) * time.Second), total - speed*float64(s), int64(s)})
		}
		want := (total - speed*float64(seconds)) / speed
		l := p.left()
		if !l.Known || math.Abs(l.Least.Seconds()-want) > want/1000+0.01 || math.Abs(l.Most.Seconds()-want) > want/1000+0.01 {
			t.Fatalf("left %+v, want %v s", l, want)
		}
		if len(p.samples) > 700 {
			t.Fatalf("%d samples are kept", len(p.samples))
		}
		if r := p.rate(); math.Abs(r-1) > 0.01 {
			t.Fatalf("rate %v, want 1", r)
		}
	})
}

// TestLeftTellsOfAChange lets the pace fall to a tenth: the estimate spans the
// view of the hour and that of the last minute.
func TestLeftTellsOfAChange(t *testing.T) {
	var p pace
	open, at := 1e6, noon
	for range 1000 {
		open, at = open-100, at.Add(time.Second)
		p.add(sample{at: at, open: open})
	}
	for range 120 {
		open, at = open-10, at.Add(time.Second)
		p.add(sample{at: at, open: open})
	}
	l := p.left()
	fast, slow := open/100, open/10
	if !l.Known || l.Least.Seconds() < fast || l.Least.Seconds() > 1.3*fast || math.Abs(l.Most.Seconds()-slow) > slow/20 {
		t.Errorf("left %v to %v, want about %v to %v s", l.Least, l.Most, fast, slow)
	}
	if text := l.String(); !strings.Contains(text, " to ") {
		t.Errorf("left is written %q, want a span", text)
	}
}

func TestLeftUnknown(t *testing.T) {
	var p pace
	if l := p.left(); l.Known || l.String() != "measuring…" {
		t.Errorf("nothing seen: %+v", l)
	}
	for s := range 6 {
		p.add(sample{at: noon.Add(time.Duration(s) * time.Second), open: float64(100 - s)})
	}
	if l := p.left(); l.Known {
		t.Errorf("after 5 s: %+v", l)
	}
	for s := 6; s < 600; s++ {
		p.add(sample{at: noon.Add(time.Duration(s) * time.Second), open: 90})
	}
	if l := p.left(); l.Known || l.Idle < 9*time.Minute || l.String() != "stalled" {
		t.Errorf("nothing finished for ten minutes: %+v", l)
	}
	p.add(sample{at: noon.Add(601 * time.Second), open: 0})
	if l := p.left(); !l.Known || l.Most != 0 || l.String() != "none" {
		t.Errorf("nothing left: %+v", l)
	}
	p.reset()
	if p.rate() != 0 || p.spark() != nil || p.left().Known {
		t.Error("reset did not forget")
	}
}

func TestSpark(t *testing.T) {
	var p pace
	for s := range 1000 {
		v := int64(10 * s)
		if s > 900 {
			v += int64(90 * (s - 900))
		}
		p.add(sample{noon.Add(time.Duration(s) * time.Second), 1, v})
	}
	got := p.spark()
	if len(got) != sparkLen {
		t.Fatalf("%d steps, want %d", len(got), sparkLen)
	}
	if got[0] != 10 || got[len(got)-1] != 100 {
		t.Errorf("course from %v to %v values a second, want 10 to 100", got[0], got[len(got)-1])
	}
	if line := sparkline(got); strings.Count(line, ",") != sparkLen || !strings.HasSuffix(line, "100.0,1.0") {
		t.Errorf("line %q", line)
	}
	if sparkline([]float64{0, 0}) != "" || sparkline(nil) != "" {
		t.Error("a line of nothing")
	}
}

func TestFlow(t *testing.T) {
	var f flow
	f.add(noon, 0)
	for s := 1; s < 300; s++ {
		f.add(noon.Add(time.Duration(s)*time.Second), 50)
		// Amounts that come each second lie half a second too high on average.
		if r := f.rate(); s > 3 && math.Abs(r-50) > 7 {
			t.Fatalf("after %d s: %v a second, want 50", s, r)
		}
	}
	f.add(noon.Add(400*time.Second), 0)
	if r := f.rate(); r > 0.2 {
		t.Errorf("after 100 s of nothing: %v a second", r)
	}
}

// flat is an engine whose n = k costs k.
type flat struct{ engine.Engine }

func (flat) Info() engine.Info { return engine.Info{Name: "toy", Version: 1, Symbol: "g(n)"} }

func (flat) Resolve(w engine.Work) (engine.Work, error) { return w, nil }

func (flat) Cost(w engine.Work) engine.Cost {
	a, b := float64(w.Lo), float64(w.Hi)
	return engine.Cost{Run: (b*(b-1) - a*(a-1)) / 2}
}

func TestCosts(t *testing.T) {
	c := costs{engine.NewRegistry(flat{})}
	s := toySweep(t, "s", 10, 1, 101, 1000, 2000)
	l := newLayout(s)
	led := jobs.NewLedger(s.Cells())
	if got := c.open(l, led); got != 5050+3000 || c.whole(s) != got {
		t.Errorf("all of it costs %v and %v, want 8050", got, c.whole(s))
	}
	led.Mark(0) // 1…10
	led.Mark(9) // 91…100
	led.MarkPoint(1000)
	if got := c.open(l, led); got != 5050-55-955+2000 {
		t.Errorf("open costs %v, want %v", got, 5050-55-955+2000)
	}
	tasks := []TaskView{{Sweep: "s", Points: []int64{1000, 2000}, Fraction: 0.75}, {Sweep: "s", Points: []int64{2000}, Waiting: true, Fraction: 1}}
	if got := c.begun(l, led, tasks); got != 1000 {
		t.Errorf("begun is %v, want half of 2000", got)
	}
	if c.symbol(s) != "g(n)" || (costs{}).symbol(s) != "f(n)" {
		t.Error("symbols")
	}
	if a, b := (costs{}).of(s, 1, 11), (costs{}).of(s, 1, 6); a != 2*b {
		t.Errorf("without engine 10 n cost %v and 5 n %v", a, b)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(digits("8150")), "8<i>150</i>"}, {string(digits("-61029882288")), "-61<i>029</i><i>882</i><i>288</i>"},
		{string(digits("100")), "100"}, {string(digits("<b>")), "&lt;b&gt;"}, {string(digits("")), ""}, {string(digits("12…")), "12…"},
		{percent(0), "0 %"}, {percent(1), "100 %"}, {percent(0.9999999), "99.9 %"}, {percent(0.00001), "< 0.1 %"}, {percent(0.5), "50.0 %"},
		{rate(0), "0"}, {rate(0.04), "0.0"}, {rate(3.25), "3.2"}, {rate(1234.6), "1,235"},
		{short("abcdef", 4), "abc…"}, {short("äöü", 3), "äöü"},
		{(Left{Known: true, Least: 100 * time.Minute, Most: 101 * time.Minute}).String(), "about 1 h 40 min"},
		{(Left{Known: true, Least: time.Hour, Most: 2 * time.Hour}).String(), "1 h 00 min to 2 h 00 min"},
		{tail(strings.Repeat("é", 4000))[:len("…é")], "…é"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
