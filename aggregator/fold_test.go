package aggregator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/leaks"
	"github.com/nsweep/nsweep/jobs"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// plain is what a fold must find of a finished sweep, computed with a loop over
// big integers, one string and crypto/sha256 alone.
func plain(s jobs.Sweep, value func(n int64) engine.Int128) SweepResult {
	r := SweepResult{Name: s.Name, Engine: s.Engine, Version: s.Version, Params: s.Params, Algorithm: s.Algorithm, Keep: s.Keep,
		Grid: s.Grid.Version, N: s.Set.String(), Complete: true}
	var ns []int64
	below, above := s.Set.Split()
	ns = append(ns, below...)
	for n := s.Set.Lo; n < s.Set.Hi; n++ {
		ns = append(ns, n)
	}
	ns = append(ns, above...)
	r.Count, r.Done = Int(len(ns)), Int(len(ns))
	sumTo := func(power int, to int64) *big.Int {
		sum := new(big.Int)
		for _, n := range ns {
			if n <= to {
				sum.Add(sum, new(big.Int).Exp(value(n).Big(), big.NewInt(int64(power)), nil))
			}
		}
		return sum
	}
	for _, p := range s.Sums {
		r.Sums = append(r.Sums, PowerSum{p, sumTo(p, math.MaxInt64).String()})
	}
	for _, c := range s.Checkpoints {
		got := value(c.N).Big()
		if c.Power > 0 {
			got = sumTo(c.Power, c.N)
		}
		out := CheckResult{N: Int(c.N), Power: c.Power, Want: c.Want.String(), Got: got.String(), Status: OK}
		if out.Got != out.Want {
			out.Status = Mismatch
		}
		r.Checkpoints = append(r.Checkpoints, out)
	}
	var text, tree strings.Builder
	var cell []byte
	for i, n := range ns {
		v := value(n)
		fmt.Fprintf(&text, "%d %s\n", n, v)
		at := &ValueAt{Int(n), v.String()}
		if i == 0 {
			r.First, r.Min, r.Max = at, at, at
		}
		if v.Big().Cmp(bigOf(r.Min.Value)) < 0 {
			r.Min = at
		}
		if v.Big().Cmp(bigOf(r.Max.Value)) > 0 {
			r.Max = at
		}
		r.Last = at
		lo, hi, width := n, n+1, 16
		if n >= s.Set.Lo && n < s.Set.Hi {
			c := s.Grid.CellAt(n)
			lo, hi, width = max(c.Lo, s.Set.Lo), min(c.Hi, s.Set.Hi), s.Grid.Width(n)
		}
		bits := new(big.Int).And(v.Big(), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*width)), big.NewInt(1)))
		cell = append(cell, bits.FillBytes(make([]byte, width))...)
		if n == hi-1 {
			fmt.Fprintf(&tree, "%d %d %x\n", lo, hi-1, sha256.Sum256(cell))
			cell = nil
		}
	}
	if s.Keep != jobs.KeepSums {
		r.Text = hexSum(text.String())
	}
	r.Tree = hexSum(tree.String())
	return r
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func mustAdvance(t rapid.TB, f *Fold, r Reader, l *jobs.Ledger) {
	t.Helper()
	if err := f.Advance(context.Background(), r, l); err != nil {
		t.Fatal(err)
	}
}

func value(n int64, want string) jobs.Checkpoint { return jobs.Checkpoint{N: n, Want: bigOf(want)} }

func sumOf(power int, n int64, want string) jobs.Checkpoint {
	return jobs.Checkpoint{N: n, Power: power, Want: bigOf(want)}
}

// TestHopping folds M(1…1000), in the long tests M(1…2000), and finds the known sums of cubes, the known
// values, and the published SHA-256 of the lines "n M(n)" for n ≤ 1000.
func TestHopping(t *testing.T) {
	max := int64(1000)
	if os.Getenv("NSWEEP_SOAK") != "" {
		max = 2000
	}
	values := hopping(int(max))
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		for to, want := range map[int64]string{20: "8150", 100: "5642811", 1000: "61029882288", 2000: "1005494239260"} {
			if to > max {
				continue
			}
			s := jobs.Sweep{Name: "m", Engine: "hopping", Version: 1, Keep: keep, Set: mustSet(1, to+1), Grid: smallGrid(4, 8), Sums: []int{3},
				Checkpoints: []jobs.Checkpoint{value(2, "2"), value(7, "1"), value(20, "4"), sumOf(3, 20, "8150"), sumOf(3, to, want)}}
			f := NewFold(testID, s)
			mustAdvance(t, f, newMemory(s, of(values)), fullLedger(s))
			r := f.Result()
			if !r.Complete || r.Sums[0] != (PowerSum{3, want}) {
				t.Errorf("%s to %d: sums %v, want %s", keep, to, r.Sums, want)
			}
			if ok, _, _ := r.Checks(); ok != 5 {
				t.Errorf("%s to %d: checkpoints %v", keep, to, r.Checkpoints)
			}
			const published = "ea7c1965ffd89d7e698e85c1438bf5579623e6b3d7ad7121764d8e85d298d470"
			if to == 1000 && keep == jobs.KeepValues && r.Text != published {
				t.Errorf("text digest to 1000 is %s, want %s", r.Text, published)
			}
			if keep == jobs.KeepSums && r.Text != "" {
				t.Errorf("text digest %s without values", r.Text)
			}
		}
	}
}

