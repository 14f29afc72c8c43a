package report

import (
	"image"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A picture has a fixed layout in points, so that the pixels of the data area
// are known before the data is: two pixels a point in PNG.
const (
	pictureWidth, pictureHeight = 800, 500
	left, right, bottom, top    = 74, 774, 86, 456
	perPoint                    = 2
	dataWidth                   = (right - left) * perPoint
	dataHeight                  = (top - bottom) * perPoint
)

// theme is a set of colours.
type theme struct {
	back, text, faint, frame, data, mark color.NRGBA
}

// The blue and the orange differ in lightness as well, for print without colour
// and for readers who do not see it.
var (
	light = theme{back: rgb(0xffffff), text: rgb(0x1a1a1a), faint: rgb(0xdfe3e8), frame: rgb(0x555c66), data: rgb(0x1b4f9c), mark: rgb(0xd9480f)}
	dark  = theme{back: rgb(0x14171c), text: rgb(0xe8eaed), faint: rgb(0x2b3038), frame: rgb(0x9aa3ad), data: rgb(0x7db8ff), mark: rgb(0xff9d5c)}
)

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
}

// axis maps a range of numbers to a range of points. The range of a logarithmic
// one is in powers of ten.
type axis struct {
	lo, hi   float64
	from, to float64
	log      bool
}

func (a axis) at(v float64) vg.Length {
	return vg.Length(a.from + (v-a.lo)/(a.hi-a.lo)*(a.to-a.from))
}

func (a axis) ticks() []tick { return axisTicks(a.lo, a.hi, a.log) }

// name returns what stands beside the axis of a quantity: where labels leave out
// what all of its numbers share, it says so.
func (a axis) name(quantity string) string {
	base := axisBase(a.lo, a.hi, a.log)
	if base == 0 {
		return quantity
	}
	sign := " − "
	if base < 0 {
		sign = " + "
	}
	return quantity + sign + strconv.FormatFloat(math.Abs(base), 'f', -1, 64)
}

// picture draws on one canvas.
type picture struct {
	draw.Canvas
	theme
	fonts text.Handler
}

func (p *picture) rect(x0, y0, x1, y1 float64, c color.Color) {
	p.FillPolygon(c, []vg.Point{{X: vg.Length(x0), Y: vg.Length(y0)}, {X: vg.Length(x1), Y: vg.Length(y0)},
		{X: vg.Length(x1), Y: vg.Length(y1)}, {X: vg.Length(x0), Y: vg.Length(y1)}})
}

func (p *picture) line(c color.Color, width, x0, y0, x1, y1 vg.Length) {
	p.StrokeLine2(draw.LineStyle{Color: c, Width: width}, x0, y0, x1, y1)
}

func sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size)}
}

// width returns how wide a text is, in points.
func (p *picture) width(s string, size float64) float64 {
	w, _, _ := p.fonts.Box(s, sans(size))
	return float64(w)
}

func (p *picture) string(s string, x, y, size float64, align draw.XAlignment, c color.Color, turn float64) {
	sty := text.Style{Color: c, Font: sans(size),
		Rotation: turn, XAlign: align, YAlign: draw.YCenter, Handler: p.fonts}
	p.FillText(sty, vg.Point{X: vg.Length(x), Y: vg.Length(y)}, s)
}

// label writes a tick's label around y, its exponent in small raised digits: the
// font has no ⁰ and no ⁹.
func (p *picture) label(s string, x, y float64, align draw.XAlignment) {
	const size, small, raise = 10, 7, 3.5
	plain, exponent := lowered(s)
	first := p.width(plain, size)
	x += float64(align) * (first + p.width(exponent, small))
	p.string(plain, x, y, size, draw.XLeft, p.text, 0)
	p.string(exponent, x+first, y+raise, small, draw.XLeft, p.text, 0)
}

// lines draws the grid behind the data.
func (p *picture) lines(x, y axis) {
	for _, t := range x.ticks() {
		if t.label != "" {
			p.line(p.faint, 0.5, x.at(t.at), bottom, x.at(t.at), top)
		}
	}
	for _, t := range y.ticks() {
		if t.label != "" {
			p.line(p.faint, 0.5, left, y.at(t.at), right, y.at(t.at))
		}
	}
}

// frame draws the axes with ticks and labels over the data.
func (p *picture) frame(x, y axis) {
	c := p.theme.frame
	for _, t := range x.ticks() {
		at, length := x.at(t.at), vg.Length(3)
		if t.label != "" {
			length = 5
			p.label(t.label, float64(at), bottom-14, draw.XCenter)
		}
		p.line(c, 0.7, at, bottom-length, at, bottom)
	}
	for _, t := range y.ticks() {
		at, length := y.at(t.at), vg.Length(3)
		if t.label != "" {
			length = 5
			p.label(t.label, left-8, float64(at), draw.XRight)
		}
		p.line(c, 0.7, left-length, at, left, at)
	}
	p.StrokeLines(draw.LineStyle{Color: c, Width: 0.8}, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}, {X: left, Y: bottom}})
}

// compare draws the line to compare with.
func (p *picture) compare(m measure, y axis) {
	if m.mark != nil {
		p.line(p.theme.mark, 1.2, left, y.at(*m.mark), right, y.at(*m.mark))
	}
}

func (p *picture) dots(xs, ys []float64, x, y axis) {
	radius := vg.Length(1.6)
	if len(xs) > 500 {
		radius = 1
	}
	p.SetColor(p.data)
	for i := range xs {
		var dot vg.Path
		at := vg.Point{X: x.at(xs[i]), Y: y.at(ys[i])}
		dot.Move(vg.Point{X: at.X + radius, Y: at.Y})
		dot.Arc(at, radius, 0, 2*math.Pi)
		dot.Close()
		p.Fill(dot)
	}
}

func (p *picture) curve(xs, ys []float64, x, y axis) {
	points := make([]vg.Point, len(xs))
	for i := range xs {
		points[i] = vg.Point{X: x.at(xs[i]), Y: y.at(ys[i])}
	}
	data := draw.Canvas{Canvas: p.Canvas.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top}}}
	data.StrokeLines(draw.LineStyle{Color: p.data, Width: 1}, data.ClipLinesXY(points)...)
	if len(points) <= 60 {
		p.dots(xs, ys, x, y)
	}
}

func (p *picture) image(img image.Image) {
	p.DrawImage(vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top}}, img)
}
