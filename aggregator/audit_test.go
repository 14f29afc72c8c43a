package aggregator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// audit returns what Audit finds, one "first n: why" each, and how much it saw.
func audit(t *testing.T, r Reader, s jobs.Sweep, l *jobs.Ledger) ([]string, int64) {
	t.Helper()
	var found []string
	looked, err := Audit(context.Background(), r, testID, s, l, func(d Damage) error {
		found = append(found, fmt.Sprintf("%d: %s", max(d.Cell.Lo, d.N), d.Why))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, looked
}

// TestAuditGoesOn damages four cells and a point in different ways: all of them
// are found, and nothing else.
func TestAuditGoesOn(t *testing.T) {
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		s := corruptSweep(keep)
		m, l := newMemory(s, engine.Int128From), fullLedger(s)
		if found, looked := audit(t, m, s, l); len(found) != 0 || looked != s.CellCount() {
			t.Fatalf("%s: of what is sound it finds %q, looking at %d", keep, found, looked)
		}
		m.tamper = func(cells []jobs.CellValues) []jobs.CellValues {
			for i := range cells {
				cells[i].Data = slices.Clone(cells[i].Data)
				switch cells[i].Cell.Lo {
				case 11:
					cells[i].Data[3] ^= 1
				case 101:
					cells[i].Data = nil
				case 151:
					cells[i].CRC++
				}
			}
			return slices.DeleteFunc(cells, func(c jobs.CellValues) bool { return c.Cell.Lo == 951 })
		}
		found, looked := audit(t, m, s, l)
		if len(found) != 4 || looked != s.CellCount() || !strings.HasPrefix(found[0], "11: its CRC-32C") ||
			!strings.HasPrefix(found[1], "101: its bytes are missing") || !strings.HasPrefix(found[2], "151: its CRC-32C") ||
			!strings.HasPrefix(found[3], "951: it is missing") {
			t.Errorf("%s: found %q, looking at %d", keep, found, looked)
		}
	}
}

// TestAuditOfPart: what is not finished is not damaged.
func TestAuditOfPart(t *testing.T) {
	s := corruptSweep(jobs.KeepValues)
	m, l := newMemory(s, engine.Int128From), jobs.NewLedger(s.Cells())
	first, last := s.Cells()
	l.Mark(first)
	l.Mark(last - 1)
	l.MarkPoint(3)
	m.tamper = func(cells []jobs.CellValues) []jobs.CellValues { return nil }
	found, looked := audit(t, m, s, l)
	if looked != 3 || len(found) != 2 || !strings.HasPrefix(found[0], "11: ") || !strings.HasPrefix(found[1], "951: ") {
		t.Errorf("found %q, looking at %d", found, looked)
	}
	if g := Gap(s, l); g == nil || g.Lo != 51 || g.Missing != 990-40-50+1 {
		t.Errorf("gap %+v", g)
	}
	if g := Gap(s, fullLedger(s)); g != nil {
		t.Errorf("gap %+v in what is complete", g)
	}
}

// unreadable fails to read one cell and one point, whatever comes with them.
type unreadable struct {
	Reader
	index, point int64
	err          error
}

func (u unreadable) ReadCells(ctx context.Context, id jobs.RunID, s jobs.Sweep, first, last int64) ([]jobs.CellValues, error) {
	if first <= u.index && u.index < last {
		return nil, u.err
	}
	return u.Reader.ReadCells(ctx, id, s, first, last)
}

func (u unreadable) ReadPoints(ctx context.Context, id jobs.RunID, sweep string, ns []int64) ([]jobs.PointValue, error) {
	if slices.Contains(ns, u.point) {
		return nil, u.err
	}
	return u.Reader.ReadPoints(ctx, id, sweep, ns)
}

// TestAuditUnreadable: an answer that cannot be read is damage of the one cell
// or point; a store that does not answer is an error.
func TestAuditUnreadable(t *testing.T) {
	s := corruptSweep(jobs.KeepValues)
	first, _ := s.Cells()
	u := unreadable{newMemory(s, engine.Int128From), first + 2, 5000, jobs.Lasting(errors.New("no number"))}
	found, looked := audit(t, u, s, fullLedger(s))
	if len(found) != 2 || found[0] != "101: no number" || !strings.HasSuffix(found[1], "no number") || !strings.HasPrefix(found[1], "5000: ") || looked != s.CellCount() {
		t.Errorf("found %q, looking at %d", found, looked)
	}
	u.err = errors.New("gone")
	if _, err := Audit(context.Background(), u, testID, s, fullLedger(s), func(Damage) error { return nil }); !errors.Is(err, u.err) {
		t.Errorf("a store that is gone: %v", err)
	}
}

// TestAuditOldRecords: a record without a sum that is asked for is damage.
func TestAuditOldRecords(t *testing.T) {
	s := corruptSweep(jobs.KeepSums)
	m, l := newMemory(s, engine.Int128From), fullLedger(s)
	s.Sums = []int{1, 2}
	found, _ := audit(t, m, s, l)
	if len(found) != 20 || found[0] != "11: its record, made earlier, holds no sum of power 2" {
		t.Errorf("found %q", found)
	}
	s.Sums = []int{1}
	s.Checkpoints = []jobs.Checkpoint{{N: 77, Want: bigOf("77")}}
	found, _ = audit(t, m, s, l)
	if len(found) != 1 || found[0] != "51: its record, made earlier, holds no checkpoint at n = 77" {
		t.Errorf("found %q", found)
	}
}
