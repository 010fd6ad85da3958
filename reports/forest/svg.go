package forest

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/escape"
)

// Sizes of a drawing, in units of the SVG.
const (
	Width     = 160.0 // of the part with the axis
	RowHeight = 15.0
	half      = RowHeight / 2
	inset     = 6.0 // between the axis and both edges

	boldWidth = 8.0 // of a letter of the title, at most on average

	roomForNames = 28.0 // between zero and the margin, for both names in the middle of their lines
)

func x(at float64) string { return num(inset + at*(Width-2*inset)) }

func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// SVG draws the interval of a row with its part of the band and of the line at zero, for a page that stacks rows.
func (s Scale) SVG(r Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="mark" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" preserveAspectRatio="none" `+
		`aria-hidden="true" focusable="false">`,
		num(Width), num(RowHeight))
	s.ground(&b, 0, RowHeight)
	s.mark(&b, r, half)
	b.WriteString("</svg>")
	return b.String()
}

// Axis draws the names of zero and the margin, over the rows of SVG.
func (s Scale) Axis() string {
	return fmt.Sprintf(`<svg class="mark" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s">%[3]s</svg>`,
		num(Width), num(RowHeight), s.ticks(11, "start"))
}

// ticks draws the names of zero and the margin. Where both would touch, zero's moves to the left of its line, and the
// margin's gets an anchor of its own.
func (s Scale) ticks(y float64, near string) string {
	zero, margin := "middle", "middle"
	if (s.At(1)-s.At(0))*(Width-2*inset) < roomForNames {
		zero, margin = "end", near
	}
	return fmt.Sprintf(`<text x="%s" y="%s" text-anchor="%s">0</text><text x="%s" y="%[2]s" text-anchor="%[5]s">margin</text>`,
		x(s.At(0)), num(y), zero, x(s.At(1)), margin)
}

// ground draws the band of the margin and the line at zero.
func (s Scale) ground(b *strings.Builder, top, height float64) {
	from, to := inset+s.At(-1)*(Width-2*inset), inset+s.At(1)*(Width-2*inset)
	fmt.Fprintf(b, `<rect class="band" x="%s" y="%s" width="%s" height="%s"/>`, num(from), num(top), num(to-from), num(height))
	fmt.Fprintf(b, `<line class="margin" x1="%s" y1="%s" x2="%[1]s" y2="%[3]s"/>`, num(to), num(top), num(top+height))
	fmt.Fprintf(b, `<line class="zero" x1="%s" y1="%s" x2="%[1]s" y2="%[3]s"/>`, x(s.At(0)), num(top), num(top+height))
}

// class returns the classes of a row in the style sheet.
func class(r Row) string {
	if slices.Contains([]string{"bad", "warn", "good"}, r.Class) {
		return "is " + r.Class
	}
	return "is"
}

// mark draws the interval and the estimate of a row around a height.
func (s Scale) mark(b *strings.Builder, r Row, y float64) {
	m, ok := s.Mark(r)
	if !ok {
		return
	}
	class := class(r)
	if m.Interval {
		fmt.Fprintf(b, `<line class="interval %s" x1="%s" y1="%s" x2="%s" y2="%[3]s"/>`, class, x(m.From), num(y), x(m.To))
		for _, end := range []struct {
			at   float64
			open bool
			tip  float64
		}{{m.From, m.OpenLower, -1}, {m.To, m.OpenUpper, 1}} {
			if end.open {
				at := inset + end.at*(Width-2*inset)
				fmt.Fprintf(b, `<path class="arrow %s" d="M%s %sL%s %sL%[2]s %[6]sZ"/>`, class, num(at), num(y-3.5),
					num(at+4*end.tip), num(y), num(y+3.5))
			} else {
				fmt.Fprintf(b, `<line class="interval %s" x1="%s" y1="%s" x2="%[2]s" y2="%[4]s"/>`, class, x(end.at), num(y-3.5), num(y+3.5))
			}
		}
	}
	if m.Beyond == 0 {
		fmt.Fprintf(b, `<circle class="estimate %s" cx="%s" cy="%s" r="3.2"/>`, class, x(m.At), num(y))
	}
}

// Style is the style sheet of a drawing, in a file and on a page.
//
//go:embed forest.css
var Style string

// Columns of the file.
const (
	labelWidth = 190.0
	textWidth  = 90.0
	headHeight = 22.0
	topHeight  = 46.0
)

// SVG draws the whole plot as a file of its own.
func (p Plot) SVG() string {
	s := p.Scale()
	height := topHeight + 12
	for _, g := range p.Groups {
		height += headHeight + RowHeight*float64(len(g.Rows))
	}
	title := text(p.Title, 70)
	width := max(labelWidth+Width+textWidth, 16+boldWidth*float64(utf8.RuneCountInString(escape.Text(p.Title, 70))))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="forest" role="img" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" `+
		`aria-labelledby="t d"><title id="t">%s</title><desc id="d">%s</desc><style>%s</style>`+"\n",
		num(width), num(height), text(p.Title, 200), text(p.Desc, 1000), Style)
	fmt.Fprintf(&b, `<rect class="page" width="%s" height="%s"/><text class="name" x="8" y="18">%s</text>`+"\n", num(width), num(height),
		title)
	fmt.Fprintf(&b, `<g transform="translate(%s 0)">%s<text x="%s" y="38">worse →</text></g>`+"\n", num(labelWidth), s.ticks(38, "middle"), num(Width))
	y := topHeight
	for _, g := range p.Groups {
		fmt.Fprintf(&b, `<text class="name" x="8" y="%s">%s</text>`+"\n", num(y+15), text(g.Name, 60))
		y += headHeight
		fmt.Fprintf(&b, `<g transform="translate(%s 0)">`, num(labelWidth))
		s.ground(&b, y, RowHeight*float64(len(g.Rows)))
		b.WriteString("</g>\n")
		for _, r := range g.Rows {
			fmt.Fprintf(&b, `<g><title>%s</title><text class="%s" x="8" y="%s">%s</text><text x="24" y="%s">%s</text>`+
				`<g transform="translate(%s 0)">`,
				text(r.Tip, 300), class(r), num(y+half+3.5), text(r.Sign, 2), num(y+half+3.5), text(r.Label, 26), num(labelWidth))
			s.mark(&b, r, y+half)
			fmt.Fprintf(&b, `</g><text x="%s" y="%s">%s</text></g>`+"\n", num(labelWidth+Width+4), num(y+half+3.5), text(r.Text, 14))
			y += RowHeight
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func text(s string, limit int) string { return html.EscapeString(escape.Text(s, limit)) }
