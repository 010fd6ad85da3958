package svg

import "slices"

// Lines is a chart of series over two axes.
type Lines struct {
	ID, Title, Desc string
	X, Y            Axis
	Series          []Series
}

// Series of a chart: a line through points, or the points alone.
type Series struct {
	Name string
	// Class is "base" or "head" for the sides, "s1" … "s6" otherwise.
	Class  string
	Points []Point
	Dots   bool // marks each point
}

// Point of a series. Band is drawn from Low to High on the y axis where both differ, or
// along the x axis with BandX.
type Point struct {
	X, Y      float64
	Low, High float64
	BandX     bool
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
	c := &canvas{}
	c.open("chart", "img", l.ID, l.Title, l.Desc, Width, Height)
	f := newFrame(l.X, l.Y, xs, ys)
	f.grid(c)
	var names []legendEntry
	for _, s := range l.Series {
		f.band(c, s)
		names = append(names, legendEntry{s.Name, s.Class, true, s.Dots})
	}
	// The first one last: a dashed line on a solid one shows both where they coincide.
	for _, s := range slices.Backward(l.Series) {
		f.series(c, s)
	}
	f.legend(c, names)
	return c.close()
}

// series draws line and dots.
func (f frame) series(c *canvas, s Series) {
	xs, ys := make([]float64, len(s.Points)), make([]float64, len(s.Points))
	for i, p := range s.Points {
		xs[i], ys[i] = f.x.at(p.X), f.y.at(p.Y)
	}
	c.polyline("line "+s.Class, xs, ys)
	if s.Dots {
		for i := range xs {
			if finite(xs[i]) && finite(ys[i]) {
				marker(c, s.Class, xs[i], ys[i], f.tip(s.Name, s.Points[i].Y))
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
