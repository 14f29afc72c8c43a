package jobs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"pgregory.net/rapid"
)

// plainRecord is what a Recorder must find, by definition.
func plainRecord(lo int64, width int, values []engine.Int128, powers []int, checks []int64) Record {
	r := Record{Lo: lo, Count: len(values), Width: width, First: values[0], Last: values[len(values)-1],
		Min: values[0], Max: values[0], MinN: lo, MaxN: lo, Powers: powers}
	enc, err := AppendValues(nil, width, engine.Piece{Lo: lo, Wide: values})
	if err != nil {
		panic(err)
	}
	r.Hash = sha256.Sum256(enc)
	sums := make([]*big.Int, len(powers))
	for i := range sums {
		sums[i] = new(big.Int)
	}
	for k, v := range values {
		n := lo + int64(k)
		if v.Cmp(r.Min) < 0 {
			r.Min, r.MinN = v, n
		}
		if v.Cmp(r.Max) > 0 {
			r.Max, r.MaxN = v, n
		}
		for i, p := range powers {
			sums[i] = new(big.Int).Add(sums[i], new(big.Int).Exp(v.Big(), big.NewInt(int64(p)), nil))
		}
		if slices.Contains(checks, n) {
			r.Checks = append(r.Checks, RecordCheck{N: n, Value: v, Sums: slices.Clone(sums)})
		}
	}
	r.Sums = sums
	return r
}

// sameRecord compares big integers by value.
func sameRecord(a, b Record) bool {
	same := func(x, y []*big.Int) bool {
		return slices.EqualFunc(x, y, func(p, q *big.Int) bool { return p.Cmp(q) == 0 })
	}
	if !same(a.Sums, b.Sums) || !slices.Equal(a.Powers, b.Powers) || !slices.EqualFunc(a.Checks, b.Checks, func(c, d RecordCheck) bool {
		return c.N == d.N && c.Value == d.Value && same(c.Sums, d.Sums)
	}) {
		return false
	}
	a.Sums, b.Sums, a.Powers, b.Powers, a.Checks, b.Checks = nil, nil, nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

func drawCell(t *rapid.T) (lo int64, width int, values []engine.Int128) {
	lo = rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, engine.MaxN-3000)).Draw(t, "lo")
	width = rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "width")
	gen := map[int]*rapid.Generator[engine.Int128]{
		4: rapid.Custom(func(t *rapid.T) engine.Int128 { return engine.Int128From(int64(rapid.Uint32().Draw(t, "v"))) }),
		8: rapid.Custom(func(t *rapid.T) engine.Int128 { return engine.Int128From(rapid.Int64().Draw(t, "v")) }),
		16: rapid.Custom(func(t *rapid.T) engine.Int128 {
			return engine.Int128{Hi: rapid.Int64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		}),
	}[width]
	values = rapid.SliceOfN(gen, 1, 60).Draw(t, "values")
	for range rapid.IntRange(0, 5).Draw(t, "doublings") { // beyond a Recorder's chunk
		values = append(values, values...)
	}
	return lo, width, values
}

func TestRecorderFindsWhatIsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		powers := rapid.SliceOfNDistinct(rapid.IntRange(1, 7), 0, 3, rapid.ID[int]).Draw(t, "powers")
		lo, width, values := drawCell(t)
		checks := rapid.SliceOfNDistinct(rapid.Int64Range(max(lo-3, 1), lo+int64(len(values))+3), 0, 5, rapid.ID[int64]).Draw(t, "checks")
		rec, err := NewRecorder(engine.Cell{Lo: lo, Hi: lo + 9}, 16, powers, checks)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "begun before") {
			if err := rec.Add(engine.Piece{Lo: lo, Narrow: []int64{-7}}); err != nil {
				t.Fatal(err)
			}
		}
		rec.Reset(engine.Cell{Index: 3, Lo: lo, Hi: lo + int64(len(values))}, width)
		for at := 0; at < len(values); {
			k := rapid.IntRange(1, len(values)-at).Draw(t, "piece")
			p := engine.Piece{Lo: lo + int64(at), Wide: values[at : at+k]}
			if err := rec.Add(p); err != nil {
				t.Fatal(err)
			}
			at += k
		}
		got, err := rec.Finish()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(powers)
		want := plainRecord(lo, width, values, powers, checks)
		if !sameRecord(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		data, err := rec.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRecord(data)
		if err != nil || !sameRecord(back, want) {
			t.Fatalf("decoded %+v, %v, want %+v", back, err, want)
		}
		// No shorter and no longer string is a record.
		if _, err := DecodeRecord(append(slices.Clone(data), 0)); !errors.Is(err, ErrRecord) {
			t.Fatalf("a byte too many: %v", err)
		}
		if _, err := DecodeRecord(data[:len(data)-1]); !errors.Is(err, ErrRecord) {
			t.Fatalf("a byte too few: %v", err)
		}
	})
}

