package report

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// write draws the picture and writes it in its format.
func (d *drawing) write(w io.Writer) error {
	colors := light
	if d.o.Dark {
		colors = dark
	}
	var target vg.CanvasWriterTo
	if d.o.Image == "svg" {
		target = vgsvg.New(pictureWidth, pictureHeight)
	} else {
		target = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(pictureWidth, pictureHeight), vgimg.UseDPI(72*perPoint), vgimg.UseBackgroundColor(colors.back))}
	}
	p := &picture{Canvas: draw.NewCanvas(target, pictureWidth, pictureHeight), theme: colors,
		fonts: text.Plain{Fonts: font.NewCache(liberation.Collection())}}
	d.draw(p)
	var b bytes.Buffer
	if _, err := target.WriteTo(&b); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	out := b.Bytes()
	if d.o.Image == "svg" {
		out = finishSVG(out, d.title(), p.width)
	}
	_, err := w.Write(out)
	return err
}

// title stands above the picture.
func (d *drawing) title() string {
	if d.o.Title != "" {
		return d.o.Title
	}
	return d.m.title
}

func (d *drawing) draw(p *picture) {
	p.rect(0, 0, pictureWidth, pictureHeight, p.back)
	x, y, paint := d.layers(p)
	p.lines(x, y)
	paint()
	p.frame(x, y)
	p.string(d.title(), (left+right)/2, pictureHeight-28, 15, draw.XCenter, p.text, 0)
	xName, yName := "n", d.m.yName
	if d.m.xName != "" {
		xName = d.m.xName
	}
	if d.m.histogram {
		xName, yName = yName, "number of n"
	}
	p.string(x.name(xName), (left+right)/2, bottom-36, 12, draw.XCenter, p.text, 0)
	p.string(y.name(yName), 16, (bottom+top)/2, 12, draw.XCenter, p.text, math.Pi/2)
	for i, line := range d.footer() {
		p.string(line, left, float64(34-12*i), 8, draw.XLeft, p.theme.frame, 0)
	}
}

// footer says what is shown, and then the caller's lines.
func (d *drawing) footer() []string {
	line := fmt.Sprintf("%d points", d.count)
	if d.hidden > 0 {
		line += fmt.Sprintf(", %d not shown", d.hidden)
	}
	if d.ns == nil && !d.m.curve && !d.m.histogram {
		line += ", stronger where more fall together"
	}
	if d.high {
		line += fmt.Sprintf(", scaled to those from n = %d on", settled)
	}
	if d.m.mark != nil && d.m.markName != "" {
		line += "; the line is at " + d.m.markName
	}
	if len(d.o.Footer) == 0 {
		return []string{line}
	}
	return append([]string{d.o.Footer[0] + " · " + line}, d.o.Footer[1:]...)
}

// layers returns both axes and a function that paints the data.
func (d *drawing) layers(p *picture) (x, y axis, paint func()) {
	if d.m.histogram {
		return d.histogram(p)
	}
	x = axis{lo: d.cols.x0, hi: d.cols.x0 + d.cols.dx*dataWidth, from: left, to: right, log: d.m.logX}
	y = axis{from: bottom, to: top, log: d.m.logY}
	lo, hi := d.yMin, d.yMax
	if lo > hi { // a curve of wild values only
		lo, hi = 0, 1
	}
	if d.m.mark != nil {
		lo, hi = min(lo, *d.m.mark), max(hi, *d.m.mark)
	}
	pad := (hi - lo) * 0.03
	if pad == 0 {
		pad = max(1, math.Abs(hi)) * 0.05
	}
	y.lo, y.hi = lo-pad, hi+pad
	if lo >= 0 && y.lo < 0 && !d.m.logY {
		y.lo = 0
	}
	return x, y, func() {
		switch {
		case d.m.curve:
			p.compare(d.m, y)
			xs, ys := d.points()
			if d.ns == nil {
				xs, ys = d.spanLine()
			}
			p.curve(xs, ys, x, y)
		case d.ns != nil:
			p.compare(d.m, y)
			xs, ys := d.points()
			p.dots(xs, ys, x, y)
		default:
			p.image(d.density(p.data, y))
			p.compare(d.m, y)
		}
	}
}

// spanLine joins the columns of a curve: in each from where it enters over its
// extremes to where it leaves.
func (d *drawing) spanLine() (xs, ys []float64) {
	for column, s := range d.spans {
		if !s.any {
			continue
		}
		x := d.cols.x0 + (float64(column)+0.5)*d.cols.dx
		add := func(y float64) {
			if k := len(ys); k > 0 && xs[k-1] == x && ys[k-1] == y {
				return
			}
			xs, ys = append(xs, x), append(ys, y)
		}
		add(s.first)
		add(s.min)
		add(s.max)
		add(s.last)
	}
	return xs, ys
}

// histogram draws bars of 32 rows each, or of more or fewer when that makes too
// many or too few bars. Between 0 and 1 a line shows what an even spread were.
func (d *drawing) histogram(p *picture) (x, y axis, paint func()) {
	g := d.grid
	per := int64(32)
	first, last := floorDiv(g.lo, per), floorDiv(g.hi, per)
	for last-first >= 128 {
		per *= 2
		first, last = floorDiv(g.lo, per), floorDiv(g.hi, per)
	}
	for last-first < 32 && per > 1 {
		per /= 2
		first, last = floorDiv(g.lo, per), floorDiv(g.hi, per)
	}
	bars := make([]uint64, last-first+1)
	for row := g.lo; row <= g.hi; row++ {
		bars[floorDiv(row, per)-first] += uint64(*g.at(0, row))
	}
	most := uint64(0)
	for _, k := range bars {
		most = max(most, k)
	}
	width := float64(per) * g.step
	x = axis{lo: float64(first) * width, hi: float64(last+1) * width, from: left, to: right}
	y = axis{lo: 0, hi: float64(most) * 1.05, from: bottom, to: top}
	if unit := 1 / width; first == 0 && math.Abs(float64(last+1)-unit) < 1e-6 {
		even := float64(d.count) / unit
		d.m.mark, d.m.markName = &even, "an even spread"
	}
	return x, y, func() {
		for i, k := range bars {
			x0, x1 := x.at(x.lo+float64(i)*width), x.at(x.lo+float64(i+1)*width)
			c := p.data
			c.A = 205
			p.rect(float64(x0)+0.3, bottom, float64(x1)-0.3, float64(y.at(float64(k))), c)
		}
		p.compare(d.m, y)
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
