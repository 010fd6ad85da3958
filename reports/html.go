package reports

import (
	"cmp"
	"io"

	"github.com/servegate/pipeline/reports/curves"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/result"
)

// HTML writes doc as one self-contained page that loads no network resources, fonts or scripts. A few lines of inline
// script open and close parts. The content security policy allows only the page's own style and script. If the page
// exceeds its budget, it gets fewer charts and shorter tables; HTML returns an error if even the shortest form does
// not fit.
//
// Equal documents and options give equal pages.
func HTML(w io.Writer, doc *result.Document, o Options) error { return writeHTML(w, doc, o, sections) }

// writeHTML writes a page with the given sections.
func writeHTML(w io.Writer, doc *result.Document, o Options, table []model.SectionOf[*view]) error {
	drawn := curves.Of(doc)
	return page.Write(w, o.Budget, "gates", sizes(o), func(size pageSize) *page.Page {
		v := newView(doc, o)
		v.page = &pageView{size: size, curves: drawn}
		v.choose()
		return page.New(v.report(table), size.bounds(), o.Source())
	})
}

// pageView holds the data of a document that only a page shows.
type pageView struct {
	size        pageSize
	curves      []curves.Chart
	comparisons []*comparison
	// withoutCharts is the number of comparisons left out.
	withoutCharts int
}

func (v *view) curves() model.Section {
	s := curves.Section(v.page.curves, v.page.size.curves)
	s.Folded = len(v.rows) > 0 // otherwise they are the result
	return s
}

// pageSize limits the parts of a page that grow with a document.
type pageSize struct{ comparisons, rows, logs, curves int }

func (s pageSize) bounds() page.Bounds { return page.Bounds{Rows: s.rows, Logs: s.logs} }

// sizes returns the page sizes to try, largest first.
func sizes(o Options) []pageSize {
	full := pageSize{comparisons: max(0, cmp.Or(o.Comparisons, 40)), rows: max(1, cmp.Or(o.TableRows, 1500)), logs: 30, curves: 12}
	all := []pageSize{full}
	for _, s := range []pageSize{{20, 1000, 20, 8}, {10, 500, 10, 4}, {4, 200, 5, 2}, {1, 50, 2, 1}, {0, 10, 0, 0}} {
		all = append(all, pageSize{min(s.comparisons, full.comparisons), min(s.rows, full.rows), s.logs, s.curves})
	}
	return all
}
