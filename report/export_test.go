package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

// pieces is a stream of the given pieces.
func pieces(p ...engine.Piece) Values {
	return func(yield func(engine.Piece, error) bool) {
		for _, p := range p {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// failing is a stream that ends with an error.
func failing(v Values, err error) Values {
	return func(yield func(engine.Piece, error) bool) {
		for p := range v {
			if !yield(p, nil) {
				return
			}
		}
		yield(engine.Piece{}, err)
	}
}

// M(1) … M(20) of the hopping game.
var hop20 = engine.Piece{Lo: 1, Narrow: []int64{0, 2, 1, 4, 2, 2, 1, 7, 5, 5, 7, 4, 13, 7, 15, 2, 9, 1, 7, 4}}

// all collects a stream value by value.
func all(t rapid.TB, v Values) (ns []int64, values []engine.Int128) {
	t.Helper()
	for p, err := range v {
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Len() {
			ns, values = append(ns, p.Lo+int64(i)), append(values, p.At(i))
		}
	}
	return ns, values
}

// drawStream draws pieces with and without gaps between them.
func drawStream(t *rapid.T, wide bool) (out []engine.Piece) {
	n := rapid.SampledFrom([]int64{1, 2, 95, 1<<53 - 20, engine.MaxN - 100_000}).Draw(t, "start")
	for range rapid.IntRange(0, 6).Draw(t, "pieces") {
		n += rapid.SampledFrom([]int64{0, 0, 1, 50}).Draw(t, "gap")
		p := engine.Piece{Lo: n}
		k := rapid.SampledFrom([]int{1, 2, 30, 1023, 1024, 1025, 2500}).Draw(t, "len")
		seed := rapid.Int64().Draw(t, "seed")
		shift := rapid.IntRange(0, 63).Draw(t, "shift")
		for i := range k {
			v := seed * int64(i+1) * 0x5851f42d4c957f2d
			if wide {
				p.Wide = append(p.Wide, engine.Int128{Hi: v >> max(shift, 3), Lo: uint64(v)}) // at most 38 digits
			} else {
				p.Narrow = append(p.Narrow, v>>shift)
			}
		}
		out = append(out, p)
		n += int64(k)
	}
	return out
}

func TestTextFormats(t *testing.T) {
	var b bytes.Buffer
	want := Wanted{Lo: 1, Hi: 21}
	prov := Provenance{Symbol: "M(n)", Engine: "hopping", Version: 1, Params: engine.Params{"base": 2}, N: "1…20", Text: "ab", Program: "nsweep test"}
	for _, c := range []struct {
		format Format
		want   string
	}{
		{BFile, "# function: M(n)\n# engine: hopping version 1\n# params: base=2\n# n: 1..20\n# text_sha256: ab\n# program: nsweep test\n" +
			"1 0\n2 2\n3 1\n4 4\n5 2\n6 2\n7 1\n8 7\n9 5\n10 5\n11 7\n12 4\n13 13\n14 7\n15 15\n16 2\n17 9\n18 1\n19 7\n20 4\n"},
		{CSV, "n,value\n1,0\n2,2\n3,1\n4,4\n5,2\n6,2\n7,1\n8,7\n9,5\n10,5\n11,7\n12,4\n13,13\n14,7\n15,15\n16,2\n17,9\n18,1\n19,7\n20,4\n"},
	} {
		b.Reset()
		sum, err := Export(&b, pieces(hop20.Slice(0, 7), hop20.Slice(7, 20)), ExportOptions{Format: c.format, Want: want, Provenance: prov})
		if err != nil || sum != (Summary{Count: 20, First: 1, Last: 20}) || b.String() != c.want {
			t.Errorf("%s: %+v, %v\n%s", c.format, sum, err, b.String())
		}
	}
	b.Reset()
	big := engine.Piece{Lo: 1<<53 - 1, Wide: []engine.Int128{engine.Int128From(1 << 53), engine.Int128From(1<<53 + 1), {Hi: 1}}}
	if _, err := Export(&b, pieces(big, engine.Piece{Lo: 1<<53 + 2, Narrow: []int64{-1 << 53, -1<<53 - 1}}), ExportOptions{Format: JSONL}); err != nil {
		t.Fatal(err)
	}
	lines := `{"n":9007199254740991,"value":9007199254740992}
{"n":9007199254740992,"value":"9007199254740993"}
{"n":"9007199254740993","value":"18446744073709551616"}
{"n":"9007199254740994","value":-9007199254740992}
{"n":"9007199254740995","value":"-9007199254740993"}
`
	if b.String() != lines {
		t.Errorf("JSON lines:\n%s", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if _, err := Export(io.Discard, pieces(), ExportOptions{Format: "xlsx"}); err == nil || !strings.Contains(err.Error(), "bfile") {
		t.Errorf("unknown format: %v", err)
	}
}

// TestTextRoundTrip writes b-files and CSV and reads them back.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawStream(t, rapid.Bool().Draw(t, "wide"))
		ns, values := all(t, pieces(in...))
		var b bytes.Buffer
		sum, err := Export(&b, pieces(in...), ExportOptions{Format: CSV})
		if err != nil {
			t.Fatal(err)
		}
		if int(sum.Count) != len(ns) || (len(ns) > 0 && (sum.First != ns[0] || sum.Last != ns[len(ns)-1])) {
			t.Fatalf("summary %+v", sum)
		}
		text := b.String()
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			text = strings.ReplaceAll(text, "\n", "\r\n")
		case 1:
			text = "\ufeff" + strings.ReplaceAll(text, ",", "\" ; \"")
			text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\"\n\""), "\ufeff", "\ufeff\"")
			text = strings.TrimSuffix(text, "\"")
		case 2:
			text = "# comment\n\n" + strings.ReplaceAll(strings.TrimPrefix(text, "n,value\n"), ",", " \t")
		}
		gotNs, gotValues := all(t, ReadValues(strings.NewReader(text)))
		if !slices.Equal(gotNs, ns) || !slices.Equal(gotValues, values) {
			t.Fatalf("read back %v %v, want %v %v", gotNs, gotValues, ns, values)
		}
	})
}

func TestReadValuesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"1 2\n3":                       "line 2: \"3\": want an integer n and an integer value",
		"n,value\nm,w\n":               "line 2: \"m,w\": want an integer",
		"1 2\n\n1 3\n":                 "line 3: n = 1 follows n = 1; want every n once, in rising order",
		"5 2\n4 3\n":                   "line 2: n = 4 follows n = 5; want every n once",
		"1 2.5\n":                      "line 1: \"1 2.5\": want an integer",
		"1 2 3\n":                      "line 1: \"1 2 3\": want an integer",
		"1,,2\n":                       "line 1: \"1,,2\": want an integer",
		"1 -\n":                        "line 1: \"1 -\": want an integer",
		"1 \n":                         "line 1: \"1\": want an integer",
		"9223372036854775808 1":        "line 1: n = 9223372036854775808 is too large, want at most 9223372036854775806",
		"1 " + strings.Repeat("9", 40): "line 1: \"" + strings.Repeat("9", 40) + "\": beyond 128 bits",
		strings.Repeat(" ", 70_000):    "line 1: is longer than 65536 bytes; want an integer n and an integer value",
	} {
		var got error
		for _, err := range ReadValues(strings.NewReader(text)) {
			got = err
		}
		var bad *MalformedError
		if !errors.As(got, &bad) || !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%.30q: %v, want %s", text, got, want)
		}
	}
	// What the reader itself says is nothing about the file's content.
	gone := errors.New("gone")
	for _, err := range ReadValues(io.MultiReader(strings.NewReader("1 2\n"), iotest.ErrReader(gone))) {
		if bad := new(MalformedError); err != nil && (!errors.Is(err, gone) || errors.As(err, &bad)) {
			t.Errorf("a failing reader: %v", err)
		}
	}
	// What came before the error is handed over.
	ns, last := 0, error(nil)
	for p, err := range ReadValues(strings.NewReader("-3 7\n-2 8\n0 9\nx\n")) {
		ns += p.Len()
		last = err
	}
	if ns != 3 || last == nil {
		t.Errorf("%d values, then %v", ns, last)
	}
}

func TestBFileStopsAtGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawStream(t, false)
		ns, _ := all(t, pieces(in...))
		lo := rapid.Int64Range(1, 3).Draw(t, "lo")
		if len(ns) > 0 && rapid.Bool().Draw(t, "from the first") {
			lo = ns[0]
		}
		hi := lo + rapid.Int64Range(1, 9000).Draw(t, "count")
		in = slices.DeleteFunc(in, func(p engine.Piece) bool { return p.Lo < lo || p.Lo+int64(p.Len()) > hi })
		ns, values := all(t, pieces(in...))
		// By definition: the lines of lo, lo+1, … as long as they are there.
		want := ""
		next := lo
		for i, n := range ns {
			if n != next {
				break
			}
			want += fmt.Sprintf("%d %s\n", n, values[i])
			next++
		}
		sum := Summary{Count: next - lo, Missing: hi - next}
		if next > lo {
			sum.First, sum.Last = lo, next-1
		}
		if next < hi {
			sum.Gap = next
			want += fmt.Sprintf("# ends before n = %d, which is missing\n", next)
		}
		for _, allow := range []bool{true, false} {
			var b bytes.Buffer
			got, err := Export(&b, pieces(in...), ExportOptions{Format: BFile, Want: Wanted{Lo: lo, Hi: hi}, AllowPartial: allow})
			var partial *PartialError
			if got != sum || b.String() != want || (next < hi && !allow) != errors.As(err, &partial) || (partial == nil && err != nil) || (partial != nil && !partial.Ends) {
				t.Fatalf("%+v, %v, want %+v", got, err, sum)
			}
		}
	})
}

