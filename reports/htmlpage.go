package reports

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/model"

	"github.com/servegate/pipeline/reports/humanize"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// htmlPage is what the template draws.
type htmlPage struct {
	Policy, Title string
	Style         template.CSS
	Script        template.JS
	Banner        htmlLine
	Icon          htmlIcon
	Heading       htmlLine
	Lead          []htmlLine
	Sections      []htmlSection
	Legend        []htmlLine
	Full          string
}

// newPage lays doc out within a size.
func newPage(doc *result.Document, o Options, size pageSize) *htmlPage {
	b := &pageBuilder{v: newView(doc, o), size: size}
	b.comparisons, b.withoutCharts = b.choose()
	r := b.v.report()
	page := &htmlPage{
		Policy: policy(pageStyle), Title: clean(r.Heading.String(), model.MaxCell),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), //nolint:gosec // both are ours, not of the document
		Banner: spans(r.Banner, model.MaxLine), Icon: iconView(r.Icon), Heading: spans(r.Heading, model.MaxCell),
		Lead: lines(r.Lead), Legend: lines(r.Legend), Full: clean(o.full(), model.MaxCell),
	}
	page.Sections = b.sections(r)
	return page
}

// policy is the content security policy of a page: its own style and the script by their
// hashes, and nothing else.
func policy(style string) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		hashSource(style), hashSource(pageScript))
}

func hashSource(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pageBuilder turns a report's sections into those of a page, in the order of a page:
// verdict first, then what needs a look, then the charts, then everything.
type pageBuilder struct {
	v           *view
	size        pageSize
	comparisons []*comparison
	// withoutCharts is the number of comparisons that were left out.
	withoutCharts int
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

func (b *pageBuilder) sections(r *model.Report) []htmlSection {
	byKind := map[model.Kind]*model.Section{}
	for i := range r.Sections {
		byKind[r.Sections[i].Kind] = &r.Sections[i]
	}
	var out []htmlSection
	add := func(s htmlSection, ok bool) {
		if ok {
			out = append(out, s)
		}
	}
	for _, kind := range []model.Kind{model.Gates, model.Findings, model.Failures, model.Warnings} {
		add(b.section(byKind[kind]))
	}
	add(b.matrix())
	add(b.charts())
	for _, kind := range []model.Kind{model.Passes, model.Measured, model.Transports, model.Client} {
		add(b.section(byKind[kind]))
	}
	add(b.timelines())
	add(b.section(byKind[model.Environment]))
	return out
}

// titles of the sections that have none of their own in other formats.
var titles = map[model.Kind]string{model.Findings: "What did not pass"}

// section draws one of the report's. What comes first is open, whatever other formats do.
func (b *pageBuilder) section(s *model.Section) (htmlSection, bool) {
	if s == nil {
		return htmlSection{}, false
	}
	title := s.Title
	if len(title) == 0 {
		title = model.Plain(titles[s.Kind])
	}
	out := htmlSection{
		ID: string(s.Kind), Title: spans(title, model.MaxCell), Plain: shortTitle(title),
		Folded: s.Folded && s.Kind != model.Gates, Notes: lines(s.Notes[:min(len(s.Notes), b.size.rows)]), Omitted: lines([]model.Line{s.Omitted}),
	}
	if n := len(s.Notes) - b.size.rows; n > 0 {
		out.Omitted = append(out.Omitted, spans(model.Plain("and "+humanize.Count(n, "more note")), model.MaxLine))
	}
	const maxTables = 50
	for i := range s.Tables[:min(len(s.Tables), maxTables)] {
		out.Tables = append(out.Tables, htmlTableOf(s.Tables[i], b.size.rows))
	}
	if n := len(s.Tables) - maxTables; n > 0 {
		out.Omitted = append(out.Omitted, spans(model.Plain("and "+humanize.Count(n, "more table")), model.MaxLine))
	}
	for _, l := range s.Logs[:min(len(s.Logs), b.size.logs)] {
		out.Logs = append(out.Logs, htmlLogOf(l))
	}
	if n := len(s.Logs) - b.size.logs; n > 0 {
		out.Omitted = append(out.Omitted, spans(model.Plain("and the ends of "+humanize.Count(n, "more log")), model.MaxLine))
	}
	return out, true
}

// shortTitle is a title for the contents, without what is in parentheses.
func shortTitle(title model.Line) string {
	text, _, _ := strings.Cut(title.String(), " (")
	return clean(text, model.MaxCell)
}

func htmlLogOf(l model.Log) htmlLog {
	text := make([]string, len(l.Lines))
	for i, line := range l.Lines {
		text[i] = escape.Line(line, model.MaxLog)
	}
	return htmlLog{spans(l.Title, model.MaxCell), strings.Join(text, "\n")}
}

func (b *pageBuilder) matrix() (htmlSection, bool) {
	maps, notes := b.v.heatMaps()
	return htmlSection{
		ID: "matrix", Title: htmlLine{{Text: "The matrix at a glance"}}, Plain: "The matrix at a glance",
		Charts: maps, Wide: true, Omitted: notes,
		Notes: lines([]model.Line{model.Plain("Change of the head against the base. ✗ regression, ! regression that only warns, ? inconclusive, ⊘ missing or invalid, ✓ pass, ▲ improvement; the deeper a colour, the more margins.")}),
	}, len(maps) > 0
}

// charts are the comparisons one by one.
func (b *pageBuilder) charts() (htmlSection, bool) {
	title := "Comparisons in detail"
	if len(b.v.rows) == 0 {
		title = "Cells in detail"
	}
	s := htmlSection{ID: "details", Title: htmlLine{{Text: title}}, Plain: title, Controls: true}
	for i, c := range b.comparisons {
		open := i < maxOpen && slices.ContainsFunc(c.rows, func(r verdictRow) bool { return !r.passed() })
		s.Pairs = append(s.Pairs, b.v.pairView(c, open || len(b.comparisons) == 1))
	}
	if b.withoutCharts > 0 {
		s.Omitted = lines([]model.Line{model.Plain(fmt.Sprintf(
			"%s of cells left out here, the worst are shown; the tables have all.", humanize.Count(b.withoutCharts, "more comparison")))})
	}
	return s, len(s.Pairs) > 0
}

func (b *pageBuilder) timelines() (htmlSection, bool) {
	charts := b.v.timelines()
	return htmlSection{
		ID: "timelines", Title: htmlLine{{Text: "Over the session"}}, Plain: "Over the session", Charts: charts, Folded: true,
	}, len(charts) > 0
}
