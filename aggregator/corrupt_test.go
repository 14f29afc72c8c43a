package aggregator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

func corruptSweep(keep jobs.Keep) jobs.Sweep {
	return jobs.Sweep{Name: "x", Keep: keep, Set: mustSet(11, 1001, 3, 5000), Grid: smallGrid(4, 8), Sums: []int{1}}
}

// TestDamagedCellIsFound damages the cell n = 501…550 in each way.
func TestDamagedCellIsFound(t *testing.T) {
	at := func(c []jobs.CellValues, f func(*jobs.CellValues)) []jobs.CellValues {
		for i := range c {
			if c[i].Cell.Lo == 501 {
				c[i].Data = slices.Clone(c[i].Data)
				f(&c[i])
			}
		}
		return c
	}
	index := func(c []jobs.CellValues) int {
		return slices.IndexFunc(c, func(c jobs.CellValues) bool { return c.Cell.Lo == 501 })
	}
	for name, damage := range map[string]func(c []jobs.CellValues) []jobs.CellValues{
		"a flipped bit": func(c []jobs.CellValues) []jobs.CellValues {
			return at(c, func(c *jobs.CellValues) { c.Data[17] ^= 4 })
		},
		"another CRC": func(c []jobs.CellValues) []jobs.CellValues {
			return at(c, func(c *jobs.CellValues) { c.CRC ^= 1 << 31 })
		},
		"no bytes": func(c []jobs.CellValues) []jobs.CellValues {
			return at(c, func(c *jobs.CellValues) { c.Data, c.CRC = nil, 0 })
		},
		"zeros": func(c []jobs.CellValues) []jobs.CellValues {
			return at(c, func(c *jobs.CellValues) { clear(c.Data); c.CRC = 0 })
		},
		"cut short": func(c []jobs.CellValues) []jobs.CellValues {
			return at(c, func(c *jobs.CellValues) { c.Data = c.Data[:len(c.Data)-4]; c.CRC = jobs.CRC(c.Data) })
		},
		"left out": func(c []jobs.CellValues) []jobs.CellValues {
			i := index(c)
			return slices.Delete(c, i, i+1)
		},
		"the answer ends": func(c []jobs.CellValues) []jobs.CellValues { return c[:index(c)] },
		"swapped cells": func(c []jobs.CellValues) []jobs.CellValues {
			i := index(c)
			c[i], c[i+1] = c[i+1], c[i]
			return c
		},
		"swapped bytes": func(c []jobs.CellValues) []jobs.CellValues {
			i := index(c)
			c[i].Data, c[i+1].Data = c[i+1].Data, c[i].Data
			return c
		},
	} {
		for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
			s := corruptSweep(keep)
			r, l := newMemory(s, engine.Int128From), fullLedger(s)
			r.tamper = damage
			f := NewFold(testID, s)
			err := f.Advance(context.Background(), r, l)
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || corrupt.Cell.Lo != 501 || corrupt.Cell.Hi != 551 || corrupt.N != 0 {
				t.Errorf("%s, %s: %v", keep, name, err)
				continue
			}
			if !strings.Contains(err.Error(), "sweep x: stored cell n = 501…550 is corrupt: ") {
				t.Errorf("%s, %s: %v", keep, name, err)
			}
			if got := f.Result().Done; got != 491 {
				t.Errorf("%s, %s: %d n are folded, want the 491 before the damage", keep, name, got)
			}
			r.tamper = nil // the cell was repaired
			mustAdvance(t, f, r, l)
			if got, want := f.Result(), plain(s, engine.Int128From); got.Tree != want.Tree || got.Sums[0] != want.Sums[0] {
				t.Errorf("%s, %s: after the repair %v, want %v", keep, name, got, want)
			}
		}
	}
}

// TestRecordOfAnotherCell moves a whole record with its CRC, which for plain
// values only the digests could tell.
func TestRecordOfAnotherCell(t *testing.T) {
	s := corruptSweep(jobs.KeepSums)
	r := newMemory(s, engine.Int128From)
	r.tamper = func(c []jobs.CellValues) []jobs.CellValues {
		c[5].Data, c[5].CRC, c[6].Data, c[6].CRC = c[6].Data, c[6].CRC, c[5].Data, c[5].CRC
		return c
	}
	var corrupt *CorruptError
	if err := NewFold(testID, s).Advance(context.Background(), r, fullLedger(s)); !errors.As(err, &corrupt) || corrupt.Cell.Lo != 251 {
		t.Errorf("Advance = %v", err)
	}
	r.tamper = func(c []jobs.CellValues) []jobs.CellValues {
		c[5].Data[0], c[5].CRC = 9, 0
		c[5].CRC = jobs.CRC(c[5].Data)
		return c
	}
	if err := NewFold(testID, s).Advance(context.Background(), r, fullLedger(s)); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "format 9") {
		t.Errorf("Advance = %v", err)
	}
}

