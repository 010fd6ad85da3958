package reports

import (
	"slices"

	"github.com/servegate/pipeline/reports/result"
)

// view is a document with what several sections look up in it.
type view struct {
	doc    *result.Document
	o      Options
	gates  []*result.Gate
	rows   []verdictRow // all decisions, worst first
	cells  map[string]cellAt
	judged map[string]int // decisions about the same comparison
	// outcome is what the gates that are shown come to.
	outcome result.Outcome
	// several sides are compared: rows say which.
	severalSides bool
	// page has what only a page shows, and anchors are where it says more about a decision; nil in
	// other formats.
	page    *pageView
	anchors map[*result.Decision]string
}

// cellAt is a cell with its benchmark.
type cellAt struct {
	benchmark *result.Benchmark
	cell      *result.Cell
}

func newView(doc *result.Document, o Options) *view {
	v := &view{doc: doc, o: o, cells: map[string]cellAt{}, judged: map[string]int{}}
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
