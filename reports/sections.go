package reports

import (
	"slices"

	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// sections lists the sections of a report on a document, in their order. A page has the plot of all
// comparisons first and the passed rows below the charts. To add a section, write a function and add its row here.
var sections = []model.SectionOf[*view]{
	{ID: "forest", On: model.PageOnly, Build: (*view).forest},
	{ID: "findings", Weight: model.Attention, Build: (*view).findings},
	{ID: "more", On: model.TextOnly, Weight: model.Attention, Build: (*view).moreFound},
	{ID: "profile", Weight: model.Outcome, Build: (*view).profile},
	{ID: "failures", Weight: model.Attention, Build: (*view).failures},
	{ID: "warnings", Weight: model.Attention, Brief: true, Build: (*view).warnings},
	{ID: "forest", On: model.TextOnly, Weight: model.Outcome, Brief: true, Build: (*view).forest},
	{ID: "passes", On: model.TextOnly, Weight: model.Outcome, Build: (*view).passes},
	{ID: "objectives", Build: (*view).objectiveSection},
	{ID: "gates", Weight: model.Outcome, Build: (*view).gateList},
	{ID: "matrix", On: model.PageOnly, Build: (*view).heatMaps},
	{ID: "curves", On: model.PageOnly, Build: (*view).curves},
	{ID: "details", On: model.PageOnly, Build: (*view).details},
	{ID: "questions", Build: (*view).questions},
	{ID: "answers", Build: (*view).answers},
	{ID: "passes", On: model.PageOnly, Build: (*view).passes},
	{ID: "measured", Build: (*view).measured},
	{ID: "transports", Build: (*view).transports},
	{ID: "client", Build: (*view).client},
	{ID: "timelines", On: model.PageOnly, Build: (*view).overSession},
	{ID: "applied", Build: (*view).applied},
	{ID: "environment", Build: (*view).environment},
}

// Build lays doc out. It is deterministic: equal documents and options give equal reports.
func Build(doc *result.Document, o Options) *model.Report { return newView(doc, o).report(sections) }

// report lays the document out with the given sections.
func (v *view) report(table []model.SectionOf[*view]) *model.Report {
	if v.o.Comment {
		table = slices.DeleteFunc(slices.Clone(table), func(s model.SectionOf[*view]) bool { return !slices.Contains(inComment, s.ID) })
	}
	r := &model.Report{Banner: v.banner(), Legend: v.legend(), Lead: v.lead(), Sections: model.Sections(table, v, v.page != nil)}
	r.Icon, r.Heading = v.heading()
	if v.o.Comment {
		v.shorten(r)
	}
	return r
}