func TestDamagedPointIsFound(t *testing.T) {
	for name, damage := range map[string]func(p []jobs.PointValue) []jobs.PointValue{
		"another value": func(p []jobs.PointValue) []jobs.PointValue {
			for i := range p {
				if p[i].N == 5000 {
					p[i].Value.Lo++
				}
			}
			return p
		},
		"another CRC": func(p []jobs.PointValue) []jobs.PointValue {
			for i := range p {
				if p[i].N == 5000 {
					p[i].CRC++
				}
			}
			return p
		},
		"missing": func(p []jobs.PointValue) []jobs.PointValue {
			return slices.DeleteFunc(p, func(p jobs.PointValue) bool { return p.N == 5000 })
		},
		"two values": func(p []jobs.PointValue) []jobs.PointValue {
			if slices.ContainsFunc(p, func(p jobs.PointValue) bool { return p.N == 5000 }) {
				p = append(p, jobs.NewPoint(5000, engine.Int128From(1)))
			}
			return p
		},
	} {
		s := corruptSweep(jobs.KeepValues)
		s.Set = mustSet(11, 1001, 3, 4000, 5000, 6000)
		r, l := newMemory(s, engine.Int128From), fullLedger(s)
		r.points = damage
		f := NewFold(testID, s)
		err := f.Advance(context.Background(), r, l)
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.N != 5000 || !strings.Contains(err.Error(), "sweep x: stored value at n = 5000 is corrupt: ") {
			t.Errorf("%s: %v", name, err)
		}
		if got := f.Result().Done; got != 992 {
			t.Errorf("%s: %d n are folded, want 992", name, got)
		}
		r.points = nil
		mustAdvance(t, f, r, l)
		if got, want := f.Result(), plain(s, engine.Int128From); got.Text != want.Text {
			t.Errorf("%s: after the repair %v, want %v", name, got, want)
		}
	}
}

// TestLookAheadChecks damages a cell that only a checkpoint out of order reads.
func TestLookAheadChecks(t *testing.T) {
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		s := corruptSweep(keep)
		s.Checkpoints = []jobs.Checkpoint{value(520, "520"), value(5000, "5000")}
		r := newMemory(s, engine.Int128From)
		l := jobs.NewLedger(s.Cells())
		l.Mark(s.Grid.CellAt(520).Index)
		r.tamper = func(c []jobs.CellValues) []jobs.CellValues { c[0].Data[3] ^= 1; return c }
		f := NewFold(testID, s)
		var corrupt *CorruptError
		if err := f.Advance(context.Background(), r, l); !errors.As(err, &corrupt) || corrupt.Cell.Lo != 501 {
			t.Errorf("%s: %v", keep, err)
		}
		r.tamper = nil
		l.MarkPoint(5000)
		r.points = func([]jobs.PointValue) []jobs.PointValue { return nil }
		if err := f.Advance(context.Background(), r, l); !errors.As(err, &corrupt) || corrupt.N != 5000 {
			t.Errorf("%s: %v", keep, err)
		}
		r.points = nil
		mustAdvance(t, f, r, l)
		if ok, _, _ := f.Result().Checks(); ok != 2 {
			t.Errorf("%s: %v", keep, f.Result().Checkpoints)
		}
	}
}

// TestRecordLacks asks records for what they were not made with.
func TestRecordLacks(t *testing.T) {
	s := corruptSweep(jobs.KeepSums)
	for name, change := range map[string]func(*jobs.Sweep){
		"n = 11…50, made earlier, holds no sum of power 2":     func(s *jobs.Sweep) { s.Sums = []int{1, 2} },
		"n = 501…550, made earlier, holds no state at n = 520": func(s *jobs.Sweep) { s.Checkpoints = []jobs.Checkpoint{sumOf(1, 520, "1")} },
	} {
		r := newMemory(s, engine.Int128From)
		asked := s
		change(&asked)
		var lack *LackError
		f := NewFold(testID, asked)
		err := f.Advance(context.Background(), r, fullLedger(s))
		if !errors.As(err, &lack) || !strings.Contains(err.Error(), name) {
			t.Errorf("Advance = %v, want %q", err, name)
		}
	}
	// The ends of a cell need no check made beforehand.
	asked := s
	asked.Checkpoints = []jobs.Checkpoint{sumOf(1, 550, "151473"), sumOf(1, 551, "152024"), value(11, "11"), value(50, "50"), sumOf(1, 700, "245298")}
	r := newMemory(s, engine.Int128From)
	if err := NewFold(testID, asked).Advance(context.Background(), r, fullLedger(s)); err != nil {
		t.Error(err)
	}
}
