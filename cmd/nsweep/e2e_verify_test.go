package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/internal/redistest"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// bench is an experiment in a store whose keys a test can change by hand.
type bench struct {
	*testing.T
	dir  string
	env  []string
	open func() *opened // the store, while no process owns it
}

// onBoth runs a test on the embedded store and on a real Redis.
func onBoth(t *testing.T, test func(*bench)) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		a := &app{streams: streams{out: new(bytes.Buffer), err: new(bytes.Buffer)}, reg: engines()}
		test(&bench{T: t, dir: dir, open: func() *opened {
			st, err := a.openEmbedded(context.Background(), filepath.Join(dir, ".nsweep"), own)
			if err != nil {
				t.Fatal(err)
			}
			return st
		}})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		srv := redistest.Start(t)
		test(&bench{T: t, dir: t.TempDir(), env: on(srv), open: func() *opened {
			st, err := store.Open(context.Background(), store.Options{Addrs: []string{srv.Addr()}})
			if err != nil {
				t.Fatal(err)
			}
			return &opened{Store: st}
		}})
	})
}

func (b *bench) call(code int, args ...string) (out, err string) {
	b.Helper()
	return call(b.T, b.dir, b.env, code, args...)
}

// harm hands the keys' prefix and the store to f.
func (b *bench) harm(run string, f func(ctx context.Context, prefix string, st *opened)) {
	b.Helper()
	ctx := context.Background()
	st := b.open()
	r, err := st.Run(ctx, run)
	if err != nil {
		b.Fatal(err)
	}
	f(ctx, "nsweep:{"+r.ID.String()+"}:", st)
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
}

// verify returns what verify --json reports.
func (b *bench) verify(code int, args ...string) verifyReport {
	b.Helper()
	return callJSON[verifyReport](b.T, b.dir, b.env, code, append([]string{"verify", "--json"}, args...)...)
}

// found lists the findings of a sweep as "lo-hi".
func found(r verifyReport, sweep string) (damaged, different []string) {
	for _, s := range r.Sweeps {
		if s.Name != sweep {
			continue
		}
		for _, f := range s.Damaged {
			damaged = append(damaged, fmt.Sprintf("%d-%d", f.Lo, f.Hi))
		}
		for _, f := range s.Different {
			different = append(different, fmt.Sprintf("%d-%d", f.Lo, f.Hi))
		}
	}
	return damaged, different
}

// repaired runs the experiment again and expects the digests of before.
func (b *bench) repaired(want string, args ...string) {
	b.Helper()
	b.call(codeDone, append([]string{"run"}, args...)...)
	if got := digests(result(b.T, b.dir, b.env, "euler")); got != want {
		b.Errorf("after the repair:\n%s\nwant\n%s", got, want)
	}
	if s := b.state(); s.State != jobs.Complete || s.percent() != 100 {
		b.Errorf("after the repair the run is %s with %.1f %%", s.State, s.percent())
	}
}

func (b *bench) state() runStatus {
	b.Helper()
	return statusOf(b.T, b.dir, b.env, "euler")
}

