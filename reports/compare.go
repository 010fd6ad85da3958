package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/result"
)

// Side is one result in a comparison.
type Side struct {
	Doc *result.Document
	// Name is the name in the table; by default a letter.
	Name string
	// Against is the index of the side that this one is compared with; by default the first.
	Against int
}

// maxSides is the maximum number of results in a table. Results without a name are lettered.
const maxSides = 20

// maxSideName is the maximum length of a name in a table.
const maxSideName = 30

// Title returns the name of the i-th side.
func (s Side) Title(i int) string {
	return cmp.Or(escape.Text(s.Name, maxSideName), string(rune('A'+i)))
}

// Compare writes two or more documents as one table. It joins their cells with the first document's by hash, else by
// axis values. For each metric the table has the geometric mean over each side's valid runs, the change against
// another side, the number of runs and their spread. It makes no judgement: results that were not measured
// alternately in one session differ by everything that changed between them. Cells without a partner are listed.
// Options about gates are ignored.
func Compare(w io.Writer, sides []Side, f Format, o Options) error {
	if len(sides) < 2 || len(sides) > maxSides {
		return fmt.Errorf(
			"%d results: a comparison takes 2 to %d; quote a pattern of file names, so that its files are one side: 'name=base:base/*.json'",
			len(sides), maxSides)
	}
	for i, s := range sides {
		if s.Against < 0 || s.Against >= len(sides) || s.Against == i && i > 0 {
			return fmt.Errorf("side %s is compared with none of the others", s.Title(i))
		}
	}
	return f.Comparison(w, sides, o)
}

// drawn returns the function that writes a comparison in a format that renders reports.
func drawn(write func(io.Writer, *model.Report, Options) error) func(io.Writer, []Side, Options) error {
	return func(w io.Writer, sides []Side, o Options) error { return write(w, newCompared(sides, o).report(), o) }
}

// compared holds a comparison and the data that several of its sections need.
type compared struct {
	sides []Side
	o     Options
	first *view
	alone [][]cellAt // cells without a partner, by side
	rows  []comparedRow
	found []outcome
	page  *pageView // nil in other formats
}

func newCompared(sides []Side, o Options) *compared {
	docs := documents(sides)
	cells, alone := joinAll(docs)
	first := newView(docs[0], o)
	first.sideNames = nil
	return &compared{
		sides: sides, o: o, first: first, alone: alone, rows: comparedRows(cells, o), found: outcomes(cells, sides),
	}
}

// comparedSections lists the sections of a comparison.
var comparedSections = []model.SectionOf[*compared]{
	{ID: "sides", Weight: model.Attention, Build: (*compared).table},
	{ID: "failed", Weight: model.Attention, Build: (*compared).lostRequests},
	{ID: "alone", Weight: model.Attention, Build: (*compared).unmatched},
	{ID: "curves", On: model.PageOnly, Build: (*compared).curves},
	{ID: "notes", On: model.PageOnly, Build: (*compared).notes},
}

// report builds the report of the comparison, see Compare.
func (c *compared) report() *model.Report {
	sides := c.sides
	r := &model.Report{Icon: model.IconInfo,
		Lead: []model.Line{model.Plain("Described, not judged: they were not measured alternately in one session.")}}
	named := slices.ContainsFunc(sides, func(s Side) bool { return s.Name != "" })
	r.Heading = model.Join(" ", model.Plain("Comparison: "+sides[0].Title(0)), model.Code(documentName(sides[0].Doc)))
	for i, s := range sides[1:] {
		r.Heading = model.Join(" ", r.Heading, model.Plain("with "+s.Title(i+1)), model.Code(documentName(s.Doc)))
	}
	if named { // the files follow below
		names := make([]string, len(sides))
		for i, s := range sides {
			names[i] = s.Title(i)
		}
		r.Heading = model.Plain("Comparison: " + strings.Join(names, ", "))
	}
	if simulated := simulatedSides(sides); simulated != "" {
		r.Banner = model.Line{{Text: "Simulated:", Style: model.Strong}, {Text: " " + simulated + "; compares with nothing real."}}
	}
	for i, s := range sides {
		about := newView(s.Doc, c.o).session()
		if named {
			about = model.Join(" · ", model.Code(documentName(s.Doc)), about)
		}
		if len(about) > 0 {
			r.Lead = append(r.Lead, model.Join(": ", model.Plain(s.Title(i)), about))
		}
	}
	if len(c.rows) == 0 {
		r.Lead = append(r.Lead, model.Plain("No cell is in both, or none of them has a metric in both."))
	}
	if slices.ContainsFunc(c.found, outcome.failsMore) {
		r.Icon = model.IconRegression
	}
	r.Sections = model.Sections(comparedSections, c, c.page != nil)
	r.Legend = []model.Line{
		model.Plain("Geometric means over valid runs. " + changesAgainst(sides) +
			"; ↓ lower is better, ↑ higher is better; ± is the coefficient of variation between runs, n the number of runs of each side."),
	}
	if single(c.rows) {
		r.Legend = append(r.Legend, model.Plain("With one run on a side no significance is possible: the change may be noise altogether. What "+
			"decides is a gate over 5 launches of each side or more, measured alternately."))
	}
	return r
}

// documents returns the documents of the sides.
func documents(sides []Side) []*result.Document {
	docs := make([]*result.Document, len(sides))
	for i, s := range sides {
		docs[i] = s.Doc
	}
	return docs
}

// crossed reports whether a side is compared with another side than the first.
func crossed(sides []Side) bool {
	return slices.ContainsFunc(sides, func(s Side) bool { return s.Against != 0 })
}

// changesAgainst states which side the changes are against.
func changesAgainst(sides []Side) string {
	if crossed(sides) {
		return "Changes are against the side that their column names"
	}
	return "Changes are against " + sides[0].Title(0)
}

func documentName(d *result.Document) string { return cmp.Or(d.File, d.RunID, "(no name)") }

// simulatedSides lists the simulated sides, "" if all are real.
func simulatedSides(sides []Side) string {
	var names []string
	for i, s := range sides {
		if s.Doc.Simulated != "" {
			names = append(names, s.Title(i))
		}
	}
	return humanize.List(names)
}

// compareHTML writes a comparison as a page, with the curves of all sides.
func compareHTML(w io.Writer, sides []Side, o Options) error {
	c := newCompared(sides, o)
	drawn := curves.OfSides(curveSides(sides))
	return page.Write(w, o.Budget, "metrics", sizes(o), func(size pageSize) *page.Page {
		c.page = &pageView{size: size, curves: drawn}
		return page.New(c.report(), size.bounds(), cmp.Or(o.Full, "compare --format json"))
	})
}

// curves returns the section with the curves of all sides.
func (c *compared) curves() model.Section { return curves.Section(c.page.curves, c.page.size.curves) }

// notes returns the section with the reasons why the sides are not comparable like for like.
func (c *compared) notes() model.Section {
	s := model.Section{Title: model.Plain("What to know of the sides")}
	for _, n := range c.o.Notes {
		s.Notes = append(s.Notes, model.Plain(n))
	}
	return s
}