func TestRecorderRefuses(t *testing.T) {
	for _, p := range []int{0, -1, MaxPower + 1} {
		if _, err := NewRecorder(engine.Cell{Lo: 1, Hi: 2}, 4, []int{1, p}, nil); err == nil {
			t.Errorf("power %d: accepted", p)
		}
	}
	rec, err := NewRecorder(engine.Cell{Lo: 1, Hi: 2}, 4, []int{1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cell := engine.Cell{Lo: 5, Hi: 8}
	for name, p := range map[string]engine.Piece{
		"a gap":               {Lo: 6, Narrow: []int64{1}},
		"an earlier n":        {Lo: 4, Narrow: []int64{1, 2}},
		"more than the cell":  {Lo: 5, Narrow: []int64{1, 2, 3, 4}},
		"a value of 33 bits":  {Lo: 5, Narrow: []int64{1 << 32}},
		"a negative unsigned": {Lo: 5, Narrow: []int64{-1}},
	} {
		rec.Reset(cell, 4)
		if err := rec.Add(p); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	rec.Reset(cell, 4)
	if err := rec.Add(engine.Piece{Lo: 5, Narrow: []int64{1, 2}}); err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Finish(); !errors.Is(err, errUnfinished) {
		t.Errorf("Finish after 2 of 3 values: %v", err)
	}
}

// TestRecordGolden fixes the encoding: a change needs a new RecordFormat.
func TestRecordGolden(t *testing.T) {
	rec, err := NewRecorder(engine.Cell{Lo: 1, Hi: 2}, 4, []int{3, 1}, []int64{6})
	if err != nil {
		t.Fatal(err)
	}
	rec.Reset(engine.Cell{Index: 1, Lo: 5, Hi: 8}, 8)
	if err := rec.Add(engine.Piece{Lo: 5, Narrow: []int64{2, -6, 2}}); err != nil {
		t.Fatal(err)
	}
	data, err := rec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte("\x00\x00\x00\x00\x00\x00\x00\x02\xff\xff\xff\xff\xff\xff\xff\xfa\x00\x00\x00\x00\x00\x00\x00\x02"))
	two, minus6 := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfa"
	want := "\x01\x08" + "\x00\x00\x00\x00\x00\x00\x00\x05" + "\x00\x00\x00\x03" + string(hash[:]) +
		two + two + minus6 + two + "\x00\x00\x00\x01" + "\x00\x00\x00\x00" + "\x00\x02" + "\x00\x00\x00\x01" +
		"\x00\x01\x00\x01\xfe" + // Σ f = −2
		"\x00\x03\x00\x02\xff\x38" + // Σ f³ = 8 − 216 + 8 = −200
		"\x00\x00\x00\x01" + minus6 + "\x00\x01\xfc" + "\x00\x02\xff\x30" // −4 and −208
	if string(data) != want {
		t.Errorf("record is %x, want %x", data, want)
	}
}

// TestRecordIsSmall holds the size that keep: sums is worth having for: a cell
// of 40000 values of W near 6·10⁹, with the sum of first powers.
func TestRecordIsSmall(t *testing.T) {
	rec, err := NewRecorder(engine.Cell{Lo: 1, Hi: 2}, 4, []int{1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec.Reset(engine.Cell{Lo: 1, Hi: 40_001}, 8)
	values := make([]int64, 40_000)
	for i := range values {
		values[i] = 1<<63 - 1 - int64(i)
	}
	if err := rec.Add(engine.Piece{Lo: 1, Narrow: values}); err != nil {
		t.Fatal(err)
	}
	data, err := rec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 145 {
		t.Errorf("record has %d bytes, want at most 145", len(data))
	}
}

// FuzzRecord holds that decoding is the exact inverse of encoding.
func FuzzRecord(f *testing.F) {
	rec, err := NewRecorder(engine.Cell{Lo: 1, Hi: 2}, 4, []int{1, 3, 40}, []int64{8, 9})
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range []int64{0, 1, -1, 127, 128, -128, -129, 1<<62 + 12345} {
		rec.Reset(engine.Cell{Lo: 8, Hi: 10}, 16)
		if err := rec.Add(engine.Piece{Lo: 8, Narrow: []int64{v, -v / 3}}); err != nil {
			f.Fatal(err)
		}
		data, err := rec.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		if again := r.Append(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
	})
}

func BenchmarkRecorder(b *testing.B) {
	values := make([]int64, 40_000)
	for i := range values {
		values[i] = 2_000_000_000_000_000 + int64(i)*40_000_000
	}
	rec, err := NewRecorder(engine.Cell{Lo: 1, Hi: 2}, 4, []int{1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rec.Reset(engine.Cell{Lo: 1, Hi: 40_001}, 8)
		if err := rec.Add(engine.Piece{Lo: 1, Narrow: values}); err != nil {
			b.Fatal(err)
		}
		if _, err := rec.Encode(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(values))*float64(b.N)/1e6/b.Elapsed().Seconds(), "Mvalues/s")
}
