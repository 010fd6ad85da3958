package reports

import (
	"cmp"
	"io"

	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
)

// compareHTML writes a comparison as a page, with the curves of all sides.
func compareHTML(w io.Writer, sides []Side, o Options) error {
	c := newCompared(sides, o)
	drawn := curves.OfSides(curveSides(sides))
	return page.Write(w, o.Budget, "metrics", sizes(o), func(size pageSize) *page.Page {
		c.page = &pageView{size: size, curves: drawn}
		return page.New(c.report(), size.bounds(), cmp.Or(o.Full, "compare --format json"))
	})
}

// curves are those of all sides.
func (c *compared) curves() model.Section { return curves.Section(c.page.curves, c.page.size.curves) }

// notes are what keeps the sides from being like.
func (c *compared) notes() model.Section {
	s := model.Section{Title: model.Plain("What to know of the sides")}
	for _, n := range c.o.Notes {
		s.Notes = append(s.Notes, model.Plain(n))
	}
	return s
}

// compareCurves writes the points of the curves of all sides.
func compareCurves(w io.Writer, sides []Side, _ Options) error {
	return writeCurves(w, curves.OfSides(curveSides(sides)))
}

func curveSides(sides []Side) []curves.Side {
	out := make([]curves.Side, len(sides))
	for i, s := range sides {
		out[i] = curves.Side{Name: s.Title(i), Doc: s.Doc}
	}
	return out
}
