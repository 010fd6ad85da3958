package reports

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/servegate/pipeline/reports/result"
)

// HTMLBudget is the size of a page unless Options.Budget says otherwise: some browsers
// and viewers of artifacts are slow beyond it.
const HTMLBudget = 5 << 20

var (
	//go:embed page/report.html.tmpl
	pageTemplate string
	//go:embed page/style.css
	pageStyle string
	//go:embed page/script.js
	pageScript string
)

// HTML writes doc as one page that needs nothing else: no network, no fonts, and no
// scripts to be read (a few lines of script open and close parts). Its content security
// policy allows its own style and script and nothing more. Where the page would be larger
// than its budget, it has fewer charts and shorter tables; it is an error if not even its
// shortest form fits.
//
// Equal documents and options give equal pages.
func HTML(w io.Writer, doc *result.Document, o Options) error {
	t, err := template.New("report").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	budget := cmp.Or(o.Budget, HTMLBudget)
	var out bytes.Buffer
	for _, size := range sizes(o) {
		out.Reset()
		if err := t.Execute(&out, newPage(doc, o, size)); err != nil {
			return fmt.Errorf("render html: %w", err)
		}
		if out.Len() <= budget {
			if _, err := w.Write(out.Bytes()); err != nil {
				return fmt.Errorf("write html: %w", err)
			}
			return nil
		}
	}
	return fmt.Errorf("render html: the shortest page has %d bytes and the budget is %d: raise it or choose gates", out.Len(), budget)
}

// pageSize bounds what grows with a document.
type pageSize struct{ comparisons, rows, logs int }

// sizes are those to try, the largest first.
func sizes(o Options) []pageSize {
	full := pageSize{comparisons: max(0, cmp.Or(o.Comparisons, 40)), rows: max(1, cmp.Or(o.TableRows, 1500)), logs: 30}
	all := []pageSize{full}
	for _, s := range []pageSize{{20, 1000, 20}, {10, 500, 10}, {4, 200, 5}, {1, 50, 2}, {0, 10, 0}} {
		all = append(all, pageSize{min(s.comparisons, full.comparisons), min(s.rows, full.rows), s.logs})
	}
	return all
}
