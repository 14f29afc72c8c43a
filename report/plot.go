package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/nsweep/nsweep/engine"
)

// PlotOptions are the settings of Plot.
type PlotOptions struct {
	Kind PlotKind
	// Image is "svg" or "png".
	Image string
	// Lo and Hi limit n to [Lo, Hi); the axis spans them.
	Lo, Hi int64
	// LogX makes the axis of n logarithmic, for single points over several powers
	// of ten. Some kinds are so always.
	LogX bool
	// Symbol is how the function is written, such as "M(n)"; f(n) when empty.
	Symbol string
	// Title stands above the picture, by default what the kind shows.
	Title string
	// Footer stands below the picture, one line each: run and digest.
	Footer []string
	// Dark draws light on dark. The default is dark on white, for print.
	Dark bool
}

// maxDots is how many points are drawn one by one; more are counted in pixels.
const maxDots = 5000

// ErrNothingToPlot says that there was no value that the plot could show.
var ErrNothingToPlot = errors.New("no values to plot")

// Plot reads the values once and writes a picture. Up to 5000 points are drawn
// as dots or, where neighbours belong together, as a line; more are counted in
// a grid of the picture's pixels and drawn the darker the more fall into one,
// each pixel with a point in it visible. Memory is about 25 MB for any number
// of values.
func Plot(w io.Writer, values Values, o PlotOptions) error {
	if o.Symbol == "" {
		o.Symbol = "f(n)"
	}
	m, err := newMeasure(o.Kind, o.Symbol)
	if err != nil {
		return err
	}
	m.logX = (m.logX || o.LogX) && !m.histogram
	if o.Image != "svg" && o.Image != "png" {
		return fmt.Errorf("pictures are svg or png, not %q", o.Image)
	}
	if o.Lo < 1 || o.Hi <= o.Lo {
		return fmt.Errorf("n = %d…%d is not a range to plot", o.Lo, o.Hi-1)
	}
	d := newDrawing(m, o)
	for p, err := range values {
		if err != nil {
			return err
		}
		if err := d.take(p); err != nil {
			return err
		}
	}
	if d.count == 0 {
		return fmt.Errorf("plot %s of n = %d…%d: %w", o.Kind, o.Lo, o.Hi-1, ErrNothingToPlot)
	}
	return d.write(w)
}

// drawing gathers what a picture shows.
type drawing struct {
	m    measure
	o    PlotOptions
	cols *columnsOf

	count, hidden int64 // points shown, and those the measure leaves out
	last          int64
	yMin, yMax    float64
	high          bool // a curve goes beyond yMin to yMax at n < settled
	// Up to maxDots points as they are; nil once there are more. Then grid has
	// all of them or, for a curve, spans has what passes through each column.
	ns, ys []float64
	grid   *bins
	spans  []xspan
}

// xspan is the part of a curve in one column.
type xspan struct {
	any         bool
	first, last float64
	min, max    float64
}

func newDrawing(m measure, o PlotOptions) *drawing {
	d := &drawing{m: m, o: o, yMin: math.Inf(1), yMax: math.Inf(-1), ns: []float64{}}
	if m.histogram {
		d.ns, d.grid = nil, newBins(1, 1.0/3200) // 32 rows are a hundredth
	}
	d.cols = newColumns(dataWidth, o.Lo, max(o.Hi-1, o.Lo+1), m.logX)
	return d
}

func (d *drawing) take(p engine.Piece) error {
	for i := range p.Len() {
		n := p.Lo + int64(i)
		if n <= d.last {
			return fmt.Errorf("plot: n = %d follows n = %d", n, d.last)
		}
		d.last = n
		if n < d.o.Lo || n >= d.o.Hi {
			continue
		}
		y, ok := d.m.y(n, p.At(i))
		if !ok || math.IsNaN(y) || math.IsInf(y, 0) {
			d.hidden++
			continue
		}
		d.add(float64(n), y)
	}
	return nil
}

// settled is where the scale of a curve over a long range begins to count: of
// sums and means the first few are wild.
const settled = 10

func (d *drawing) add(n, y float64) {
	d.count++
	if d.m.curve && n < settled && d.o.Hi > 100*settled {
		d.high = true
	} else {
		d.yMin, d.yMax = min(d.yMin, y), max(d.yMax, y)
	}
	switch {
	case d.ns == nil:
		d.tally(n, y)
	case len(d.ns) < maxDots:
		d.ns, d.ys = append(d.ns, n), append(d.ys, y)
	default:
		if d.m.curve {
			d.spans = make([]xspan, dataWidth)
		} else {
			d.grid = newBins(dataWidth, 0x1p-30)
		}
		for i, n := range d.ns {
			d.tally(n, d.ys[i])
		}
		d.ns, d.ys = nil, nil
		d.tally(n, y)
	}
}

// tally counts a point where it falls.
func (d *drawing) tally(n, y float64) {
	switch {
	case d.m.histogram:
		d.grid.add(0, y)
	case d.m.curve:
		s := &d.spans[d.cols.of(n)]
		if !s.any {
			*s = xspan{true, y, y, y, y}
		}
		s.last = y
		s.min, s.max = min(s.min, y), max(s.max, y)
	default:
		d.grid.add(d.cols.of(n), y)
	}
}

// points returns the single points with x in units of the axis.
func (d *drawing) points() (xs, ys []float64) {
	for _, n := range d.ns {
		xs = append(xs, d.cols.x(n))
	}
	return xs, d.ys
}

// ImageOf returns the format of a picture by its file's name: "svg", "png", or
// an error.
func ImageOf(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg", ".png":
		return ext[1:], nil
	}
	return "", fmt.Errorf("%s: pictures are .svg or .png", path)
}
