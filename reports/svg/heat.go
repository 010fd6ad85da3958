package svg

import (
	"html"

	"github.com/servegate/pipeline/reports/escape"
)

// Heat is a matrix of tiles. The text of each tile repeats the meaning of its colour.
type Heat struct {
	ID, Title, Desc string
	Columns         []Column
	Rows            []Row
}

// Column of a heat map, with a title in up to two lines.
type Column struct{ Title, Sub string }

// Row has a tile for each column; nil for an empty place.
type Row struct {
	Label string
	Tiles []*Tile
}

// Tile of a heat map.
type Tile struct {
	// Class is the colour: "worse1" … "worse3", "better1" … "better3", "same", "open" (could not be
	// decided), "none".
	Class string
	// Text is short; Title is the whole text, for tooltips and screen readers.
	Text, Title string
	// Anchor is the id of a place in the same page, "" for none.
	Anchor string
}

const (
	tileWidth  = 104.0
	tileHeight = 26.0
	heatHead   = 40.0
)

// SVG draws the map in its natural size: pages scroll it.
func (h Heat) SVG() string {
	labels := 40.0
	for _, r := range h.Rows {
		labels = max(labels, textWidth(escape.Text(r.Label, 40))*1.12+14)
	}
	width := labels + tileWidth*float64(len(h.Columns)) + 2
	height := heatHead + tileHeight*float64(len(h.Rows)) + 2
	c := &canvas{}
	c.open("chart heat", "group", h.ID, h.Title, h.Desc, width, height)
	for i, col := range h.Columns {
		x := labels + tileWidth*(float64(i)+0.5)
		c.text("label", "middle", x, 15, col.Title, 17)
		c.text("tick", "middle", x, 31, col.Sub, 16)
	}
	for i, r := range h.Rows {
		y := heatHead + tileHeight*float64(i)
		c.text("label code", "end", labels-8, y+tileHeight/2+4, r.Label, 40)
		for j, t := range r.Tiles {
			if t != nil && j < len(h.Columns) {
				tile(c, t, labels+tileWidth*float64(j), y)
			}
		}
	}
	return c.close()
}

func tile(c *canvas, t *Tile, x, y float64) {
	anchor := identifier(t.Anchor)
	if anchor != "" {
		c.start("a", "href", "#"+anchor)
	}
	c.start("g", "class", "tile "+identifier(t.Class))
	c.start("title")
	c.b.WriteString(html.EscapeString(escape.Text(t.Title, maxTitle)))
	c.end("title")
	c.shape("rect", "x", x+1, "y", y+1, "width", tileWidth-2, "height", tileHeight-2, "rx", 3.0)
	c.text("value", "middle", x+tileWidth/2, y+tileHeight/2+4, t.Text, 16)
	c.end("g")
	if anchor != "" {
		c.end("a")
	}
	c.b.WriteByte('\n')
}