// TestBezout folds W(1…10000) and finds the published SHA-256 of its lines.
func TestBezout(t *testing.T) {
	s := jobs.Sweep{Name: "w", Engine: "bezout", Version: 1, Keep: jobs.KeepValues, Set: mustSet(1, 10_001), Grid: smallGrid(8, 16), Sums: []int{1},
		Checkpoints: []jobs.Checkpoint{value(1, "0"), value(4, "5"), value(100, "2043"), value(220, "9843"), value(1000, "202869"), value(10_000, "20265829")}}
	f := NewFold(testID, s)
	mustAdvance(t, f, newMemory(s, of(bezout(10_000))), fullLedger(s))
	r := f.Result()
	const published = "57ec9765c342735e5348b199de144872c266c8405dabf1a6188d3e1926572459"
	if r.Text != published {
		t.Errorf("text digest is %s, want %s", r.Text, published)
	}
	if ok, _, _ := r.Checks(); ok != 6 {
		t.Errorf("checkpoints %v", r.Checkpoints)
	}
	if r.Min.N != 1 || r.Max.N != 10_000 {
		t.Errorf("extremes at %d and %d", r.Min.N, r.Max.N)
	}
}

// TestSumAtBorders holds sums on both sides of 2^63 and 2^64, from values whose
// sum is known.
func TestSumAtBorders(t *testing.T) {
	for _, c := range []struct {
		v     int64
		power int
		want  string // 4 v^power
	}{
		{1<<61 - 1, 1, "9223372036854775804"}, {1 << 61, 1, "9223372036854775808"}, {1<<62 - 1, 1, "18446744073709551612"},
		{1 << 62, 1, "18446744073709551616"}, {-1 << 61, 1, "-9223372036854775808"}, {-1<<61 - 1, 1, "-9223372036854775812"},
		{-1 << 63, 1, "-36893488147419103232"}, {-1 << 63, 3, "-3138550867693340381917894711603833208051177722232017256448"},
		{1 << 21, 3, "36893488147419103232"}, {1 << 42, 3, "340282366920938463463374607431768211456"},
	} {
		s := jobs.Sweep{Name: "x", Keep: jobs.KeepValues, Set: mustSet(1, 5), Grid: smallGrid(8, 8), Sums: []int{c.power},
			Checkpoints: []jobs.Checkpoint{sumOf(c.power, 4, c.want)}}
		f := NewFold(testID, s)
		mustAdvance(t, f, newMemory(s, func(int64) engine.Int128 { return engine.Int128From(c.v) }), fullLedger(s))
		if got := f.Result().Sums[0].Value; got != c.want {
			t.Errorf("4·(%d)^%d = %s, want %s", c.v, c.power, got, c.want)
		}
	}
}

// TestCubesPass63Bits sums the cubes of v(n) = n over 1…110000, whose closed
// form is (N(N+1)/2)², beyond 2^63 from N = 77936 on.
func TestCubesPass63Bits(t *testing.T) {
	grid := engine.Grid{Version: 1, Bands: []engine.Band{{Upto: engine.MaxN, Cell: 2000}}, Widths: []engine.WidthBand{{Upto: engine.MaxN, Bytes: 4}}}
	s := jobs.Sweep{Name: "x", Keep: jobs.KeepValues, Set: mustSet(1, 110_001), Grid: grid, Sums: []int{3}}
	for _, n := range []int64{77_935, 77_936, 92_681, 92_682, 110_000} {
		sum := new(big.Int).Mul(big.NewInt(n), big.NewInt(n+1))
		sum.Rsh(sum, 1)
		s.Checkpoints = append(s.Checkpoints, jobs.Checkpoint{N: n, Power: 3, Want: sum.Mul(sum, sum)})
	}
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		s.Keep = keep
		f := NewFold(testID, s)
		mustAdvance(t, f, newMemory(s, engine.Int128From), fullLedger(s))
		if ok, _, _ := f.Result().Checks(); ok != len(s.Checkpoints) {
			t.Errorf("%s: %v", keep, f.Result().Checkpoints)
		}
	}
}

