package reports

import (
	"cmp"
	"fmt"
	"io"

	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
)

// compareHTML writes a comparison as a page, with the curves of all sides.
func compareHTML(w io.Writer, sides []Side, o Options) error {
	r := BuildComparison(sides, o)
	drawn := curves.OfSides(curveSides(sides))
	return page.Write(w, cmp.Or(o.Budget, page.Budget), "metrics", func(yield func(*page.Page) bool) {
		for _, size := range sizes(o) {
			if !yield(comparisonPage(r, drawn, o, size)) {
				return
			}
		}
	})
}

// comparisonPage has the table, the curves, and what keeps the sides from being like.
func comparisonPage(r *model.Report, drawn []curves.Chart, o Options, size pageSize) *page.Page {
	out := page.New(r, cmp.Or(o.Full, "compare --format json"))
	add := func(s page.Section, ok bool, title string) {
		if !ok {
			return
		}
		s.ID = fmt.Sprintf("part%d", len(out.Sections)+1)
		if s.Plain == "" {
			s.Title, s.Plain = page.Line{{Text: title}}, title
		}
		out.Sections = append(out.Sections, s)
	}
	for i := range r.Sections {
		s, ok := page.SectionOf(&r.Sections[i], size.rows, size.logs)
		if r.Sections[i].Kind == model.Findings { // whose title is of a report on gates
			s.Plain = ""
		}
		add(s, ok, "Side by side")
	}
	s, ok := curvesSection(drawn, size.curves)
	add(s, ok, "Curves")
	if len(o.Notes) > 0 {
		notes := model.Section{Kind: model.Warnings, Title: model.Plain("What to know of the sides")}
		for _, n := range o.Notes {
			notes.Notes = append(notes.Notes, model.Plain(n))
		}
		s, ok := page.SectionOf(&notes, size.rows, size.logs)
		add(s, ok, "Notes")
	}
	return out
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