func TestPartial(t *testing.T) {
	want := Wanted{Lo: 1, Hi: 26, Points: []int64{30, 40}}
	in := pieces(hop20.Slice(3, 10), hop20.Slice(12, 20), engine.Piece{Lo: 40, Narrow: []int64{1}})
	for _, f := range []Format{CSV, JSONL, Parquet} {
		sum, err := Export(io.Discard, in, ExportOptions{Format: f, Want: want})
		var partial *PartialError
		if !errors.As(err, &partial) || *partial != (PartialError{Missing: 11, Gap: 1}) || sum.Count != 16 {
			t.Errorf("%s: %+v, %v", f, sum, err)
		}
		if sum, err := Export(io.Discard, in, ExportOptions{Format: f, Want: want, AllowPartial: true}); err != nil || sum.Missing != 11 || sum.Gap != 1 {
			t.Errorf("%s: %+v, %v", f, sum, err)
		}
	}
	// Points alone: the b-file begins at the first.
	var b bytes.Buffer
	sum, err := Export(&b, pieces(engine.Piece{Lo: 4, Narrow: []int64{5, 7}}, engine.Piece{Lo: 20, Narrow: []int64{89}}),
		ExportOptions{Format: BFile, Want: Wanted{Points: []int64{4, 5, 20}}, AllowPartial: true})
	if err != nil || b.String() != "4 5\n5 7\n# ends at n = 5, the next n is 20\n" || sum != (Summary{Count: 2, First: 4, Last: 5, Missing: 1, Gap: 20}) {
		t.Errorf("points: %+v, %v, %q", sum, err, b.String())
	}
	boom := errors.New("store gone")
	for _, f := range Formats {
		if _, err := Export(io.Discard, failing(pieces(hop20), boom), ExportOptions{Format: f}); !errors.Is(err, boom) {
			t.Errorf("%s: %v", f, err)
		}
		if _, err := Export(io.Discard, pieces(hop20, hop20), ExportOptions{Format: f, AllowPartial: true}); err == nil {
			t.Errorf("%s: the same n twice was accepted", f)
		}
		if _, err := Export(fullDisk{}, pieces(hop20), ExportOptions{Format: f, Provenance: Provenance{Engine: "hopping"}}); !errors.Is(err, errFull) {
			t.Errorf("%s on a full disk: %v", f, err)
		}
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestParquetReadsBack reads files with the library's own reader; see
// TestDuckDBReads for another program.
func TestParquetReadsBack(t *testing.T) {
	for _, wide := range []bool{false, true} {
		streams := rapid.Custom(func(t *rapid.T) []engine.Piece { return drawStream(t, wide) })
		for seed := range 8 {
			ns, values := all(t, pieces(streams.Example(seed)...))
			var b, again bytes.Buffer
			o := ExportOptions{Format: Parquet, Wide: wide, Provenance: Provenance{Engine: "bezout", Version: 1, Symbol: "W(n)"}}
			if _, err := Export(&b, pieces(streams.Example(seed)...), o); err != nil {
				t.Fatal(err)
			}
			f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if v, ok := f.Lookup("nsweep.engine"); !ok || v != "bezout version 1" || f.NumRows() != int64(len(ns)) {
				t.Fatalf("%d rows, want %d; metadata %q", f.NumRows(), len(ns), v)
			}
			for i, r := range readRows(t, b.Bytes(), wide) {
				if r.Lo != ns[i] || r.At(0) != values[i] {
					t.Fatalf("row %d is %d %s, want %d %s", i, r.Lo, r.At(0), ns[i], values[i])
				}
			}
			// The same values cut otherwise give the same bytes.
			if _, err := Export(&again, ReadValues(strings.NewReader(textOf(ns, values))), o); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
				t.Fatalf("a second export differs, %v", err)
			}
		}
	}
}

// readRows returns the rows of a Parquet file as pieces of one value.
func readRows(t *testing.T, b []byte, wide bool) (out []engine.Piece) {
	t.Helper()
	if wide {
		rows, err := parquet.Read[wideRow](bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			out = append(out, engine.Piece{Lo: r.N, Wide: []engine.Int128{engine.Int128FromBytes(r.Value[:])}})
		}
		return out
	}
	rows, err := parquet.Read[narrowRow](bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		out = append(out, engine.Piece{Lo: r.N, Narrow: []int64{r.Value}})
	}
	return out
}

func textOf(ns []int64, values []engine.Int128) string {
	var b strings.Builder
	for i, n := range ns {
		fmt.Fprintf(&b, "%d %s\n", n, values[i])
	}
	return b.String()
}

func TestParquetWidth(t *testing.T) {
	big := engine.Piece{Lo: 6_742_000_000, Wide: []engine.Int128{{Lo: 1 << 63}}}
	if _, err := Export(io.Discard, pieces(big), ExportOptions{Format: Parquet}); err == nil || !strings.Contains(err.Error(), "n = 6742000000 does not fit INT64") {
		t.Errorf("2^63 as INT64: %v", err)
	}
	if wide, err := IsWide(pieces(hop20, big)); !wide || err != nil {
		t.Errorf("IsWide = %v, %v", wide, err)
	}
	if wide, err := IsWide(pieces(hop20, engine.Piece{Lo: 50, Wide: []engine.Int128{{Lo: 1}}})); wide || err != nil {
		t.Errorf("IsWide = %v, %v", wide, err)
	}
	boom := errors.New("gone")
	if _, err := IsWide(failing(pieces(hop20), boom)); !errors.Is(err, boom) {
		t.Errorf("IsWide: %v", err)
	}
	top := new(big38).value()
	if _, err := Export(io.Discard, pieces(engine.Piece{Lo: 1, Wide: []engine.Int128{top}}), ExportOptions{Format: Parquet, Wide: true}); err != nil {
		t.Errorf("10^38−1: %v", err)
	}
	over := top.Add(engine.Int128From(1))
	if _, err := Export(io.Discard, pieces(engine.Piece{Lo: 1, Wide: []engine.Int128{over}}), ExportOptions{Format: Parquet, Wide: true}); err == nil {
		t.Error("10^38 was accepted")
	}
}

type big38 struct{}

func (*big38) value() engine.Int128 {
	v, _ := new(big.Int).SetString(strings.Repeat("9", 38), 10)
	x, _ := engine.Int128FromBig(v)
	return x
}

func TestOEIS(t *testing.T) {
	for in, want := range map[string]string{"A000788": "b000788.txt", "788": "b000788.txt", "A1234567": "b1234567.txt", "": "", "B12": "", "A12345678": "", "A12x": ""} {
		got, err := BFileName(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("BFileName(%q) = %q, %v", in, got, err)
		}
	}
	link, err := OEISLink("788", "A. U. Thor", 1, 10_000)
	if err != nil || link != `A. U. Thor, <a href="/A000788/b000788.txt">Table of n, a(n) for n = 1..10000</a>` {
		t.Errorf("OEISLink = %q, %v", link, err)
	}
	data, err := OEISData(pieces(hop20))
	if err != nil || data != "0, 2, 1, 4, 2, 2, 1, 7, 5, 5, 7, 4, 13, 7, 15, 2, 9, 1, 7, 4" {
		t.Errorf("OEISData = %q, %v", data, err)
	}
	long := engine.Piece{Lo: 1}
	for i := range int64(200) {
		long.Narrow = append(long.Narrow, 1_000_000+i)
	}
	boom := errors.New("read too far")
	data, err = OEISData(failing(pieces(long), boom))
	if err != nil || len(data) > 260 || len(data) < 250 || !strings.HasSuffix(data, "1000028") {
		t.Errorf("OEISData = %q (%d), %v", data, len(data), err)
	}
	if data, err := OEISData(pieces(hop20.Slice(0, 3), hop20.Slice(5, 9))); err != nil || data != "0, 2, 1" {
		t.Errorf("OEISData over a gap = %q, %v", data, err)
	}
	if _, err := OEISData(failing(pieces(hop20), boom)); !errors.Is(err, boom) {
		t.Errorf("OEISData = %v", err)
	}
}

// TestBFileDigest holds that the lines of values alone have the text digest.
func TestBFileDigest(t *testing.T) {
	var b bytes.Buffer
	if _, err := Export(&b, pieces(hop20), ExportOptions{Format: BFile, Provenance: Provenance{Symbol: "M(n)"}}); err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(b.String(), "\n")
	want := sha256.Sum256([]byte("1 0\n2 2\n3 1\n4 4\n5 2\n6 2\n7 1\n8 7\n9 5\n10 5\n11 7\n12 4\n13 13\n14 7\n15 15\n16 2\n17 9\n18 1\n19 7\n20 4\n"))
	if got := sha256.Sum256([]byte(lines)); got != want {
		t.Errorf("lines %q", lines)
	}
}

func FuzzReadValues(f *testing.F) {
	f.Add("1 2\n2 3\n")
	f.Add("n,value\r\n1,\"-170141183460469231731687303715884105728\"\r\n")
	f.Add("# c\n\n -5\t7\n")
	f.Fuzz(func(t *testing.T, text string) {
		var ns []int64
		var values []engine.Int128
		for p, err := range ReadValues(strings.NewReader(text)) {
			if err != nil {
				return
			}
			for i := range p.Len() {
				ns, values = append(ns, p.Lo+int64(i)), append(values, p.At(i))
			}
		}
		if !slices.IsSorted(ns) || len(slices.Compact(slices.Clone(ns))) != len(ns) {
			t.Fatalf("n do not rise: %v", ns)
		}
		again, same := all(t, ReadValues(strings.NewReader(textOf(ns, values))))
		if !slices.Equal(again, ns) || !slices.Equal(same, values) {
			t.Fatalf("%q reads as %v %v and again as %v %v", text, ns, values, again, same)
		}
	})
}

// BenchmarkExport measures values a second and the bytes of each, for M-like
// and W-like values.
func BenchmarkExport(b *testing.B) {
	const count = 1 << 20
	scattered, square := engine.Piece{Lo: 1}, engine.Piece{Lo: 1_000_000_001}
	for n := int64(1); n <= count; n++ {
		scattered.Narrow = append(scattered.Narrow, int64(uint64(n)*0x9e3779b97f4a7c15>>32%uint64(n+1)))
		x := square.Lo + n
		square.Narrow = append(square.Narrow, x*x/5)
	}
	for _, f := range Formats {
		for name, p := range map[string]engine.Piece{"M": scattered, "W": square} {
			b.Run(string(f)+"-"+name, func(b *testing.B) {
				var size counter
				for b.Loop() {
					size = 0
					if _, err := Export(&size, pieces(p), ExportOptions{Format: f}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(count*float64(b.N)/1e6/b.Elapsed().Seconds(), "Mvalues/s")
				b.ReportMetric(float64(size)/count, "B/value")
			})
		}
	}
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// TestExportTenMillion holds the goals for 10⁷ values, and that memory does not
// grow with their number.
func TestExportTenMillion(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("NSWEEP_SOAK is not set")
	}
	const count = 10_000_000
	for _, f := range Formats {
		goal := map[Format]float64{BFile: 5, CSV: 5, JSONL: 1, Parquet: 10}[f]
		runtime.GC()
		begin := time.Now()
		var size counter
		sum, err := Export(&size, stream(1_000_000_000, count, func(n int64) int64 { return n * n / 5 }),
			ExportOptions{Format: f, Want: Wanted{Lo: 1_000_000_000, Hi: 1_000_000_000 + count}})
		if err != nil || sum.Count != count {
			t.Fatal(sum, err)
		}
		rate := count / 1e6 / time.Since(begin).Seconds()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%s: %.1f million values/s, %d MB written, %d MB from the system", f, rate, size>>20, m.Sys>>20)
		if rate < goal || m.Sys > 100<<20 {
			t.Errorf("%s: %.1f million values/s, want %.0f; %d MB", f, rate, goal, m.Sys>>20)
		}
	}
}