// drawSweep draws a sweep over up to a few thousand n with points, checkpoints
// (all of them met) and sums, and a function for its values.
func drawSweep(t *rapid.T) (jobs.Sweep, func(n int64) engine.Int128) {
	width := rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "width")
	later := rapid.SampledFrom([]int{8, 16}).Draw(t, "later")
	later = max(later, width)
	v := mixed(map[int]int{4: 64, 8: 64, 16: 128}[width])
	if width == 4 {
		wide := v
		v = func(n int64) engine.Int128 { return engine.Int128{Lo: wide(n).Lo >> 32} }
	}
	lo := rapid.Int64Range(1, 8100).Draw(t, "lo")
	hi := lo + rapid.Int64Range(0, 2000).Draw(t, "len")
	points := rapid.SliceOfN(rapid.Int64Range(1, 20_000), 0, 30).Draw(t, "points")
	if hi == lo {
		points = append(points, 7)
	}
	s := jobs.Sweep{Name: "x", Engine: "e", Version: 2, Params: engine.Params{"base": 2}, Set: mustSet(lo, hi, points...), Grid: smallGrid(width, later),
		Keep: rapid.SampledFrom([]jobs.Keep{jobs.KeepValues, jobs.KeepSums}).Draw(t, "keep")}
	powers := rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 0, 3, rapid.ID[int]).Draw(t, "sums")
	for p := 1; p <= 5; p++ {
		for _, q := range powers {
			if p == q {
				s.Sums = append(s.Sums, p)
			}
		}
	}
	for range rapid.IntRange(0, 6).Draw(t, "checkpoints") {
		c := jobs.Checkpoint{Power: rapid.IntRange(0, 4).Draw(t, "power")}
		if s.Set.Dense() && rapid.Bool().Draw(t, "dense") {
			c.N = rapid.Int64Range(s.Set.Lo, s.Set.Hi-1).Draw(t, "n")
		} else if len(s.Set.Points) > 0 {
			c.N = rapid.SampledFrom(s.Set.Points).Draw(t, "n")
		} else {
			c.N = s.Set.Lo
		}
		s.Checkpoints = append(s.Checkpoints, c)
	}
	return s, v
}

// meet sets what every checkpoint wants to what a plain loop finds.
func meet(s *jobs.Sweep, v func(n int64) engine.Int128) SweepResult {
	for i := range s.Checkpoints {
		s.Checkpoints[i].Want = new(big.Int)
	}
	r := plain(*s, v)
	for i := range r.Checkpoints {
		c := &r.Checkpoints[i]
		c.Want, c.Status = c.Got, OK
		s.Checkpoints[i].Want = bigOf(c.Got)
	}
	return r
}

// TestAnyScheduleGivesThePlainLoop finishes cells and points in any order, with
// an Advance after any of them.
func TestAnyScheduleGivesThePlainLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, v := drawSweep(t)
		want := meet(&s, v)
		first, last := s.Cells()
		l := jobs.NewLedger(first, last)
		type item struct {
			cell  bool
			index int64
		}
		var items []item
		for i := first; i < last; i++ {
			items = append(items, item{true, i})
		}
		for _, n := range s.Set.Points {
			items = append(items, item{false, n})
		}
		items = rapid.Permutation(items).Draw(t, "order")
		f, r := NewFold(testID, s), newMemory(s, v)
		for _, it := range items {
			if it.cell {
				l.Mark(it.index)
			} else {
				l.MarkPoint(it.index)
			}
			if rapid.IntRange(0, 3).Draw(t, "advance") == 0 {
				mustAdvance(t, f, r, l)
			}
		}
		mustAdvance(t, f, r, l)
		if got := f.Result(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		calls := r.calls.Load()
		mustAdvance(t, f, r, l)
		if r.calls.Load() != calls {
			t.Fatal("Advance read something though nothing is new")
		}
	})
}

