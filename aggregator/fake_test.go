package aggregator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// memory is a Reader over values in memory. Cells are encoded when they are
// read, then changed by tamper if that is set.
type memory struct {
	sweep  jobs.Sweep
	value  func(n int64) engine.Int128
	tamper func([]jobs.CellValues) []jobs.CellValues
	points func([]jobs.PointValue) []jobs.PointValue
	// records holds what KeepSums stored; the powers and checks are those of
	// the sweep when it was computed.
	computed jobs.Sweep
	calls    atomic.Int64
	fail     error
}

func newMemory(s jobs.Sweep, value func(n int64) engine.Int128) *memory {
	return &memory{sweep: s, value: value, computed: s}
}

var testID = jobs.RunID{Name: "test", Epoch: "0000000000000"}

func (m *memory) ReadCells(ctx context.Context, id jobs.RunID, s jobs.Sweep, first, last int64) ([]jobs.CellValues, error) {
	m.calls.Add(1)
	if err := errors.Join(ctx.Err(), m.fail); err != nil {
		return nil, err
	}
	if id != testID || s.Name != m.sweep.Name || first >= last {
		return nil, fmt.Errorf("ReadCells(%s, %s, %d, %d)", id, s.Name, first, last)
	}
	var out []jobs.CellValues
	for i := first; i < last; i++ {
		out = append(out, m.cell(i))
	}
	if m.tamper != nil {
		out = m.tamper(out)
	}
	return out, nil
}

func (m *memory) cell(i int64) jobs.CellValues {
	c, whole := m.sweep.Cell(i)
	width := m.sweep.Grid.Width(c.Lo)
	p := engine.Piece{Lo: c.Lo}
	for n := c.Lo; n < c.Hi; n++ {
		p.Wide = append(p.Wide, m.value(n))
	}
	var data []byte
	var err error
	if m.sweep.Keep == jobs.KeepSums {
		var rec *jobs.Recorder
		rec, err = jobs.NewRecorder(c, width, m.computed.Powers(), m.computed.CheckNs())
		if err == nil {
			err = rec.Add(p)
		}
		if err == nil {
			data, err = rec.Encode()
		}
	} else {
		data, err = jobs.AppendValues(nil, width, p)
	}
	if err != nil {
		panic(err)
	}
	return jobs.CellValues{Cell: c, Whole: whole, Width: width, Data: data, CRC: jobs.CRC(data)}
}

func (m *memory) ReadPoints(ctx context.Context, id jobs.RunID, sweep string, ns []int64) ([]jobs.PointValue, error) {
	m.calls.Add(1)
	if err := errors.Join(ctx.Err(), m.fail); err != nil {
		return nil, err
	}
	if id != testID || sweep != m.sweep.Name || len(ns) == 0 {
		return nil, fmt.Errorf("ReadPoints(%s, %s, %v)", id, sweep, ns)
	}
	var out []jobs.PointValue
	for _, n := range ns {
		out = append(out, jobs.NewPoint(n, m.value(n)))
	}
	slices.Reverse(out) // no order is promised
	if m.points != nil {
		out = m.points(out)
	}
	return out, nil
}

// fullLedger has everything of the sweep finished.
func fullLedger(s jobs.Sweep) *jobs.Ledger {
	first, last := s.Cells()
	l := jobs.NewLedger(first, last)
	for i := first; i < last; i++ {
		l.Mark(i)
	}
	for _, n := range s.Set.Points {
		l.MarkPoint(n)
	}
	return l
}

// smallGrid has a border of cell sizes at 4000 and of widths at 8000.
func smallGrid(width, later int) engine.Grid {
	return engine.Grid{Version: 1, Bands: []engine.Band{{Upto: 4000, Cell: 50}, {Upto: engine.MaxN, Cell: 2000}},
		Widths: []engine.WidthBand{{Upto: 8000, Bytes: width}, {Upto: engine.MaxN, Bytes: later}}}
}

func mustSet(lo, hi int64, points ...int64) jobs.Set {
	s, err := jobs.NewSet(lo, hi, points)
	if err != nil {
		panic(err)
	}
	return s
}

// hopping returns M(1) … M(max) by the group recursion on full tables: with
// σ_j(u) = u+j if that is at most n and 0 otherwise, C_{0,j} the identity and
// C_{m,j} = C_{m−1,j} ∘ σ_j ∘ C_{m−1,j+1}, M(n) is the value of the first
// constant C_{s,1}. It shares no code with the engine.
func hopping(max int) []int64 {
	out := make([]int64, max+1)
	for n := 1; n <= max; n++ {
		identity := make([]int, n+1)
		for u := range identity {
			identity[u] = u
		}
		var before [][]int // group s−1
		for s := 0; ; s++ {
			group := [][]int{identity} // row m of group s is C_{m,s−m+1}
			for m := 1; m <= s; m++ {
				j := s - m + 1
				row := make([]int, n+1)
				// Row m−1 of this group has weight s−(m−1)+1 = j+1, that of the
				// group before (s−1)−(m−1)+1 = j.
				first, then := group[m-1], before[m-1]
				for u := range row {
					v := first[u] + j
					if v > n {
						v = 0
					}
					row[u] = then[v]
				}
				group = append(group, row)
			}
			last := group[s]
			if slices.Min(last) == slices.Max(last) {
				out[n] = int64(last[0])
				break
			}
			before = group
		}
	}
	return out
}

// bezout returns W(1) … W(max) by the step form: W grows by φ(n) at even n and
// by (φ(n) − g(n))/2 at odd n ≥ 3, where g(n) is 0 unless all primes of n are
// 3 modulo 4 and ±2^ω(n) by the parity of Ω(n) else.
func bezout(max int) []int64 {
	out := make([]int64, max+1)
	for n := 2; n <= max; n++ {
		phi, g, r := int64(n), int64(1), n
		for p := 2; r > 1; p++ {
			if p*p > r {
				p = r
			}
			if r%p != 0 {
				continue
			}
			phi -= phi / int64(p)
			g *= 2
			for ; r%p == 0; r /= p {
				g = -g
			}
			if p%4 != 3 {
				g = 0
			}
		}
		step := phi
		if n%2 == 1 {
			step = (phi - g) / 2
		}
		out[n] = out[n-1] + step
	}
	return out
}

func of(values []int64) func(n int64) engine.Int128 {
	return func(n int64) engine.Int128 { return engine.Int128From(values[n]) }
}

// mixed is a pseudo-random value of either sign and of up to the given bits.
func mixed(maxBits int) func(n int64) engine.Int128 {
	return func(n int64) engine.Int128 {
		x := uint64(n) * 0x9e3779b97f4a7c15
		hi, lo := bits.Mul64(x, 0xd6e8feb86659fd93)
		v := engine.Int128{Hi: int64(hi), Lo: lo}.Big()
		v.Rsh(v, uint(128-maxBits)+uint(x%7))
		out, _ := engine.Int128FromBig(v)
		return out
	}
}

func bigOf(s string) *big.Int {
	v, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic(s)
	}
	return v
}
