package store_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/embedredis"
	"github.com/nsweep/nsweep/internal/leaks"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// killDir tells the test binary to be the child of TestKill.
const killDir = "NSWEEP_TEST_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		fmt.Fprintln(os.Stderr, commitForever(dir))
		os.Exit(1)
	}
	if os.Getenv("NSWEEP_SOAK") == "" {
		// Every round of the random tests talks to a server; a flag on the
		// command line goes before this.
		if err := flag.Set("rapid.checks", "25"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	leaks.Main(m)
}

var killSweep = jobs.Sweep{
	Name: "s", Engine: "test", Version: 1, Keep: jobs.KeepValues,
	Set: jobs.Set{Lo: 1, Hi: 200_000_001}, Grid: gridM,
}

// killCells are cells of killSweep with values that tell which n they are of.
func killCells(first, last int64) []jobs.CellValues {
	cells := make([]jobs.CellValues, 0, last-first)
	for i := first; i < last; i++ {
		c, whole := killSweep.Cell(i)
		data := make([]byte, 0, 4*c.Len())
		for n := c.Lo; n < c.Hi; n++ {
			data = binary.BigEndian.AppendUint32(data, uint32(n*2654435761))
		}
		cells = append(cells, jobs.CellValues{Cell: c, Whole: whole, Width: 4, Data: data, CRC: jobs.CRC(data)})
	}
	return cells
}

// killStore opens the embedded store in dir and the run in it.
func killStore(ctx context.Context, dir string) (*store.Store, jobs.Run, func() error, error) {
	m, err := embedredis.Open(embedredis.Options{Dir: dir, Persist: store.Lasting})
	if err != nil {
		return nil, jobs.Run{}, nil, err
	}
	s, err := store.Open(ctx, store.Options{Embedded: true, Dialer: m.Dial})
	if err != nil {
		return nil, jobs.Run{}, nil, errors.Join(err, m.Close())
	}
	end := func() error { return errors.Join(s.Close(), m.Close()) }
	run, err := s.Run(ctx, "r")
	if errors.Is(err, jobs.ErrNoRun) {
		if run, err = s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: []jobs.Sweep{killSweep}}); err == nil {
			err = m.Sync(ctx)
		}
	}
	if err != nil {
		return nil, jobs.Run{}, nil, errors.Join(err, end())
	}
	return s, run, end, nil
}

// commitForever commits open cells in pieces of random size and names each
// piece once it is acknowledged, with the times since the start at which it was
// sent and acknowledged.
func commitForever(dir string) error {
	ctx := context.Background()
	s, run, _, err := killStore(ctx, dir)
	if err != nil {
		return err
	}
	l, err := s.Ledger(ctx, run.ID, killSweep)
	if err != nil {
		return err
	}
	start := time.Now()
	for i := l.NextOpen(0); i < l.Count; {
		to := min(l.NextDone(i), i+1+rand.Int64N(300))
		c := jobs.Commit{Run: run.ID, Sweep: "s", Keep: jobs.KeepValues, Rev: run.Rev, Cells: killCells(i, to), Worker: "w"}
		sent := time.Since(start)
		if _, err := s.Commit(ctx, c); err != nil {
			return err
		}
		if _, err := fmt.Printf("%d %d %d %d\n", i, to, sent.Nanoseconds(), time.Since(start).Nanoseconds()); err != nil {
			return err
		}
		// Leave gaps now and then, for the next child to fill.
		i = l.NextOpen(to + rand.Int64N(3))
	}
	return errors.New("nothing left to commit")
}

// TestKill kills a process that owns an embedded store, again and again, and
// looks at what the next owner finds: everything but what was acknowledged in
// the last second of its writing, and behind every bit the right values.
//
// The second is counted back from when the last acknowledged piece was sent: the
// store let it in after that, and lets in nothing while its file is further
// behind. Counted from the kill, or from the acknowledgement, it would be longer
// on a disk that hangs and on a machine that has other work.
func TestKill(t *testing.T) {
	rounds := 2
	if os.Getenv("NSWEEP_SOAK") != "" {
		rounds = 20
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "data")
	done := map[int64]bool{} // cells that must be there
	for round := range rounds {
		type ack struct {
			first, last int64
			sent, at    time.Duration // since the child's start, by its clock
		}
		var acks []ack
		child := exec.Command(self, "-test.run=^$")
		child.Env = append(os.Environ(), killDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		// At least a few pieces and one flush, then at any moment of the next ones.
		life := 1100*time.Millisecond + time.Duration(rand.Int64N(int64(600*time.Millisecond)))
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var a ack
			if _, err := fmt.Sscan(lines.Text(), &a.first, &a.last, &a.sent, &a.at); err != nil {
				t.Fatalf("child says %q", lines.Text())
			}
			acks = append(acks, a)
			if a.at > life && len(acks) >= 20 {
				break
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it said before it died
		}
		_ = child.Wait() // killed, as intended
		if len(acks) < 20 {
			t.Fatalf("round %d: the child ended by itself after %d commits", round, len(acks))
		}

		s, run, end, err := killStore(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Ledger(ctx, run.ID, killSweep)
		if err != nil {
			t.Fatal(err)
		}
		lost, lastSent := 0, acks[len(acks)-1].sent
		for _, a := range acks {
			for i := a.first; i < a.last; i++ {
				if lastSent-a.at > time.Second {
					done[i] = true
				} else if !l.Done(i) {
					lost++
				}
			}
		}
		for i := range done {
			if !l.Done(i) {
				t.Fatalf("round %d: cell %d was acknowledged more than a second before the last was sent and is lost", round, i)
			}
		}
		const step = 1000
		for i := l.NextDone(0); i < l.Count; i = l.NextDone(i + step) {
			to := min(i+step, l.Count)
			got, err := s.ReadCells(ctx, run.ID, killSweep, i, to)
			if err != nil {
				t.Fatal(err)
			}
			for k, want := range killCells(i, to) {
				if l.Done(i+int64(k)) && (string(got[k].Data) != string(want.Data) || got[k].CRC != want.CRC) {
					t.Fatalf("round %d: cell %d is marked as finished, but its values or CRC are not there", round, i+int64(k))
				}
			}
		}
		counts, err := s.Counts(ctx, run.ID)
		if err != nil || counts["s"].Cells != l.DoneCells() {
			t.Fatalf("round %d: counters %+v, %v; %d cells are finished", round, counts["s"], err, l.DoneCells())
		}
		t.Logf("round %d: %d commits, %d cells finished, %d cells of the last second lost", round, len(acks), l.DoneCells(), lost)
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
}