// TestPrefixOnly holds that a result never covers what lies behind a gap, and
// that a value checkpoint there is looked up all the same.
func TestPrefixOnly(t *testing.T) {
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		s := jobs.Sweep{Name: "x", Keep: keep, Set: mustSet(101, 1001, 3, 5000), Grid: smallGrid(4, 8), Sums: []int{1},
			Checkpoints: []jobs.Checkpoint{value(777, "777"), sumOf(1, 150, "6278"), sumOf(1, 200, "15053"), value(5000, "5000"), value(778, "778"), sumOf(1, 2000, "495453")}}
		r := newMemory(s, engine.Int128From)
		f := NewFold(testID, s)
		first, last := s.Cells()
		l := jobs.NewLedger(first, last)
		statuses := func() (out string) {
			for _, c := range f.Result().Checkpoints {
				out += string(c.Status[0])
			}
			return out
		}
		step := func(done Int, sum, checks string) {
			t.Helper()
			mustAdvance(t, f, r, l)
			got := f.Result()
			if got.Done != done || got.Sums[0].Value != sum || statuses() != checks || got.Complete != (done == 902) || (got.Tree != "") != got.Complete {
				t.Errorf("%s: done %d, sum %s, checks %s, complete %v, want %d, %s, %s", keep, got.Done, got.Sums[0].Value, statuses(), got.Complete, done, sum, checks)
			}
		}
		step(0, "0", "pppppp")
		l.Mark(s.Grid.CellAt(777).Index)
		step(0, "0", "opppop")
		l.Mark(s.Grid.CellAt(101).Index)
		step(0, "0", "opppop")
		l.MarkPoint(5000)
		step(0, "0", "oppoop")
		l.MarkPoint(3)
		step(51, "6278", "oopoop")
		l.Mark(s.Grid.CellAt(151).Index)
		step(101, "15053", "ooooop")
		for i := first; i < last; i++ {
			l.Mark(i)
		}
		step(902, "500453", "oooooo") // 3 + Σ 101…1000 = 495450, and 5000
	}
}

func TestMismatch(t *testing.T) {
	for _, keep := range []jobs.Keep{jobs.KeepValues, jobs.KeepSums} {
		s := jobs.Sweep{Name: "hop", Keep: keep, Set: mustSet(1, 1001), Grid: smallGrid(4, 8), Sums: []int{1},
			Checkpoints: []jobs.Checkpoint{sumOf(1, 20, "211"), value(33, "33"), value(34, "35"), sumOf(2, 1000, "1")}}
		f := NewFold(testID, s)
		r, l := newMemory(s, engine.Int128From), fullLedger(s)
		var got []string
		for {
			err := f.Advance(context.Background(), r, l)
			if err == nil {
				break
			}
			var m *MismatchError
			if !errors.As(err, &m) || m.Sweep != "hop" {
				t.Fatal(err)
			}
			got = append(got, err.Error())
		}
		want := []string{
			"sweep hop: checkpoint not met: sum of power 1 to n = 20: expected 211, found 210",
			"sweep hop: checkpoint not met: value at n = 34: expected 35, found 34",
			"sweep hop: checkpoint not met: sum of power 2 to n = 1000: expected 1, found 333833500",
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: errors %q, want %q", keep, got, want)
		}
		res := f.Result()
		if ok, bad, pending := res.Checks(); ok != 1 || bad != 3 || pending != 0 || !res.Complete {
			t.Errorf("%s: %v", keep, res.Checkpoints)
		}
	}
}

func TestNewFoldRefuses(t *testing.T) {
	for name, change := range map[string]func(*jobs.Sweep){
		"power 0":           func(s *jobs.Sweep) { s.Sums = []int{0} },
		"power too high":    func(s *jobs.Sweep) { s.Sums = []int{jobs.MaxPower + 1} },
		"negative power":    func(s *jobs.Sweep) { s.Checkpoints = []jobs.Checkpoint{sumOf(-1, 3, "1")} },
		"value outside":     func(s *jobs.Sweep) { s.Checkpoints = []jobs.Checkpoint{value(11, "1")} },
		"nothing to expect": func(s *jobs.Sweep) { s.Checkpoints = []jobs.Checkpoint{{N: 3}} },
	} {
		s := jobs.Sweep{Name: "x", Keep: jobs.KeepValues, Set: mustSet(1, 11), Grid: smallGrid(4, 8)}
		change(&s)
		if err := NewFold(testID, s).Advance(context.Background(), newMemory(s, engine.Int128From), fullLedger(s)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestReaderFailsAndCancel holds that an interrupted fold goes on as if nothing
// had been.
func TestReaderFailsAndCancel(t *testing.T) {
	s := jobs.Sweep{Name: "x", Keep: jobs.KeepValues, Set: mustSet(1, 9001, 20_000), Grid: smallGrid(4, 8), Sums: []int{3}}
	v := mixed(30)
	u := func(n int64) engine.Int128 { return engine.Int128{Lo: v(n).Lo >> 40} }
	want := plain(s, u)
	r, l := newMemory(s, u), fullLedger(s)
	f := NewFold(testID, s)
	r.fail = errors.New("connection refused")
	if err := f.Advance(context.Background(), r, l); !errors.Is(err, r.fail) {
		t.Fatalf("Advance = %v", err)
	}
	r.fail = nil
	ctx, cancel := context.WithCancel(context.Background())
	r.tamper = func(c []jobs.CellValues) []jobs.CellValues { cancel(); return c }
	if err := f.Advance(ctx, r, l); !errors.Is(err, context.Canceled) {
		t.Fatalf("Advance = %v", err)
	}
	r.tamper = nil
	mustAdvance(t, f, r, l)
	if got := f.Result(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}
