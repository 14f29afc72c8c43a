package web

import (
	"testing"
	"time"

	"github.com/nsweep/nsweep/jobs"
)

// lively is a store with a run under way that shows everything there is.
func lively(t testing.TB) (*fakeStore, *fakeRun) {
	f := newFake()
	f.worker("alder:4711", 4)
	f.worker("birch:4712", 8)
	r := f.add("overnight", toySweep(t, "squares", 50, 1, 50_001), toySweep(t, "far", 1000, 1, 1, 10, 1000, 1_000_000))
	r.leader = "alder:4711"
	r.finish("squares", 0, 600)
	r.finish("squares", 640, 700)
	r.points["far"][10] = true
	r.give(f, "alder:4711", "squares", 30_001, 31_001, 0.4, 0)
	r.give(f, "birch:4712", "squares", 31_001, 32_001, 0.7, 0)
	r.give(f, "", "squares", 35_001, 36_001, 0, 0)
	r.failures = []jobs.Failure{
		{Sweep: "squares", Lo: 40_001, Hi: 40_051, Error: "engine toy panicked: index out of range\nlog: n = 40017\nlog: giving up", Worker: "birch:4712", AtMs: time.Now().UnixMilli()},
		{Sweep: "far", Points: []int64{1_000_000}, Error: "killed its worker 5 times", Worker: "alder:4711", AtMs: time.Now().UnixMilli()},
	}
	r.disputes["squares"] = []jobs.Dispute{{Cell: 10, N: 501, Claims: []jobs.Claim{{By: "birch:4712", CRC: 7}}}}
	f.add("old", toySweep(t, "cubes", 50, 1, 1001)).State = jobs.Cancelled
	return f, r
}

func TestShow(t *testing.T) {
	f, _ := lively(t)
	_, url := serveFake(t, Options{Store: f, Version: "test", Pace: 100 * time.Millisecond})
	b := newBrowser(t, 1280, 900)
	b.open(url + "/run/overnight")
	b.until(`document.querySelector("#map-line")?.textContent.includes("square")`)
	b.until(`document.querySelector(".c-ok") !== null`)
	b.shot("run-light")
	b.scheme("dark")
	b.shot("run-dark")
	b.open(url + "/")
	b.shot("runs-dark")
	b.size(360, 800)
	b.shot("runs-narrow")
	b.open(url + "/run/overnight")
	b.until(`document.querySelector("#map-line")?.textContent.includes("square")`)
	b.shot("run-narrow")
}