// TestVerifyFindsRot damages stored values in each way that a disk or an
// operator can. Every damaged cell is found, nothing else, and the next run
// repairs them.
func TestVerifyFindsRot(t *testing.T) {
	t.Parallel()
	onBoth(t, func(b *bench) {
		set := []string{"--set", "sweeps.hopping.n.to=4100"}
		old := map[string]string{}
		b.call(codeDone, "run", "--set", "sweeps.hopping.n.to=3900")
		b.harm("euler", func(ctx context.Context, prefix string, st *opened) {
			for _, key := range []string{"val:hopping:0", "crc:hopping:0", "done:hopping:0"} {
				v, err := st.Client().Get(ctx, prefix+key).Result()
				if err != nil {
					b.Fatal(err)
				}
				old[key] = v
			}
		})
		b.call(codeDone, append([]string{"run"}, set...)...)
		want := digests(result(b.T, b.dir, b.env, "euler"))
		if r := b.verify(codeDone, "euler"); !r.Complete || r.Reopened || len(r.Sweeps) != 2 {
			b.Errorf("verify of what is sound: %+v", r)
		} else {
			for _, s := range r.Sweeps {
				if len(s.Checked) == 0 || s.Checked[0].Cells == 0 {
					b.Errorf("of %s nothing was computed again", s.Name)
				}
			}
		}

		// A flipped byte in a value that is also cut short, a deleted one, a point
		// with another digit, one with a letter in it, one that is gone.
		b.harm("euler", func(ctx context.Context, prefix string, st *opened) {
			c := st.Client()
			v, err := c.Get(ctx, prefix+"val:hopping:0").Result()
			for _, err := range []error{
				err,
				c.Set(ctx, prefix+"val:hopping:0", v[:4*3949+2], 0).Err(),     // within n = 3950
				c.SetRange(ctx, prefix+"val:hopping:0", 4*19+3, "\x05").Err(), // M(20) = 4
				c.Del(ctx, prefix+"val:hopping:1").Err(),                      // n = 4001…4100
				c.HSet(ctx, prefix+"points:bezout", "100", "2044").Err(),      // W(100) = 2043
				c.HSet(ctx, prefix+"points:bezout", "1000", "20x").Err(),
				c.HDel(ctx, prefix+"points:bezout", "40").Err(), // lost, not damaged
			} {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		r := b.verify(codeMismatch, "euler", "--sample", "0")
		var out bytes.Buffer
		if err := r.print(&out); err != nil {
			b.Fatal(err)
		}
		for _, want := range []string{"✗ hopping n = 3951…4000: its bytes are missing", "✗ bezout n = 100: its CRC-32C is", "✗ bezout n = 1000: "} {
			if !strings.Contains(out.String(), want) {
				b.Errorf("no %q in\n%s", want, out.String())
			}
		}
		if err := r.outcome(); !strings.Contains(err.Error(), "7 cells do not hold and 1 n is lost") {
			b.Errorf("verify says %v", err)
		}
		if s := b.state(); s.State != jobs.Running || s.percent() >= 100 {
			b.Errorf("before the repair the run is %s with %.1f %%", s.State, s.percent())
		}
		damaged, _ := found(r, "hopping")
		blocks := []string{"1-50", "3901-3950", "3951-4000"}
		for n := 4001; n < 4100; n += 50 {
			blocks = append(blocks, fmt.Sprintf("%d-%d", n, n+49))
		}
		if !slices.Equal(damaged, blocks) {
			b.Errorf("hopping: found %v", damaged)
		}
		if damaged, _ := found(r, "bezout"); !slices.Equal(damaged, []string{"100-100", "1000-1000"}) || r.Sweeps[1].Missing != 1 || !r.Sweeps[1].Lost {
			b.Errorf("bezout: found %v, %+v", damaged, r.Sweeps[1])
		}
		b.repaired(want, set...)

		// The keys of an old backup under the manifest of now.
		b.harm("euler", func(ctx context.Context, prefix string, st *opened) {
			for key, v := range old {
				if err := st.Client().Set(ctx, prefix+key, v, 0).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		r = b.verify(codeMismatch, "euler", "--sample", "0")
		if s := r.Sweeps[0]; s.Missing != 200 || !s.Lost || len(s.Damaged) != 0 || !r.Reopened {
			b.Errorf("old backup: %+v", s)
		}
		b.repaired(want, set...)
	})
}

// TestVerifyFindsWrongValues: a wrong value under a CRC that fits it shows in
// the digest, and computing everything again finds its cell.
func TestVerifyFindsWrongValues(t *testing.T) {
	t.Parallel()
	onBoth(t, func(b *bench) {
		b.call(codeDone, "run")
		want := digests(result(b.T, b.dir, b.env, "euler"))
		b.harm("euler", func(ctx context.Context, prefix string, st *opened) {
			c := st.Client()
			v, err := c.GetRange(ctx, prefix+"val:hopping:0", 4*500, 4*550-1).Result() // n = 501…550
			if err != nil {
				b.Fatal(err)
			}
			data := []byte(v)
			data[4*27+3] ^= 1 // n = 528
			crc := binary.BigEndian.AppendUint32(nil, jobs.CRC(data))
			if err := c.SetRange(ctx, prefix+"val:hopping:0", 4*500, string(data)).Err(); err != nil {
				b.Fatal(err)
			}
			if err := c.SetRange(ctx, prefix+"crc:hopping:0", 4*10, string(crc)).Err(); err != nil {
				b.Fatal(err)
			}
		})
		// The checkpoint to n = 1000 and the digest tell that something is wrong,
		// but not what.
		r := b.verify(codeMismatch, "euler", "--sample", "0")
		if s := r.Sweeps[0]; len(s.Checkpoints) != 1 || s.WasTree == "" || r.Reopened || s.wrong() != 0 {
			b.Errorf("without computing: %+v", s)
		}
		r = b.verify(codeMismatch, "euler", "--sample", "all")
		_, different := found(r, "hopping")
		s := r.Sweeps[0]
		if !slices.Equal(different, []string{"501-550"}) || s.Different[0].At != 528 || !r.Reopened || len(s.Damaged) != 0 {
			b.Errorf("computing everything: %+v", s)
		}
		if len(s.Checked) != 1 || s.Checked[0].Cells != 20 || s.Checked[0].Values != 1000 || !s.Checked[0].Other {
			b.Errorf("hopping was computed again by %+v", s.Checked)
		}
		b.repaired(want)
	})
}

// TestVerifyPart: a run that is not complete holds as far as it goes.
func TestVerifyPart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	// One cell fails, so that the rest is there and the run is not complete.
	call(t, dir, []string{"NSWEEP_TOY_FAIL_AT=77"}, codeFailed, "run", "toy.yaml")
	out, errs := call(t, dir, nil, codeStopped, "verify", "toy", "--sample", "all")
	if !strings.Contains(errs, "holds as far as it goes") || strings.Contains(out, "✗") || !strings.Contains(out, "computed again by again") {
		t.Errorf("verify says\n%s\n%s", out, errs)
	}
	_, errs = call(t, dir, []string{"NSWEEP_TOY_WRONG_EVERY=4000"}, codeMismatch, "verify", "toy", "--sample", "all", "--algorithm", "plain")
	if !strings.Contains(errs, "1 cell does not hold") {
		t.Errorf("a value that is computed as another one: %s", errs)
	}
	call(t, dir, nil, codeDone, "run", "toy.yaml")
	for _, bad := range [][]string{{"--sample", "3"}, {"--sample", "101%"}, {"--algorithm", "nosuch"}} {
		call(t, dir, nil, codeUsage, append([]string{"verify", "toy"}, bad...)...)
	}
	call(t, dir, nil, codeFailed, "verify", "nosuch")
}

// TestVerifyRecords: under keep: sums the records are proven and compared.
func TestVerifyRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	call(t, dir, nil, codeDone, "run", "--set", "sweeps.hopping.keep=sums", "--set", "sweeps.bezout=null")
	r := callJSON[verifyReport](t, dir, nil, codeDone, "verify", "euler", "--sample", "all", "--json")
	if s := r.Sweeps[0]; s.wrong() != 0 || len(s.Checked) != 1 || s.Checked[0].Values != aggregator.Int(1000) {
		t.Errorf("%+v", s)
	}
}
