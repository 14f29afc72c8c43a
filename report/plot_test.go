package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"math/big"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

// TestBinsLoseNothing compares with a plain table: after any sequence of points
// each row [k·step, (k+1)·step) of each column has the number of points in it.
func TestBinsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBins(3, rapid.SampledFrom([]float64{0x1p-30, 1, 1.0 / 3200}).Draw(t, "step"))
		type point struct {
			column int
			y      float64
		}
		scale := rapid.SampledFrom([]float64{1, 1e-6, 1e9, 1e38}).Draw(t, "scale")
		one := rapid.Custom(func(t *rapid.T) point {
			return point{rapid.IntRange(0, 2).Draw(t, "column"), scale * rapid.OneOf(rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{0, 1, -1, 1e-9})).Draw(t, "y")}
		})
		points := rapid.SliceOfN(one, 1, 60).Draw(t, "points")
		for _, p := range points {
			b.add(p.column, p.y)
		}
		if b.hi-b.lo >= binRows {
			t.Fatalf("rows %d to %d", b.lo, b.hi)
		}
		for column := range 3 {
			want := map[int64]uint32{}
			for _, p := range points {
				if p.column == column {
					want[int64(math.Floor(p.y/b.step))]++
				}
			}
			for row := b.lo; row <= b.hi; row++ {
				if got := *b.at(column, row); got != want[row] {
					t.Fatalf("column %d, row %d: %d points, want %d", column, row, got, want[row])
				}
				delete(want, row)
			}
			if len(want) > 0 {
				t.Fatalf("column %d: rows %v are outside of %d…%d", column, want, b.lo, b.hi)
			}
		}
	})
}

func TestColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(1, 1_000_000).Draw(t, "lo")
		hi := lo + rapid.OneOf(rapid.Int64Range(1, 3000), rapid.Int64Range(1, 1<<50)).Draw(t, "len")
		log := rapid.Bool().Draw(t, "log")
		const columns = 50
		c := newColumns(columns, lo, hi, log)
		n := lo
		for range 400 {
			x := func(n int64) float64 {
				if log {
					return math.Log10(float64(n))
				}
				return float64(n)
			}
			want := int(columns * (x(n) - x(lo)) / (x(hi) - x(lo)))
			// The borders are where rounding decides: one column either way there.
			if got := c.of(float64(n)); got < max(0, want-1) || got > min(want+1, columns-1) || (n == lo && got != 0) || (n == hi && got != columns-1) {
				t.Fatalf("n = %d of %d…%d is in column %d, want %d", n, lo, hi, got, want)
			}
			n += rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, max(1, (hi-lo)/20))).Draw(t, "step")
			if n > hi {
				break
			}
		}
	})
}

// TestDeviationIsExactEnough compares with a computation in 400 bits, with
// values published for W(10^k) and beyond 2^63.
func TestDeviationIsExactEnough(t *testing.T) {
	for n, v := range map[int64]string{1: "0", 100: "2043", 1_000_000: "202642485639", 1_000_000_000: "202642367520564145", 10_000_000_000: "20264236729551612455",
		100_000_000_000: "2026423672864918637169"} {
		w, err := engine.ParseInt128(v)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := deviation(n, w)
		m := new(big.Float).SetPrec(400).SetInt64(n)
		limit := new(big.Float).SetPrec(400).Mul(bigTwoOverPi2, m)
		want, _ := new(big.Float).SetPrec(400).Sub(new(big.Float).SetPrec(400).Quo(new(big.Float).SetPrec(400).SetInt(w.Big()), m), limit).Float64()
		if !ok || math.Abs(got-want) > 1e-6 || math.Abs(want) > 1 {
			t.Errorf("deviation at %d is %v, want %v", n, got, want)
		}
	}
	if x, _ := bigTwoOverPi2.Float64(); math.Abs(x-twoOverPi2) > 1e-16 {
		t.Errorf("2/π² is %v and %v", x, twoOverPi2)
	}
}

// stream makes count values from n = lo on.
func stream(lo, count int64, f func(n int64) int64) Values {
	return func(yield func(engine.Piece, error) bool) {
		buf := make([]int64, 4096)
		for n := lo; n < lo+count; n += int64(len(buf)) {
			buf = buf[:min(int64(cap(buf)), lo+count-n)]
			for i := range buf {
				buf[i] = f(n + int64(i))
			}
			if !yield(engine.Piece{Lo: n, Narrow: buf}, nil) {
				return
			}
		}
	}
}

func scattered(n int64) int64 { return int64(uint64(n) * 0x9e3779b97f4a7c15 >> 32 % uint64(n+1)) }

