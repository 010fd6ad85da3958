package reports

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/result"
)

// newPage lays doc out within a size.
func newPage(doc *result.Document, o Options, drawn []curves.Chart, size pageSize) *page.Page {
	b := &pageBuilder{v: newView(doc, o), size: size, curves: drawn}
	b.comparisons, b.withoutCharts = b.choose()
	r := b.v.report()
	out := page.New(r, o.Source())
	out.Sections = b.sections(r)
	return out
}

// pageBuilder turns a report's sections into those of a page, in the order of a page:
// verdict first, then what needs a look, then the charts, then everything.
type pageBuilder struct {
	v           *view
	size        pageSize
	comparisons []*comparison
	// withoutCharts is the number of comparisons that were left out.
	withoutCharts int
	curves        []curves.Chart
}

// choose decides which comparisons have charts, and gives their decisions an anchor.
func (b *pageBuilder) choose() (chosen []*comparison, left int) {
	for _, c := range b.v.comparisons() {
		switch {
		case !c.hasCharts():
		case len(chosen) < b.size.comparisons:
			chosen = append(chosen, c)
		default:
			left++
		}
	}
	b.v.anchors = map[*result.Decision]string{}
	for _, c := range chosen {
		for i, r := range c.rows {
			b.v.anchors[r.d] = c.anchor
			if i < maxDetailed {
				b.v.anchors[r.d] = fmt.Sprintf("%s-%d", c.anchor, i+1)
			}
		}
	}
	return chosen, left
}

func (b *pageBuilder) sections(r *model.Report) []page.Section {
	byKind := map[model.Kind]*model.Section{}
	for i := range r.Sections {
		byKind[r.Sections[i].Kind] = &r.Sections[i]
	}
	var out []page.Section
	add := func(s page.Section, ok bool) {
		if ok {
			out = append(out, s)
		}
	}
	for _, kind := range []model.Kind{model.Gates, model.Findings, model.Profile, model.Failures, model.Warnings} {
		add(page.SectionOf(byKind[kind], b.size.rows, b.size.logs))
	}
	add(page.SectionOf(byKind[model.Objectives], b.size.rows, b.size.logs))
	add(b.matrix())
	add(curvesSection(b.curves, b.size.curves))
	add(b.charts())
	for _, kind := range []model.Kind{model.Questions, model.Answers, model.Passes, model.Measured, model.Transports, model.Client} {
		add(page.SectionOf(byKind[kind], b.size.rows, b.size.logs))
	}
	add(b.timelines())
	add(page.SectionOf(byKind[model.Environment], b.size.rows, b.size.logs))
	return out
}

func (b *pageBuilder) matrix() (page.Section, bool) {
	maps, notes := b.v.heatMaps()
	return page.Section{
		ID: "matrix", Title: page.Line{{Text: "The matrix at a glance"}}, Plain: "The matrix at a glance",
		Charts: maps, Wide: true, Omitted: notes,
		Notes: page.Lines([]model.Line{model.Plain("Change of the head against the base. ✗ regression, ! regression that only warns, ? " +
			"inconclusive, ⊘ missing or invalid, ✓ pass, ▲ improvement; the deeper a colour, the more margins.")}),
	}, len(maps) > 0
}

// charts are the comparisons one by one.
func (b *pageBuilder) charts() (page.Section, bool) {
	title := "Comparisons in detail"
	if len(b.v.rows) == 0 {
		title = "Cells in detail"
	}
	s := page.Section{ID: "details", Title: page.Line{{Text: title}}, Plain: title, Controls: true}
	for i, c := range b.comparisons {
		open := i < maxOpen && slices.ContainsFunc(c.rows, func(r verdictRow) bool { return !r.passed() })
		s.Pairs = append(s.Pairs, b.v.pairView(c, open || len(b.comparisons) == 1))
	}
	if b.withoutCharts > 0 {
		s.Omitted = page.Lines([]model.Line{model.Plain(fmt.Sprintf(
			"%s of cells left out here, the worst are shown; the tables have all.", humanize.Count(b.withoutCharts, "more comparison")))})
	}
	return s, len(s.Pairs) > 0
}

func (b *pageBuilder) timelines() (page.Section, bool) {
	charts := b.v.timelines()
	return page.Section{
		ID: "timelines", Title: page.Line{{Text: "Over the session"}}, Plain: "Over the session", Charts: charts, Folded: true,
	}, len(charts) > 0
}
