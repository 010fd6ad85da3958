package svg

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
)

// The size of charts with axes, in units of the drawing. A page scales them to its columns, down to
// the width of a phone.
const (
	Width  = 380.0
	Height = 230.0

	marginLeft   = 52.0
	marginRight  = 18.0
	marginTop    = 30.0
	marginBottom = 40.0

	// Limits of the title of the y axis and of names below a chart, in runes.
	maxAxisTitle = 24
	maxBelow     = 48
)

// frame is the rectangle of a chart between two axes.
type frame struct {
	x, y                     scale
	left, right, top, bottom float64
}

// newFrame lays out both axes for the values of the data.
func newFrame(x, y Axis, xs, ys []float64) frame {
	f := frame{left: marginLeft, right: Width - marginRight, top: marginTop, bottom: Height - marginBottom}
	f.x = layout(x, xs, f.left, f.right, 5)
	f.y = layout(y, ys, f.bottom, f.top, 4)
	return f
}

// grid draws lines, ticks and titles of both axes.
func (f frame) grid(c *canvas) {
	for _, t := range f.y.ticks {
		if !f.y.inside(t) {
			continue
		}
		at := f.y.at(t)
		c.line("grid", f.left, at, f.right, at)
		c.text("tick", "end", f.left-5, at+3.5, f.y.label(t), maxTick)
	}
	for _, t := range f.x.ticks {
		if !f.x.inside(t) {
			continue
		}
		at := f.x.at(t)
		c.line("grid", at, f.top, at, f.bottom)
		c.text("tick", "middle", at, f.bottom+14, f.x.label(t), maxTick)
	}
	c.line("axis", f.left, f.bottom, f.right, f.bottom)
	c.text("label", "middle", (f.left+f.right)/2, Height-7, f.x.axis.Title, 60)
	c.text("label", "start", 2, 12, f.y.axis.Title, maxAxisTitle)
}

// legend draws the names of the series in the upper right corner, from the right.
func (f frame) legend(c *canvas, series []legendEntry) {
	x := f.right
	for _, s := range slices.Backward(series) {
		name := cutName(s.name, len(series))
		x -= textWidth(name)
		c.text("label", "start", x, 12, name, maxName)
		x -= 8
		if s.line {
			x -= 8
			c.line("line "+s.class, x-6, 8.5, x+12, 8.5)
		}
		if s.dot {
			marker(c, s.class, x, 8.5, "")
		}
		x -= 12
	}
}

// legendRow is the height of a name below a chart.
const legendRow = 15.0

// fitsAbove reports whether all names fit uncut beside the title of the y axis.
func fitsAbove(title string, series []legendEntry) bool {
	const signs, between = 28.0, 12.0
	width := between + textWidth(escape.Text(title, maxAxisTitle))
	for _, s := range series {
		name := escape.Text(s.name, maxName)
		if name != cutName(s.name, len(series)) && len(series) > 2 {
			return false
		}
		width += signs + textWidth(cutName(s.name, len(series)))
	}
	return width <= Width-marginRight || len(series) < 2
}

// legendBelow draws the names of the series below the chart, one a row.
func (f frame) legendBelow(c *canvas, series []legendEntry) {
	for i, s := range series {
		y := Height + legendRow*(float64(i)+0.5)
		if s.line {
			c.line("line "+s.class, f.left, y-3.5, f.left+18, y-3.5)
		}
		if s.dot {
			marker(c, s.class, f.left+9, y-3.5, "")
		}
		c.text("label", "start", f.left+25, y, s.name, maxBelow)
	}
}

// legendEntry is a series by name and class, and how it is drawn.
type legendEntry struct {
	name, class string
	line, dot   bool
}

// marker draws a dot of a series, with a tooltip. The style sheet draws the base's dots hollow, so
// that the sides do not only differ in colour.
func marker(c *canvas, class string, x, y float64, tip string) {
	c.tipped("circle", tip, "class", "dot "+class, "cx", x, "cy", y, "r", 3.5)
}

// tip returns the tooltip for a value of a series.
func (f frame) tip(name string, value float64) string {
	return strings.TrimSpace(name + ": " + f.y.exact(value) + unitOf(f.y.axis.Title))
}

// unitOf returns the unit at the end of a title such as "TTFT, ms".
func unitOf(title string) string {
	if at := strings.LastIndex(title, ", "); at >= 0 {
		title = title[at+2:]
	}
	if title == "" || len(title) > 6 {
		return ""
	}
	return " " + title
}