func picturePNG(t *testing.T, v Values, o PlotOptions) image.Image {
	t.Helper()
	var b bytes.Buffer
	o.Image = "png"
	if err := Plot(&b, v, o); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != pictureWidth*perPoint || size.Y != pictureHeight*perPoint {
		t.Fatalf("picture of %v", size)
	}
	return img
}

// TestPlotKeepsPeaks finds one value out of 300000 that is far from the others.
func TestPlotKeepsPeaks(t *testing.T) {
	if underRace {
		t.Skip("one goroutine draws a million pixels")
	}
	const count, peak = 300_000, 200_000
	img := picturePNG(t, stream(1, count, func(n int64) int64 {
		if n == peak {
			return 1000
		}
		return scattered(n) % 100
	}), PlotOptions{Kind: PlotValue, Lo: 1, Hi: count + 1})
	// The scale is 0 to 1030, so the peak is 30/1030 below the top.
	x := left*perPoint + (peak-1)*dataWidth/(count-1)
	y := (pictureHeight-top)*perPoint + dataHeight*30/1030
	found := false
	for dy := -3; dy <= 3; dy++ {
		for dx := -3; dx <= 3; dx++ {
			if r, _, b, _ := img.At(x+dx, y+dy).RGBA(); b > r+0x1000 {
				found = true
			}
		}
	}
	if !found {
		t.Errorf("no blue pixel near %d, %d", x, y)
	}
	// Halfway down there is nothing but the background.
	c := img.At(x, (pictureHeight-top)*perPoint+dataHeight/3)
	if r, _, b, _ := c.RGBA(); b > r+0x1000 {
		t.Errorf("a colour %v where no point is", c)
	}
}

func TestPlotKinds(t *testing.T) {
	for _, k := range PlotKinds {
		for name, c := range map[string]struct {
			v  Values
			hi int64
		}{
			"one":    {pieces(hop20.Slice(3, 4)), 5},
			"few":    {pieces(hop20), 21},
			"many":   {stream(1, 9000, scattered), 9001},
			"equal":  {stream(1, 50, func(int64) int64 { return 7 }), 51},
			"signed": {stream(1, 50, func(n int64) int64 { return 25 - n }), 51},
			"wide":   {pieces(engine.Piece{Lo: 1e18, Wide: []engine.Int128{{Hi: 1 << 60}, {Hi: -1 << 60}}}), 1e18 + 2},
		} {
			for _, dark := range []bool{false, true} {
				if underRace && (dark || name == "many") {
					continue
				}
				o := PlotOptions{Kind: k.Kind, Image: "svg", Lo: 1, Hi: c.hi, Symbol: "M(n)", Title: "T & <T>", Footer: []string{"run euler", "SHA-256 ea7c"}, Dark: dark}
				var b bytes.Buffer
				if err := Plot(&b, c.v, o); err != nil {
					t.Errorf("%s, %s: %v", k.Kind, name, err)
					continue
				}
				text, err := textsOf(b.Bytes())
				if err != nil {
					t.Errorf("%s, %s: %v", k.Kind, name, err)
				}
				for _, want := range []string{"T & <T>", "run euler · ", "SHA-256 ea7c"} {
					if !strings.Contains(text, want) {
						t.Errorf("%s, %s: no %q in %q", k.Kind, name, want, text)
					}
				}
				if bad := badNumber.FindString(embedded.ReplaceAllString(b.String(), "")); bad != "" {
					t.Errorf("%s, %s: a number is %s", k.Kind, name, bad)
				}
			}
		}
	}
}

// badNumber finds what is no number, outside of embedded images.
var (
	embedded  = regexp.MustCompile(`href="data:[^"]*"`)
	badNumber = regexp.MustCompile(`NaN|Inf`)
)

// textsOf returns the texts of an SVG file that is well-formed XML.
func textsOf(b []byte) (string, error) {
	d := xml.NewDecoder(bytes.NewReader(b))
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		if c, ok := token.(xml.CharData); ok {
			text.Write(c)
		}
	}
}

