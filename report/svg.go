package report

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"
)

// svgText finds the texts that the library writes, with their size.
var svgText = regexp.MustCompile(`<text (x="[^"]*" y="[^"]*" transform="[^"]*"\s*style=")font-family:Liberation Sans;([^"]*;font-size:([0-9.]+)px;[^"]*)">([^<]*)</text>`)

// finishSVG makes a file of the library fit for other machines and for people who
// hear it. Texts get the width that they have here, and fonts to fall back
// on: where Liberation Sans is missing, a wider one would run over the edge. The
// title is the picture's name. width is that of a text in points.
func finishSVG(svg []byte, title string, width func(text string, size float64) float64) []byte {
	svg = svgText.ReplaceAllFunc(svg, func(b []byte) []byte {
		m := svgText.FindSubmatch(b)
		size, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			return b
		}
		return fmt.Appendf(nil, `<text textLength="%.4g" lengthAdjust="spacingAndGlyphs" %sfont-family:Liberation Sans,Arimo,Helvetica,Arial,sans-serif;%s">%s</text>`,
			width(html.UnescapeString(string(m[4])), size), m[1], m[2], m[4])
	})
	// The library calls embedded PNG images JPEG, which not every viewer forgives.
	svg = bytes.ReplaceAll(svg, []byte("data:image/jpg;"), []byte("data:image/png;"))
	return bytes.Replace(svg, []byte("<svg "), fmt.Appendf(nil, `<svg role="img" aria-label="%s" `, html.EscapeString(title)), 1)
}
