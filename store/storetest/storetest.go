// Package storetest is the conformance suite of package store: what every
// server behind a store must make true, the embedded one and a real Redis.
//
// Package storetest imports engine, jobs and store.
package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
	"github.com/nsweep/nsweep/store"
)

// Run runs the suite. open returns an empty store that lives as long as the
// test it is given.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	tests := map[string]func(*testing.T, *store.Store){
		"runs":                  testRuns,
		"manifest round trip":   testManifest,
		"states":                testStates,
		"result":                testResult,
		"replace":               testReplace,
		"delete and recreate":   testDelete,
		"broken-off deletion":   testGraves,
		"commit and read":       testCommit,
		"commit widths":         testWidths,
		"commit again":          testAgain,
		"overlap":               testOverlap,
		"commit in any order":   testOrders,
		"two committers":        testConcurrent,
		"refused commits":       testRefused,
		"damaged commits":       testDamaged,
		"stale cells":           testStale,
		"dispute kept":          testDisputeKept,
		"dispute replaced":      testDisputeReplaced,
		"dispute of a point":    testDisputePoint,
		"dispute reopened":      testDisputeReopened,
		"damaged CRC":           testDamagedCRC,
		"marks":                 testMarks,
		"marks of points":       testMarksOfPoints,
		"marks of disputes":     testMarksOfDisputes,
		"quarantine":            testQuarantine,
		"quarantine of points":  testQuarantineOfPoints,
		"no quarantine":         testNoQuarantine,
		"quarantine outside":    testQuarantineOutside,
		"quarantine changing":   testQuarantineChanging,
		"reopen cells":          testReopen,
		"reopen points":         testReopenPoints,
		"reopen refused":        testReopenRefused,
		"points":                testPoints,
		"records":               testRecords,
		"records and new plans": testRecordsUpdate,
		"extend and shrink":     testExtend,
		"extend at random":      testExtendRandom,
		"update refusals":       testUpdateRefusals,
		"sweep comes and goes":  testSweepComesBack,
		"tasks":                 testTasks,
		"tasks of ended runs":   testTasksOfEnded,
		"beats":                 testBeats,
		"workers":               testWorkers,
		"leader":                testLeader,
		"failures":              testFailures,
		"engine states":         testEngineStates,
		"provenance":            testProvenance,
		"much provenance":       testProvenanceMany,
		"author of a cell":      testAuthor,
		"note of an author":     testOriginBy,
		"foreign data":          testForeign,
		"missing data":          testMissing,
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) { f(t, open(t)) })
	}
}

// Grid is a grid with three cell sizes, one of them longer than a block, and
// all three widths.
var Grid = engine.Grid{
	Version: 1,
	Bands:   []engine.Band{{Upto: 400_000, Cell: 50}, {Upto: 800_000, Cell: 1000}, {Upto: engine.MaxN, Cell: 20_000}},
	Widths:  []engine.WidthBand{{Upto: 600_000, Bytes: 4}, {Upto: 1_000_000, Bytes: 8}, {Upto: engine.MaxN, Bytes: 16}},
}

// Sweep returns a sweep over lo … hi−1 and points.
func Sweep(t testing.TB, name string, keep jobs.Keep, lo, hi int64, points ...int64) jobs.Sweep {
	t.Helper()
	set, err := jobs.NewSet(lo, hi, points)
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Sweep{Name: name, Engine: "test", Version: 1, Params: engine.Params{"base": 2}, Keep: keep, Set: set, Grid: Grid}
}

// Value is the function that the suite stores: it looks like noise and fits
// the width that the grid has at n.
func Value(n int64) engine.Int128 {
	x := uint64(n) * 0x9E3779B97F4A7C15
	x ^= x >> 29
	switch Grid.Width(n) {
	case 4:
		return engine.Int128From(int64(x >> 32))
	case 8:
		return engine.Int128From(int64(x))
	}
	return engine.Int128{Hi: int64(x), Lo: x * 0xBF58476D1CE4E5B9}
}

