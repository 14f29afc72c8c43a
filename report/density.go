package report

import (
	"image"
	"image/color"
	"math"
)

// density returns an image of how many points fall into each pixel. The colour
// grows with the logarithm of the number; a single point has almost half of the
// full colour. While few pixels are filled each is drawn as a larger dot, and so
// is one far from all others.
func (d *drawing) density(c color.NRGBA, y axis) image.Image {
	g := d.grid
	// Rows of the grid are finer than pixels, but not by a whole number: some
	// pixels take one more row than others, and are divided by that.
	pixel := func(row int64) int {
		return int(math.Floor(((float64(row)+0.5)*g.step - y.lo) / (y.hi - y.lo) * dataHeight))
	}
	rows := make([]float64, dataHeight)
	for row := g.lo; row <= g.hi; row++ {
		if k := pixel(row); k >= 0 && k < dataHeight {
			rows[k]++
		}
	}
	mean := max(1, (y.hi-y.lo)/g.step/dataHeight)
	counts := make([]float64, dataWidth*dataHeight)
	most := 1.0
	for column := range dataWidth {
		for row := g.lo; row <= g.hi; row++ {
			k := *g.at(column, row)
			if k == 0 {
				continue
			}
			at := max(0, min(pixel(row), dataHeight-1))
			i := (dataHeight-1-at)*dataWidth + column
			counts[i] += float64(k) * mean / max(rows[at], 1)
			most = max(most, counts[i])
		}
	}
	img := image.NewNRGBA(image.Rect(0, 0, dataWidth, dataHeight))
	filled := 0
	for _, k := range counts {
		if k > 0 {
			filled++
		}
	}
	reach := 0
	switch {
	case filled <= 30_000 && d.count <= 100_000:
		reach = 2
	case filled <= 250_000:
		reach = 1
	}
	scale := math.Log(max(most, math.E))
	for i, k := range counts {
		if k == 0 {
			continue
		}
		c.A = uint8(120 + 135*max(0, math.Log(k))/scale)
		r := reach
		if r == 0 && alone(counts, i) {
			r = 1
		}
		dot(img, i%dataWidth, i/dataWidth, r, c)
	}
	return img
}

// alone reports whether the eight pixels around pixel i are empty.
func alone(counts []float64, i int) bool {
	x0, y0 := i%dataWidth, i/dataWidth
	for y := max(y0-1, 0); y <= min(y0+1, dataHeight-1); y++ {
		for x := max(x0-1, 0); x <= min(x0+1, dataWidth-1); x++ {
			if k := y*dataWidth + x; k != i && counts[k] > 0 {
				return false
			}
		}
	}
	return true
}

// dot colours a pixel and those within reach of it, where they are lighter.
func dot(img *image.NRGBA, x, y, reach int, c color.NRGBA) {
	full := c.A
	for dy := -reach; dy <= reach; dy++ {
		for dx := -reach; dx <= reach; dx++ {
			r := dx*dx + dy*dy
			if r > reach*reach || !(image.Point{X: x + dx, Y: y + dy}).In(img.Rect) {
				continue
			}
			c.A = full
			if r > 2 { // the four tips of a round dot
				c.A = full / 2
			}
			if img.NRGBAAt(x+dx, y+dy).A < c.A {
				img.SetNRGBA(x+dx, y+dy, c)
			}
		}
	}
}
