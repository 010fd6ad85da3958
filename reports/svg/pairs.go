package svg

// Pairs shows base and head of each repeat, connected. It shows whether the change is present in
// every repeat or made by one.
type Pairs struct {
	ID, Title, Desc string
	Base, Head      string // names of the sides
	Y               Axis
	Points          []Pair
}

// Pair is one repeat.
type Pair struct {
	Label      string
	Base, Head float64
	// Worse draws the connection as a change for the worse.
	Worse bool
}

// SVG draws the chart.
func (p Pairs) SVG() string {
	var ys []float64
	x := Axis{Title: "repeat", Fixed: true, Min: 0.4, Max: float64(len(p.Points)) + 0.6}
	// Not every label fits.
	stride := max(1, (len(p.Points)+11)/12)
	for i, pair := range p.Points {
		ys = append(ys, pair.Base, pair.Head)
		if i%stride == 0 {
			x.Ticks = append(x.Ticks, float64(i+1))
		}
	}
	x.Format = func(at float64) string {
		if i := int(at) - 1; i >= 0 && i < len(p.Points) {
			return p.Points[i].Label
		}
		return ""
	}
	c := &canvas{}
	c.open("chart", "img", p.ID, p.Title, p.Desc, Width, Height)
	f := newFrame(x, p.Y, nil, ys)
	f.grid(c)
	for i, pair := range p.Points {
		p.pair(c, f, float64(i+1), pair)
	}
	f.legend(c, []legendEntry{{p.Base, "base", false, true}, {p.Head, "head", false, true}})
	return c.close()
}

func (p Pairs) pair(c *canvas, f frame, at float64, pair Pair) {
	const apart = 0.16
	x1, x2 := f.x.at(at-apart), f.x.at(at+apart)
	y1, y2 := f.y.at(pair.Base), f.y.at(pair.Head)
	if !finite(y1) || !finite(y2) {
		return
	}
	class := "pair better"
	if pair.Worse {
		class = "pair worse"
	}
	c.line(class, x1, y1, x2, y2)
	marker(c, "base", x1, y1, f.tip("#"+pair.Label+" "+p.Base, pair.Base))
	marker(c, "head", x2, y2, f.tip("#"+pair.Label+" "+p.Head, pair.Head))
}