// Cells returns the sweep's cells [first, last) with their values.
func Cells(w jobs.Sweep, first, last int64) []jobs.CellValues {
	out := make([]jobs.CellValues, 0, last-first)
	for i := first; i < last; i++ {
		c, whole := w.Cell(i)
		width := w.Grid.Width(c.Lo)
		var p engine.Piece
		for n := c.Lo; n < c.Hi; n++ {
			p.Wide = append(p.Wide, Value(n))
		}
		data, err := jobs.AppendValues(nil, width, p)
		if err != nil {
			panic(err) // Value fits by its definition
		}
		if w.Keep == jobs.KeepSums {
			data = fmt.Appendf(nil, "record of %d…%d: %d", c.Lo, c.Hi-1, jobs.CRC(data))
		}
		out = append(out, jobs.CellValues{Cell: c, Whole: whole, Width: width, Data: data, CRC: jobs.CRC(data)})
	}
	return out
}

// wrong returns the cells with one bit of each turned round, and CRCs to match.
func wrong(cells []jobs.CellValues, bit byte) []jobs.CellValues {
	out := make([]jobs.CellValues, len(cells))
	for i, c := range cells {
		c.Data = append([]byte(nil), c.Data...)
		c.Data[len(c.Data)/2] ^= bit
		c.CRC = jobs.CRC(c.Data)
		out[i] = c
	}
	return out
}

// fixture is a run with one sweep.
type fixture struct {
	*testing.T
	s   *store.Store
	ctx context.Context
	run jobs.Run
}

// newRun creates a run named "r" of the sweeps.
func newRun(t *testing.T, s *store.Store, sweeps ...jobs.Sweep) *fixture {
	t.Helper()
	ctx := context.Background()
	run, err := s.Create(ctx, jobs.Manifest{ID: jobs.RunID{Name: "r"}, Sweeps: sweeps})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{T: t, s: s, ctx: ctx, run: run}
}

func (f *fixture) sweep() jobs.Sweep { return f.run.Sweeps[0] }

// commitOf returns a commit of the first sweep's cells [first, last).
func (f *fixture) commitOf(first, last int64) jobs.Commit {
	w := f.sweep()
	return jobs.Commit{Run: f.run.ID, Sweep: w.Name, Keep: w.Keep, Rev: f.run.Rev, Cells: Cells(w, first, last), Worker: "w1", Task: "t1"}
}

// commit commits and compares the outcome.
func (f *fixture) commit(c jobs.Commit, want jobs.Committed) {
	f.Helper()
	got, err := f.s.Commit(f.ctx, c)
	if err != nil {
		f.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("commit: %+v, want %+v", got, want)
	}
}

// all commits every cell that the sweep has.
func (f *fixture) all() {
	f.Helper()
	first, last := f.sweep().Cells()
	f.commit(f.commitOf(first, last), jobs.Committed{Stored: int(last - first)})
}

func (f *fixture) ledger() *jobs.Ledger {
	f.Helper()
	l, err := f.s.Ledger(f.ctx, f.run.ID, f.sweep())
	if err != nil {
		f.Fatal(err)
	}
	return l
}

// check compares everything stored of the first sweep with the truth: the
// cells that are done hold the right bytes and CRCs, and done says which.
func (f *fixture) check(done func(index int64) bool) {
	f.Helper()
	w := f.sweep()
	first, last := w.Cells()
	l := f.ledger()
	got, err := f.s.ReadCells(f.ctx, f.run.ID, w, first, last)
	if err != nil {
		f.Fatal(err)
	}
	if int64(len(got)) != last-first {
		f.Fatalf("read %d cells of %d", len(got), last-first)
	}
	want := Cells(w, first, last)
	var cells, values int64
	for i, c := range got {
		index := first + int64(i)
		if l.Done(index) != done(index) {
			f.Fatalf("cell %d: done is %v", index, l.Done(index))
		}
		if !l.Done(index) {
			continue
		}
		cells++
		values += c.Cell.Len()
		if c.Cell != want[i].Cell || c.Whole != want[i].Whole || c.Width != want[i].Width {
			f.Fatalf("cell %d: %+v %v %d, want %+v %v %d", index, c.Cell, c.Whole, c.Width, want[i].Cell, want[i].Whole, want[i].Width)
		}
		if string(c.Data) != string(want[i].Data) || c.CRC != want[i].CRC {
			f.Fatalf("cell %d (%d…%d): stored bytes or CRC differ", index, c.Cell.Lo, c.Cell.Hi-1)
		}
	}
	counts, err := f.s.Counts(f.ctx, f.run.ID)
	if err != nil {
		f.Fatal(err)
	}
	if c := counts[w.Name]; c.Cells != cells || c.Values != values {
		f.Fatalf("counters %+v, want %d cells and %d values", c, cells, values)
	}
}

func always(int64) bool { return true }
