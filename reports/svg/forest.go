package svg

import "math"

// Forest shows estimates with their intervals on one axis, with lines for no change and the margin.
type Forest struct {
	ID, Title, Desc string
	X               Axis
	Rows            []Interval
	// Margin is the smallest change for the worse that matters, on the axis; NaN for none. The side
	// beyond it, seen from zero, is marked.
	Margin float64
}

// Interval is one row.
type Interval struct {
	Label string
	// Value is the estimate. Lower and Upper are NaN without an interval, infinite for an open end.
	Value, Lower, Upper float64
	// Main marks the row that decides, drawn strongly.
	Main bool
	// Text is shown at the right end.
	Text string
}

const (
	forestRow   = 16.0
	forestLabel = 62.0
	forestText  = 66.0
)

// SVG draws the chart. Its height grows with the rows.
func (fo Forest) SVG() string {
	const top, bottom = 22.0, 38.0
	height := top + bottom + forestRow*float64(len(fo.Rows)) + 4
	left, right := forestLabel, Width-forestText
	values := []float64{0}
	for _, r := range fo.Rows {
		values = append(values, r.Value, r.Lower, r.Upper)
	}
	if finite(fo.Margin) {
		values = append(values, fo.Margin)
	}
	x := layout(fo.X, values, left, right, 4)
	c := &canvas{}
	c.open("chart", "img", fo.ID, fo.Title, fo.Desc, Width, height)
	fo.ground(c, x, top, height-bottom)
	for i, r := range fo.Rows {
		fo.row(c, x, top+4+forestRow*(float64(i)+0.5), r)
	}
	c.text("label", "middle", (left+right)/2, height-7, fo.X.Title, 60)
	return c.close()
}

// ground draws the axis, zero and the margin with the side beyond it.
func (fo Forest) ground(c *canvas, x scale, top, bottom float64) {
	if finite(fo.Margin) {
		from, to := x.at(fo.Margin), x.to
		if fo.Margin < 0 {
			from, to = x.from, from
		}
		c.shape("rect", "class", "beyond", "x", from, "y", top, "width", to-from, "height", bottom-top)
	}
	for _, t := range x.ticks {
		if x.inside(t) {
			c.line("grid", x.at(t), top, x.at(t), bottom)
			c.text("tick", "middle", x.at(t), bottom+14, x.label(t), maxTick)
		}
	}
	if finite(fo.Margin) {
		at, anchor := x.at(fo.Margin), "start"
		if fo.Margin < 0 {
			anchor = "end"
		}
		c.line("margin", at, top, at, bottom)
		c.text("label", anchor, at, top-7, "margin", maxTick)
	}
	c.line("zero", x.at(0), top, x.at(0), bottom)
	c.line("axis", x.from, bottom, x.to, bottom)
}

func (fo Forest) row(c *canvas, x scale, y float64, r Interval) {
	class := "each"
	if r.Main {
		class = "main"
	}
	c.text("label "+class, "end", forestLabel-8, y+3.5, r.Label, 9)
	c.text("label "+class, "start", Width-forestText+8, y+3.5, r.Text, 9)
	if !finite(r.Value) {
		return
	}
	if !math.IsNaN(r.Lower) && !math.IsNaN(r.Upper) {
		from, to := x.clamp(r.Lower), x.clamp(r.Upper)
		c.line("interval "+class, from, y, to, y)
		for _, end := range []float64{r.Lower, r.Upper} {
			if finite(end) { // an open end has no stop
				c.line("interval "+class, x.at(end), y-4, x.at(end), y+4)
			}
		}
	}
	radius := 3.0
	if r.Main {
		radius = 4.5
	}
	c.shape("circle", "class", "estimate "+class, "cx", x.at(r.Value), "cy", y, "r", radius)
}
