// Package page draws a report as one HTML page that needs nothing else: no network, no
// fonts, and no scripts to be read. The template escapes every text for its place; only
// charts, the style and the script are markup.
package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/reports/forest"
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

// Page is a report within its bounds, as the template draws it.
type Page struct {
	model.Report
	Policy, Title, Full string
	Style               template.CSS
	Script              template.JS
}

// Bounds limits what a page draws of each section: the rows of a table and the notes, and the logs.
type Bounds struct{ Rows, Logs int }

// New returns the page of a report within bounds. full names the file with everything; styles
// follow the style of all pages.
func New(r *model.Report, b Bounds, full string, styles ...string) *Page {
	style := pageStyle + forest.Style + strings.Join(styles, "")
	out := &Page{
		Report: *r, Policy: policy(style), Title: clean(r.Heading.String(), model.MaxCell), Full: clean(full, model.MaxCell),
		Style: template.CSS(style), Script: template.JS(pageScript), //nolint:gosec // both are ours, not of the document
	}
	out.Sections = make([]model.Section, len(r.Sections))
	for i, s := range r.Sections {
		out.Sections[i] = b.section(s)
	}
	return out
}

// maxTables bounds the tables of a section.
const maxTables = 50

// section returns a section within the bounds, which says what it leaves out.
func (b Bounds) section(s model.Section) model.Section {
	s.Omitted = slices.Clone(s.Omitted)
	s.Notes = within(&s, s.Notes, b.Rows, "and ", "more note")
	s.Tables = slices.Clone(within(&s, s.Tables, maxTables, "and ", "more table"))
	for i, t := range s.Tables {
		s.Tables[i] = t.First(b.Rows)
	}
	s.Logs = within(&s, s.Logs, b.Logs, "and the ends of ", "more log")
	return s
}

// within returns the first parts, and notes in the section how many more there are.
func within[T any](s *model.Section, parts []T, most int, words, more string) []T {
	if n := len(parts) - most; n > 0 {
		s.Omitted = append(s.Omitted, model.Plain(words+humanize.Count(n, more)))
		return parts[:most]
	}
	return parts
}

// Budget is the size of a page unless its options say otherwise: some browsers and viewers
// of artifacts are slow beyond it.
const Budget = 5 << 20

// parsed returns the template of all pages. A site has thousands of pages, and reading the template again took a
// quarter of their time.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("report").Funcs(functions).Parse(pageTemplate)
})

// Write writes a page of the first size with which it fits the budget, or Budget if that is 0; sizes
// are from the largest to the smallest. choose says what a reader can choose less of.
func Write[S any](w io.Writer, budget int, choose string, sizes []S, draw func(S) *Page) error {
	budget = cmp.Or(budget, Budget)
	t, err := parsed()
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	var out bytes.Buffer
	for _, size := range sizes {
		out.Reset()
		if err := t.Execute(&out, draw(size)); err != nil {
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
