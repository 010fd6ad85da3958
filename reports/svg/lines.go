package svg

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Lines is a chart of series over two axes.
type Lines struct {
	ID, Title, Desc string
	X, Y            Axis
	Series          []Series
	Zones           []Zone
	Segments        []Segment
}

// Zone is a range of the x axis over the whole height, such as the interval of an estimate.
type Zone struct {
	From, To float64
	Class    string
}

// Segment is a straight line besides the series: an interval, a limit. An infinite end is at the
// edge of the chart.
type Segment struct {
	X1, Y1, X2, Y2 float64
	Class, Tip     string
	Label          string // above its right end
}

// Series of a chart: a line through points, or the points alone.
type Series struct {
	Name string
	// Class is "base" or "head" for the sides, "s1" … "s6" otherwise.
	Class  string
	Points []Point
	Dots   bool // draws a dot for each point
	Bare   bool // draws no line between the points, and no name
}

// Point is a point of a series. If Low and High differ, a band is drawn between them on the y axis,
// or along the x axis with BandX.
type Point struct {
	X, Y      float64
	Low, High float64
	BandX     bool
	// Tip is the tooltip of the dot, by default the value of Y.
	Tip string
	// Mark is an additional class of the dot.
	Mark string
}

// SVG draws the chart.
func (l Lines) SVG() string {
	var xs, ys []float64
	for _, s := range l.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			switch {
			case p.Low == p.High:
			case p.BandX:
				xs = append(xs, p.Low, p.High)
			default:
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	for _, s := range l.Segments {
		xs, ys = append(xs, s.X1, s.X2), append(ys, s.Y1, s.Y2)
	}
	for _, z := range l.Zones {
		xs = append(xs, z.From, z.To)
	}
	var names []legendEntry
	for _, s := range l.Series {
		if !s.Bare {
			names = append(names, legendEntry{s.Name, s.Class, true, s.Dots})
		}
	}
	below := 0.0
	if !fitsAbove(l.Y.Title, names) {
		below = legendRow * float64(len(names))
	}
	c := &canvas{}
	c.open("chart", "img", l.ID, l.Title, l.Desc, Width, Height+below)
	f := newFrame(l.X, l.Y, xs, ys)
	for _, z := range l.Zones {
		f.zone(c, z)
	}
	f.grid(c)
	for _, s := range l.Segments {
		f.segment(c, s)
	}
	for _, s := range l.Series {
		f.band(c, s)
	}
	// Draw the first one last: a dashed line on a solid one shows both if they coincide.
	for _, s := range slices.Backward(l.Series) {
		f.series(c, s)
	}
	if below > 0 {
		f.legendBelow(c, names)
	} else {
		f.legend(c, names)
	}
	return c.close()
}

// series draws line and dots.
func (f frame) series(c *canvas, s Series) {
	xs, ys := make([]float64, len(s.Points)), make([]float64, len(s.Points))
	for i, p := range s.Points {
		xs[i], ys[i] = f.x.at(p.X), f.y.at(p.Y)
	}
	if !s.Bare {
		c.polyline("line "+s.Class, xs, ys)
	}
	if s.Dots {
		for i := range xs {
			if finite(xs[i]) && finite(ys[i]) {
				marker(c, strings.TrimSpace(s.Class+" "+s.Points[i].Mark), xs[i], ys[i], cmp.Or(s.Points[i].Tip, f.tip(s.Name, s.Points[i].Y)))
			}
		}
	}
}

// band draws the area between the lows and the highs.
func (f frame) band(c *canvas, s Series) {
	var xs, ys []float64
	add := func(p Point, v float64) {
		x, y := f.x.at(p.X), f.y.at(p.Y)
		if p.BandX {
			x = f.x.at(v)
		} else {
			y = f.y.at(v)
		}
		if finite(x) && finite(y) {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	bands := false
	for _, p := range s.Points {
		bands = bands || p.Low != p.High
		add(p, p.Low)
	}
	if !bands {
		return
	}
	for _, p := range slices.Backward(s.Points) {
		add(p, p.High)
	}
	c.polyline("band "+s.Class, xs, ys)
}

// zone draws the part of a zone that is within the chart.
func (f frame) zone(c *canvas, z Zone) {
	from, to := f.x.edge(z.From), f.x.edge(z.To)
	if finite(from) && finite(to) && to > from {
		c.shape("rect", "class", "zone "+z.Class, "x", from, "y", f.top, "width", to-from, "height", f.bottom-f.top)
	}
}

// segment draws a segment whose ends all have a place.
func (f frame) segment(c *canvas, s Segment) {
	x1, y1, x2, y2 := f.x.edge(s.X1), f.y.edge(s.Y1), f.x.edge(s.X2), f.y.edge(s.Y2)
	if finite(x1) && finite(y1) && finite(x2) && finite(y2) {
		c.tipped("line", s.Tip, "class", s.Class, "x1", x1, "y1", y1, "x2", x2, "y2", y2)
		c.text("label", "end", max(x1, x2), min(y1, y2)-4, s.Label, maxName)
	}
}

// edge returns at; for infinite values, the ends of the axis.
func (s scale) edge(v float64) float64 {
	switch {
	case math.IsInf(v, -1):
		return s.from
	case math.IsInf(v, 1):
		return s.to
	}
	return s.at(v)
}
