// Package page draws a report as one HTML page that needs nothing else: no network, no
// fonts, and no scripts to be read. The template escapes every text for its place; only
// charts, the style and the script are markup.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"iter"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

var (
	//go:embed report.html.tmpl
	pageTemplate string
	//go:embed style.css
	pageStyle string
	//go:embed script.js
	pageScript string
	// HistoryStyle follows the style of all pages on those of a history.
	//
	//go:embed history.css
	HistoryStyle string
)

// Page is what the template draws.
type Page struct {
	Policy, Title string
	Style         template.CSS
	Script        template.JS
	Banner        Line
	Icon          Icon
	Heading       Line
	Lead          []Line
	Sections      []Section
	Legend        []Line
	Full          string
}

// New is the page of a report without its sections. full says where everything is; more
// styles follow that of all pages.
func New(r *model.Report, full string, styles ...string) *Page {
	style := pageStyle + strings.Join(styles, "")
	return &Page{
		Policy: policy(style), Title: Clean(r.Heading.String(), model.MaxCell),
		Style: template.CSS(style), Script: template.JS(pageScript), //nolint:gosec // both are ours, not of the document
		Banner: Spans(r.Banner, model.MaxLine), Icon: IconOf(r.Icon), Heading: Spans(r.Heading, model.MaxCell),
		Lead: Lines(r.Lead), Legend: Lines(r.Legend), Full: Clean(full, model.MaxCell),
	}
}

// Budget is the size of a page unless its options say otherwise: some browsers and viewers
// of artifacts are slow beyond it.
const Budget = 5 << 20

// Write writes the first of some pages that fits the budget: they come from the longest to the
// shortest. choose says what a reader can choose less of.
func Write(w io.Writer, budget int, choose string, pages iter.Seq[*Page]) error {
	t, err := template.New("report").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	var out bytes.Buffer
	for page := range pages {
		out.Reset()
		if err := t.Execute(&out, page); err != nil {
			return fmt.Errorf("render html: %w", err)
		}
		if out.Len() <= budget {
			if _, err := w.Write(out.Bytes()); err != nil {
				return fmt.Errorf("write html: %w", err)
			}
			return nil
		}
	}
	return fmt.Errorf("render html: the shortest page has %d bytes and the budget is %d: raise it or choose %s", out.Len(), budget, choose)
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

// titles of the sections that have none of their own in other formats.
var titles = map[model.Kind]string{model.Findings: "What did not pass"}

// SectionOf draws a section of a report, with at most so many rows and logs. What comes first is open, whatever other formats do.
func SectionOf(s *model.Section, rows, logs int) (Section, bool) {
	if s == nil {
		return Section{}, false
	}
	title := s.Title
	if len(title) == 0 {
		title = model.Plain(titles[s.Kind])
	}
	out := Section{
		ID: string(s.Kind), Title: Spans(title, model.MaxCell), Plain: shortTitle(title),
		Folded: s.Folded && s.Kind != model.Gates, Notes: Lines(s.Notes[:min(len(s.Notes), rows)]), Omitted: Lines([]model.Line{s.Omitted}),
	}
	if n := len(s.Notes) - rows; n > 0 {
		out.Omitted = append(out.Omitted, Spans(model.Plain("and "+humanize.Count(n, "more note")), model.MaxLine))
	}
	const maxTables = 50
	for i := range s.Tables[:min(len(s.Tables), maxTables)] {
		out.Tables = append(out.Tables, TableOf(s.Tables[i], rows))
	}
	if n := len(s.Tables) - maxTables; n > 0 {
		out.Omitted = append(out.Omitted, Spans(model.Plain("and "+humanize.Count(n, "more table")), model.MaxLine))
	}
	for _, l := range s.Logs[:min(len(s.Logs), logs)] {
		out.Logs = append(out.Logs, logOf(l))
	}
	if n := len(s.Logs) - logs; n > 0 {
		out.Omitted = append(out.Omitted, Spans(model.Plain("and the ends of "+humanize.Count(n, "more log")), model.MaxLine))
	}
	return out, true
}

// shortTitle is a title for the contents, without what is in parentheses.
func shortTitle(title model.Line) string {
	text, _, _ := strings.Cut(title.String(), " (")
	return Clean(text, model.MaxCell)
}

func logOf(l model.Log) Log {
	text := make([]string, len(l.Lines))
	for i, line := range l.Lines {
		text[i] = escape.Line(line, model.MaxLog)
	}
	return Log{Spans(l.Title, model.MaxCell), strings.Join(text, "\n")}
}

// Chart marks a chart as markup: package svg escapes every text of it.
func Chart(chart interface{ SVG() string }) template.HTML {
	return template.HTML(chart.SVG()) //nolint:gosec // made by package svg, which escapes all text
}
