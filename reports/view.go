package reports

import (
	"slices"

	"github.com/servegate/pipeline/reports/result"
)

// view holds a document with the lookups that several sections share.
type view struct {
	doc    *result.Document
	o      Options
	gates  []*result.Gate
	rows   []verdictRow // all decisions, worst first
	cells  map[string]cellAt
	judged map[string]int // number of decisions on each comparison
	// outcome is the outcome of the shown gates.
	outcome result.Outcome
	// severalSides is set if several sides are compared, so that rows name them.
	severalSides bool
	// sideNames holds what axis values are called, as far as they were asked for; nil in a comparison of
	// documents, whose sides differ elsewhere.
	sideNames map[result.AxisValue]string
	// named holds the names of the sides of decisions, as far as they were asked for.
	named map[*result.Decision]result.Names
	// page holds page-only data, and anchors the places on the page with details of a decision; both are nil in other
	// formats.
	page    *pageView
	anchors map[*result.Decision]string
}

// cellAt is a cell with its benchmark.
type cellAt struct {
	benchmark *result.Benchmark
	cell      *result.Cell
}

func newView(doc *result.Document, o Options) *view {
	v := &view{doc: doc, o: o, cells: map[string]cellAt{}, judged: map[string]int{}, sideNames: map[result.AxisValue]string{},
		named: map[*result.Decision]result.Names{}}
	for _, at := range allCells(doc) {
		v.cells[at.benchmark.Addr+"\x00"+at.cell.Hash] = at
	}
	for i := range doc.Gates {
		if len(o.Gates) == 0 || slices.Contains(o.Gates, doc.Gates[i].Addr) {
			v.gates = append(v.gates, &doc.Gates[i])
		}
	}
	shown := result.Document{Status: doc.Status}
	for _, g := range v.gates {
		shown.Gates = append(shown.Gates, *g)
	}
	v.outcome = shown.Outcome()
	sides := map[[2]string]bool{}
	for _, g := range v.gates {
		for i := range g.Decisions {
			d := &g.Decisions[i]
			v.judged[comparisonKey(d)]++
			v.rows = append(v.rows, verdictRow{g, d})
			if d.Head != "" || d.Base != "" {
				sides[[2]string{d.Base, d.Head}] = true
			}
		}
	}
	v.severalSides = len(sides) > 1
	slices.SortStableFunc(v.rows, compareRows)
	return v
}

func (v *view) cell(benchmark, hash string) (cellAt, bool) {
	c, ok := v.cells[benchmark+"\x00"+hash]
	return c, ok
}

func allCells(d *result.Document) []cellAt {
	var cells []cellAt
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		for j := range b.Cells {
			cells = append(cells, cellAt{b, &b.Cells[j]})
		}
	}
	return cells
}
