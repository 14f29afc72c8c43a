package storetest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// testAuthor: a cell's mark names who stored and who confirmed it, and a cell that
// is open has neither.
func testAuthor(t *testing.T, s *store.Store) {
	f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, 430_001))
	f.commit(by(f.commitOf(0, 10), "w1", "a"), jobs.Committed{Stored: 10})
	f.commit(f.commitOf(10, 11), jobs.Committed{Stored: 1}) // by nobody known
	f.commit(check(by(f.commitOf(3, 5), "w2", "b")), jobs.Committed{Same: 2})
	f.commit(by(f.commitOf(5000, 5001), "w2", "b"), jobs.Committed{Stored: 1})
	for cell, want := range map[int64]string{0: "true w1 a,  ", 3: "true w1 a, w2 b", 4: "true w1 a, w2 b", 5: "true w1 a,  ", 10: "true  ,  ", 11: "false  ,  ", 5000: "true w2 b,  ", 8000: "false  ,  "} {
		a, err := s.Author(f.ctx, f.run.ID, f.sweep(), cell)
		if got := fmt.Sprintf("%v %s %s, %s %s", a.Done, a.By.Worker, a.By.Algorithm, a.Check.Worker, a.Check.Algorithm); err != nil || got != want {
			t.Errorf("cell %d: %q, %v; want %q", cell, got, err, want)
		}
	}
}

// testOriginBy: the note of a task is found wherever it is among those of its
// worker, at the cost of a few round trips when the tasks came in the order of n.
func testOriginBy(t *testing.T, s *store.Store) {
	const tasks, length = 2345, 100
	rng := rand.New(rand.NewPCG(3, 4))
	rising := make([]int64, tasks)
	for i := range rising {
		rising[i] = int64(i)
	}
	shuffled := append([]int64(nil), rising...)
	rng.Shuffle(tasks, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	falling := make([]int64, tasks)
	nearly := append([]int64(nil), rising...)
	for i := range falling {
		falling[i] = int64(tasks - 1 - i)
		if i%10 == 0 && i+300 < tasks {
			j := i + rng.IntN(300)
			nearly[i], nearly[j] = nearly[j], nearly[i]
		}
	}
	var hook stepHook
	s.Client().AddHook(&hook)
	for name, c := range map[string]struct {
		order []int64 // which stretch of n each task has
		most  int     // commands for one question, 0 for any number
	}{"rising": {rising, 7}, "nearly": {nearly, 9}, "falling": {falling, 0}, "shuffled": {shuffled, 0}} {
		f := newRun(t, s, Sweep(t, "s", jobs.KeepValues, 1, tasks*length+1))
		prefix := "nsweep:{" + f.run.ID.String() + "}:"
		pipe := s.Client().Pipeline()
		for i, at := range c.order {
			how := "plain"
			if i%7 == 3 {
				how = "=plain" // it confirmed
			}
			text := fmt.Sprintf("%s %s 0 0 %s %d", strconv.FormatInt(at*length+1, 36), strconv.FormatInt(length, 36), how, i)
			pipe.HSet(f.ctx, fmt.Sprintf("%sprov:s:aaaa:%d", prefix, i/100), i%100, text)
		}
		pipe.HSet(f.ctx, prefix+"who", "s:aaaa", tasks, "aaaa", `{"id":"h:1:aaaa","host":"h"}`)
		if _, err := pipe.Exec(f.ctx); err != nil {
			t.Fatal(err)
		}
		h := jobs.Hand{Worker: "h:1:aaaa", Algorithm: "plain"}
		for k := range 24 {
			i := rng.IntN(tasks)
			switch k {
			case 0:
				i = 0
			case 1:
				i = tasks - 1
			}
			second := i%7 == 3
			n := c.order[i]*length + 1 + rng.Int64N(length)
			steps := 0
			hook.count(&steps)
			o, ok, err := s.OriginBy(f.ctx, f.run.ID, "s", h, n, second)
			hook.count(nil)
			if err != nil || !ok || o.Seq != int64(i) || o.Lo > n || o.Hi <= n || o.Worker.Host != "h" || o.Second != second {
				t.Fatalf("%s: the note of task %d is %+v, %v, %v", name, i, o, ok, err)
			}
			if c.most > 0 && steps > c.most {
				t.Errorf("%s: the note of task %d took %d commands, want at most %d", name, i, steps, c.most)
			}
			if k > 4 {
				continue
			}
			if _, ok, err := s.OriginBy(f.ctx, f.run.ID, "s", h, n, !second); ok || err != nil {
				t.Fatalf("%s: a note that is not there: %v, %v", name, ok, err)
			}
		}
		for _, other := range []jobs.Hand{{Worker: "h:1:bbbb", Algorithm: "plain"}, {Worker: h.Worker, Algorithm: "fast"}} {
			if _, ok, err := s.OriginBy(f.ctx, f.run.ID, "s", other, 5, false); ok || err != nil {
				t.Fatalf("%s: a note of %+v: %v, %v", name, other, ok, err)
			}
		}
		if err := s.Delete(f.ctx, f.run.ID); err != nil {
			t.Fatal(err)
		}
	}
}
