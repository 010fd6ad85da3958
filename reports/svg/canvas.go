package svg

import (
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
)

// Limits of texts in runes. Charts have little room.
const (
	maxTitle = 200
	maxDesc  = 1000
	maxName  = 34
	maxTick  = 14
)

// canvas collects elements.
type canvas struct {
	b strings.Builder
}

// open begins the drawing, in the role of an image, or of a group if it has links. Without an id it
// has no references to title and description, which most readers do not need.
func (c *canvas) open(class, role, id, title, desc string, width, height float64) {
	attrs := []any{"class", class, "role", role, "viewBox", "0 0 " + num(width) + " " + num(height), "width", width, "height", height}
	titleID, descID := "", ""
	if id = identifier(id); id != "" {
		titleID, descID = id+"-t", id+"-d"
		refs := titleID
		if desc != "" {
			refs += " " + descID
		}
		attrs = append(attrs, "aria-labelledby", refs)
	}
	c.start("svg", attrs...)
	c.named("title", titleID, escape.Text(title, maxTitle))
	if desc != "" {
		c.named("desc", descID, escape.Text(desc, maxDesc))
	}
	c.b.WriteString("\n")
}

func (c *canvas) named(element, id, text string) {
	if id != "" {
		c.start(element, "id", id)
	} else {
		c.start(element)
	}
	c.b.WriteString(html.EscapeString(text))
	c.end(element)
}

// close ends the drawing.
func (c *canvas) close() string {
	c.b.WriteString("</svg>")
	return c.b.String()
}

// start writes a start tag. attrs alternate between trusted names and values; a name with an empty
// value is left out.
func (c *canvas) start(element string, attrs ...any) {
	c.tag(element, attrs)
	c.b.WriteByte('>')
}

// shape writes an element without content.
func (c *canvas) shape(element string, attrs ...any) {
	c.tag(element, attrs)
	c.b.WriteString("/>\n")
}

func (c *canvas) tag(element string, attrs []any) {
	c.b.WriteByte('<')
	c.b.WriteString(element)
	for i := 0; i+1 < len(attrs); i += 2 {
		value := ""
		switch v := attrs[i+1].(type) {
		case float64:
			value = num(v)
		case string:
			value = html.EscapeString(v)
		}
		if value == "" {
			continue
		}
		c.b.WriteString(" " + attrs[i].(string) + `="` + value + `"`)
	}
}

func (c *canvas) end(element string) { c.b.WriteString("</" + element + ">") }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.shape("line", "class", class, "x1", x1, "y1", y1, "x2", x2, "y2", y2)
}

// text writes s, anchored at its start, middle or end. limit is in runes.
func (c *canvas) text(class, anchor string, x, y float64, s string, limit int) {
	s = escape.Text(s, limit)
	if s == "" {
		return
	}
	if anchor == "start" {
		anchor = ""
	}
	c.start("text", "class", class, "x", x, "y", y, "text-anchor", anchor)
	c.b.WriteString(html.EscapeString(s))
	c.end("text")
	c.b.WriteByte('\n')
}

// polyline writes one path through the points; NaN begins a new part.
func (c *canvas) polyline(class string, xs, ys []float64) {
	var d strings.Builder
	pen := false
	for i := range xs {
		if !finite(xs[i]) || !finite(ys[i]) {
			pen = false
			continue
		}
		if pen {
			d.WriteByte('L')
		} else {
			d.WriteByte('M')
		}
		d.WriteString(num(xs[i]) + " " + num(ys[i]))
		pen = true
	}
	if d.Len() > 0 {
		c.shape("path", "class", class, "d", d.String())
	}
}

// num formats v with at most one decimal.
func num(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 || !finite(v) {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// identifier keeps the characters that are allowed in an id.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, s)
}
