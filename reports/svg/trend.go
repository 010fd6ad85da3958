package svg

import "github.com/servegate/pipeline/reports/escape"

// Trend is a metric over the sessions of a history: a dot for each, the levels between changes, and
// marks at the changes. Dots and marks have tooltips.
type Trend struct {
	ID, Title, Desc string
	X, Y            Axis
	Lines           []TrendLine
	Levels          []Level
	Marks           []Mark
	Bands           []Band
}

// Band is a range of values between two places, such as the noise about a level.
type Band struct {
	From, To, Low, High float64
	Tip                 string
}

// TrendLine holds the sessions of one machine.
type TrendLine struct {
	Name string
	// Class is "s1" … "s6".
	Class string
	Dots  []Dot
}

// Dot is one session.
type Dot struct {
	X, Y float64
	Tip  string
}

// Level is a value between two places: class "level", "reference" or "margin".
type Level struct {
	From, To, Y float64
	Class, Tip  string
}

// Mark is a place on the x axis: class "worse", "better", "accepted" or "split". Sign is a
// character with the same meaning as the colour.
type Mark struct {
	X                float64
	Class, Sign, Tip string
}

// SVG draws the chart.
func (t Trend) SVG() string {
	var xs, ys []float64
	var names []legendEntry
	for _, l := range t.Lines {
		names = append(names, legendEntry{l.Name, l.Class, false, true})
		for _, d := range l.Dots {
			xs, ys = append(xs, d.X), append(ys, d.Y)
		}
	}
	for _, l := range t.Levels {
		ys = append(ys, l.Y)
	}
	for _, b := range t.Bands {
		ys = append(ys, b.Low, b.High)
	}
	c := &canvas{}
	c.open("chart", "img", t.ID, t.Title, t.Desc, Width, Height)
	f := newFrame(t.X, t.Y, xs, ys)
	f.grid(c)
	f.openPlot(c, t.ID)
	for _, b := range t.Bands {
		left, right, top, bottom := f.x.clamp(b.From), f.x.clamp(b.To), f.y.at(b.High), f.y.at(b.Low)
		if finite(top) && finite(bottom) {
			c.tipped("rect", b.Tip, "class", "band", "x", left, "y", top, "width", right-left, "height", bottom-top)
		}
	}
	for _, m := range t.Marks {
		t.mark(c, f, m)
	}
	for _, l := range t.Lines {
		l.draw(c, f)
	}
	for _, l := range t.Levels {
		if y := f.y.at(l.Y); finite(y) {
			c.tipped("line", l.Tip, "class", l.Class, "x1", f.x.clamp(l.From), "y1", y, "x2", f.x.clamp(l.To), "y2", y)
		}
	}
	c.end("g")
	c.b.WriteByte('\n')
	if len(names) > 1 {
		f.legend(c, names)
	}
	return c.close()
}

// openPlot begins the group of what moves when the page's script zooms: what leaves the frame to a side is cut off.
func (f frame) openPlot(c *canvas, id string) {
	const dot = 3 // half of a dot lies outside at the ends
	clip := ""
	if id = identifier(id); id != "" {
		c.start("clipPath", "id", id+"-k")
		c.shape("rect", "x", f.left-dot, "y", "0", "width", f.right-f.left+2*dot, "height", f.bottom+dot)
		c.end("clipPath")
		clip = "url(#" + id + "-k)"
	}
	c.start("g", "class", "plot", "clip-path", clip, "data-left", f.left, "data-right", f.right)
	c.b.WriteByte('\n')
}

func (Trend) mark(c *canvas, f frame, m Mark) {
	at := f.x.at(m.X)
	if !finite(at) {
		return
	}
	c.tipped("line", m.Tip, "class", "mark "+m.Class, "x1", at, "y1", f.top-2, "x2", at, "y2", f.bottom)
	c.text("sign "+m.Class, "middle", at, f.top-5, m.Sign, 2)
}

func (l TrendLine) draw(c *canvas, f frame) {
	xs, ys := make([]float64, len(l.Dots)), make([]float64, len(l.Dots))
	for i, d := range l.Dots {
		xs[i], ys[i] = f.x.at(d.X), f.y.at(d.Y)
	}
	r := 2.6
	if len(l.Dots) > 400 {
		r = 1.5 // so that they hide less of each other
	}
	c.polyline("line thin "+l.Class, xs, ys)
	for i, d := range l.Dots {
		if finite(xs[i]) && finite(ys[i]) {
			c.tipped("circle", d.Tip, "class", "dot "+l.Class, "cx", xs[i], "cy", ys[i], "r", r)
		}
	}
}

// tipped writes an element with a tooltip.
func (c *canvas) tipped(element, tip string, attrs ...any) {
	if tip == "" {
		c.shape(element, attrs...)
		return
	}
	c.start(element, attrs...)
	c.named("title", "", escape.Text(tip, maxTitle))
	c.end(element)
	c.b.WriteByte('\n')
}