// TestPlotSaysWhatItIs: an SVG has its title as its name, and pixels that stand for
// many points are explained.
func TestPlotSaysWhatItIs(t *testing.T) {
	for _, c := range []struct {
		count int64
		dark  bool
		want  string
	}{{100, false, "run x · 100 points"}, {maxDots + 1, false, "run x · 5001 points, stronger where more fall together"},
		{maxDots + 1, true, "run x · 5001 points, stronger where more fall together"}} {
		var b bytes.Buffer
		o := PlotOptions{Kind: PlotValue, Image: "svg", Lo: 1, Hi: c.count + 1, Symbol: "M(n)", Title: "a < b & c", Footer: []string{"run x"}, Dark: c.dark}
		if err := Plot(&b, stream(1, c.count, scattered), o); err != nil {
			t.Fatal(err)
		}
		text, err := textsOf(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "\n"+c.want+"\n") {
			t.Errorf("no line %q in %q", c.want, text)
		}
		if !strings.Contains(b.String(), `<svg role="img" aria-label="a &lt; b &amp; c" `) {
			t.Errorf("begins with %.300s", b.String())
		}
		texts, sized := strings.Count(b.String(), "<text "), regexp.MustCompile(`<text textLength="[0-9.]+" lengthAdjust="spacingAndGlyphs" [^>]*Liberation Sans,Arimo,`).FindAllString(b.String(), -1)
		if texts < 10 || len(sized) != texts {
			t.Errorf("%d of %d texts have their width", len(sized), texts)
		}
	}
}

// TestPlotLogX spreads the points 10³ … 10⁹ evenly.
func TestPlotLogX(t *testing.T) {
	var points []engine.Piece
	for n := int64(1000); n <= 1_000_000_000; n *= 10 {
		points = append(points, engine.Piece{Lo: n, Narrow: []int64{n}})
	}
	var b bytes.Buffer
	if err := Plot(&b, pieces(points...), PlotOptions{Kind: PlotRatio, Image: "svg", Lo: 1000, Hi: 1_000_000_001, LogX: true}); err != nil {
		t.Fatal(err)
	}
	text, err := textsOf(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for k := 3; k <= 9; k++ {
		if !strings.Contains(text, fmt.Sprintf("\n10\n%d\n", k)) { // the exponent is a text of its own
			t.Errorf("no tick %s in %q", power(k), text)
		}
	}
}

func TestPlotRefuses(t *testing.T) {
	ok := PlotOptions{Kind: PlotValue, Image: "svg", Lo: 1, Hi: 21}
	boom := errors.New("gone")
	for name, c := range map[string]struct {
		v      Values
		change func(*PlotOptions)
		want   error
	}{
		"kind":      {pieces(hop20), func(o *PlotOptions) { o.Kind = "pie" }, nil},
		"image":     {pieces(hop20), func(o *PlotOptions) { o.Image = "gif" }, nil},
		"range":     {pieces(hop20), func(o *PlotOptions) { o.Hi = 1 }, nil},
		"nothing":   {pieces(hop20), func(o *PlotOptions) { o.Lo, o.Hi = 30, 40 }, ErrNothingToPlot},
		"zeros":     {stream(1, 5, func(int64) int64 { return 0 }), func(o *PlotOptions) { o.Kind = PlotLogLog }, ErrNothingToPlot},
		"falling":   {pieces(hop20, hop20), func(*PlotOptions) {}, nil},
		"a failure": {failing(pieces(hop20), boom), func(*PlotOptions) {}, boom},
	} {
		o := ok
		c.change(&o)
		if err := Plot(io.Discard, c.v, o); err == nil || (c.want != nil && !errors.Is(err, c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Plot(fullDisk{}, pieces(hop20), ok); !errors.Is(err, errFull) {
		t.Errorf("full disk: %v", err)
	}
	for path, want := range map[string]string{"a.svg": "svg", "b/C.PNG": "png", "a.gif": "", "svg": ""} {
		if got, err := ImageOf(path); got != want || (err == nil) != (want != "") {
			t.Errorf("ImageOf(%s) = %q, %v", path, got, err)
		}
	}
}

// TestPlotTenMillion holds the goals for 10⁷ values: 5 s and 200 MB.
func TestPlotTenMillion(t *testing.T) {
	if os.Getenv("NSWEEP_SOAK") == "" {
		t.Skip("NSWEEP_SOAK is not set")
	}
	for _, k := range PlotKinds {
		for _, f := range []string{"png", "svg"} {
			runtime.GC()
			begin := time.Now()
			if err := Plot(io.Discard, stream(1, 10_000_000, scattered), PlotOptions{Kind: k.Kind, Image: f, Lo: 1, Hi: 10_000_001}); err != nil {
				t.Fatal(err)
			}
			took := time.Since(begin)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			t.Logf("%s %s: %v, %d MB from the system", k.Kind, f, took, m.Sys>>20)
			if took > 5*time.Second || m.Sys > 200<<20 {
				t.Errorf("%s %s: %v, %d MB", k.Kind, f, took, m.Sys>>20)
			}
		}
	}
}
