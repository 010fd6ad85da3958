package reports

import (
	"io"

	"github.com/servegate/pipeline/reports/latex"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// forPapers lists the sections of a report that a paper shows.
var forPapers = []model.SectionOf[*view]{
	{ID: "comparisons", Build: (*view).everyComparison},
	{ID: "objectives", Build: (*view).objectiveSection},
}

// LaTeX writes the comparisons of doc as one table, and what a search found.
func LaTeX(w io.Writer, doc *result.Document, o Options) error {
	v := newView(doc, o)
	r := &model.Report{Banner: v.banner(), Lead: v.lead(), Sections: model.Sections(forPapers, v, false)}
	_, r.Heading = v.heading()
	return latex.Write(w, r, o)
}

// everyComparison returns the section with all comparisons in one table. Verdicts are without their reasons, which are too
// long for a column of a paper.
func (v *view) everyComparison() model.Section {
	return model.Section{Tables: []model.Table{withoutReasons(v.verdictTable(v.rows), v.rows)}}
}
