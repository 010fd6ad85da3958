package reports

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// Format of a comparison.
type Format int

// The formats.
const (
	FormatText Format = iota
	FormatMarkdown
	FormatJSON
	FormatCSV
)

// maxSides is how many results one table takes: they are named by letters.
const maxSides = 20

// sideName is the letter of a side.
func sideName(i int) string { return string(rune('A' + i)) }

// Compare writes two or more documents as one table: their cells joined with those of the
// first by hash, else by axis values, and for each metric the geometric means over the
// valid runs of each side, the change against the first, the number of runs and their
// spread. It describes and judges nothing: results that were not measured alternately in
// one session differ by everything that changed between them. Cells without a partner are
// listed. Of the options, those about gates are ignored.
func Compare(w io.Writer, docs []*result.Document, format Format, o Options) error {
	if len(docs) < 2 || len(docs) > maxSides {
		return fmt.Errorf("%d results: a comparison takes 2 to %d", len(docs), maxSides)
	}
	switch format {
	case FormatJSON:
		return compareJSON(w, docs, o)
	case FormatCSV:
		return compareCSV(w, docs, o)
	case FormatMarkdown:
		text, err := fit(BuildComparison(docs, o), o)
		if err != nil {
			return fmt.Errorf("render comparison: %w", err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return fmt.Errorf("write comparison: %w", err)
		}
		return nil
	}
	p := &textPrinter{o: o}
	p.report(BuildComparison(docs, o))
	return p.writeTo(w)
}

// BuildComparison lays the comparison of documents out, see Compare.
func BuildComparison(docs []*result.Document, o Options) *Report {
	first := newView(docs[0], o)
	r := &Report{
		Icon:    IconInfo,
		Heading: join(" ", plain("Comparison: A"), code(documentName(docs[0]))),
		Lead:    []Line{plain("Described, not judged: they were not measured alternately in one session.")},
	}
	for i, d := range docs[1:] {
		r.Heading = join(" ", r.Heading, plain("with "+sideName(i+1)), code(documentName(d)))
	}
	if simulated := simulatedSides(docs); simulated != "" {
		r.Banner = Line{{Text: "Simulated:", Style: Strong}, {Text: " " + simulated + "; compares with nothing real."}}
	}
	for i, d := range docs {
		if c := newView(d, o).session(); len(c) > 0 {
			r.Lead = append(r.Lead, join(": ", plain(sideName(i)), c))
		}
	}
	cells, alone := joinAll(docs)
	rows := comparedRows(cells, o)
	if len(rows) > 0 {
		r.Sections = append(r.Sections, Section{Kind: Findings, Tables: []Table{comparisonTable(first, rows, len(docs))}})
	} else {
		r.Lead = append(r.Lead, plain("No cell is in both, or none of them has a metric in both."))
	}
	if s := unmatched(first, alone); s != nil {
		r.Sections = append(r.Sections, *s)
	}
	r.Legend = []Line{
		plain("Geometric means over valid runs. Changes are against A; ↓ lower is better, ↑ higher is better; ± is the coefficient of variation between runs, n the number of runs of each side."),
	}
	if single(rows) {
		r.Legend = append(r.Legend, plain("With one run on a side no significance is possible: the change may be noise altogether. Repeat in one session, with a gate, to decide."))
	}
	return r
}

func documentName(d *result.Document) string { return cmp.Or(d.File, d.RunID, "(no name)") }

// simulatedSides lists the simulated ones, "" if all are real.
func simulatedSides(docs []*result.Document) string {
	var names []string
	for i, d := range docs {
		if d.Simulated != "" {
			names = append(names, sideName(i))
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// comparedCell is a cell of the first document with its partners, nil where there is none.
type comparedCell struct {
	benchmark string
	sides     []*result.Cell
}

// joinAll joins the cells of all documents with those of the first. alone are the cells
// without any partner, by document.
func joinAll(docs []*result.Document) (cells []comparedCell, alone [][]cellAt) {
	index := map[*result.Cell]int{}
	for _, c := range allCells(docs[0]) {
		index[c.cell] = len(cells)
		sides := make([]*result.Cell, len(docs))
		sides[0] = c.cell
		cells = append(cells, comparedCell{c.benchmark.Addr, sides})
	}
	alone = make([][]cellAt, len(docs))
	for i, d := range docs[1:] {
		pairs, _, rest := joinCells(docs[0], d)
		for _, p := range pairs {
			cells[index[p.a]].sides[i+1] = p.b
		}
		alone[i+1] = rest
	}
	for _, c := range allCells(docs[0]) {
		if partners := cells[index[c.cell]].sides[1:]; !slices.ContainsFunc(partners, func(p *result.Cell) bool { return p != nil }) {
			alone[0] = append(alone[0], c)
		}
	}
	return cells, alone
}

// cellPair is a cell of each of two documents.
type cellPair struct{ a, b *result.Cell }

// joinCells pairs the cells of two documents: by hash, then, of those that are left, by
// axis values where these are unambiguous.
func joinCells(a, b *result.Document) (pairs []cellPair, onlyA, onlyB []cellAt) {
	restA, restB := allCells(a), allCells(b)
	for _, key := range []func(cellAt) string{
		func(c cellAt) string { return c.cell.Hash },
		func(c cellAt) string { return sortedValues(c.cell.Values) },
	} {
		var found []cellPair
		found, restA, restB = joinBy(restA, restB, key)
		pairs = append(pairs, found...)
	}
	return pairs, restA, restB
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

func joinBy(a, b []cellAt, key func(cellAt) string) (pairs []cellPair, restA, restB []cellAt) {
	byKey, countA := map[string][]int{}, map[string]int{}
	for i, c := range b {
		byKey[key(c)] = append(byKey[key(c)], i)
	}
	for _, c := range a {
		countA[key(c)]++
	}
	used := map[int]bool{}
	for _, c := range a {
		k := key(c)
		if at := byKey[k]; len(at) == 1 && countA[k] == 1 {
			used[at[0]] = true
			pairs = append(pairs, cellPair{c.cell, b[at[0]].cell})
			continue
		}
		restA = append(restA, c)
	}
	for i, c := range b {
		if !used[i] {
			restB = append(restB, c)
		}
	}
	return pairs, restA, restB
}

// sortedValues is the axis values whatever their order.
func sortedValues(values []result.AxisValue) string {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(x, y result.AxisValue) int { return cmp.Compare(x.Name, y.Name) })
	var key strings.Builder
	for _, v := range sorted {
		key.WriteString(v.Name + "\x00" + v.Value + "\x00")
	}
	return key.String()
}

// comparedRow is one metric of one cell: the values of each side's runs, none where the
// side does not have it.
type comparedRow struct {
	benchmark string
	values    []result.AxisValue
	metric    metric.Metric
	sides     [][]float64
}

func comparedRows(cells []comparedCell, o Options) []comparedRow {
	var rows []comparedRow
	for _, c := range cells {
		for _, m := range comparedMetrics(o, c) {
			row := comparedRow{benchmark: c.benchmark, values: c.sides[0].Values, metric: m}
			for _, cell := range c.sides {
				var values []float64
				if cell != nil {
					values = samples(cell, m.ID)
				}
				row.sides = append(row.sides, values)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// repeated says that a side has several runs.
func (r comparedRow) repeated() bool {
	return slices.ContainsFunc(r.sides, func(values []float64) bool { return len(values) > 1 })
}

// single reports that some side has only one run.
func single(rows []comparedRow) bool {
	return slices.ContainsFunc(rows, func(r comparedRow) bool {
		return slices.ContainsFunc(r.sides, func(values []float64) bool { return len(values) == 1 })
	})
}

// comparisonTable has one row for each metric of each cell.
func comparisonTable(v *view, rows []comparedRow, sides int) Table {
	t := Table{Columns: []Column{{Title: "cell", Wrap: true}, {Title: "metric", Wrap: true}}}
	spreads := sides == 2 || slices.ContainsFunc(rows, comparedRow.repeated) // a wide table has no room for dashes
	for i := range sides {
		t.Columns = append(t.Columns, Column{Title: sideName(i), Align: Right})
		if spreads {
			t.Columns = append(t.Columns, Column{Title: "±", Align: Right})
		}
		if i > 0 {
			t.Columns = append(t.Columns, Column{Title: "change", Align: Right})
		}
	}
	t.Columns = append(t.Columns, Column{Title: "n", Align: Right})
	for _, r := range rows {
		t.Rows = append(t.Rows, comparisonRow(cmp.Or(v.valuesName(r.values), shortAddr(r.benchmark)), r, spreads))
	}
	return t
}

func comparisonRow(name string, r comparedRow, spreads bool) Row {
	a := center(r.metric, r.sides[0])
	label := r.metric.Label
	if arr := arrow(string(r.metric.Direction)); arr != "" {
		label += " " + arr
	}
	row := Row{Cells: []Line{code(name), plain(label)}}
	counts := make([]string, len(r.sides))
	for i, values := range r.sides {
		counts[i] = strconv.Itoa(len(values))
		value, change := none, none
		if len(values) > 0 {
			b := center(r.metric, values)
			s := scaleFor(string(r.metric.Unit), a, b)
			value, change = s.value(b), percent(b/a-1)
			if r.metric.Scale == metric.Difference || r.metric.Scale == metric.Proportion {
				change = s.difference(b - a)
			}
		}
		row.Cells = append(row.Cells, plain(value))
		if spreads {
			row.Cells = append(row.Cells, plain(spread(values)))
		}
		if i > 0 {
			row.Cells = append(row.Cells, plain(change))
		}
	}
	row.Cells = append(row.Cells, plain(strings.Join(counts, ", ")))
	return row
}

// comparedMetrics are those of A that another side has, of those asked for, else of the
// key metrics; where there is none of those, all.
func comparedMetrics(o Options, c comparedCell) []metric.Metric {
	ids := o.Metrics
	if len(ids) == 0 {
		ids = keyMetrics
	}
	shared := func(id string) bool {
		return len(samples(c.sides[0], id)) > 0 && slices.ContainsFunc(c.sides[1:], func(b *result.Cell) bool { return b != nil && len(samples(b, id)) > 0 })
	}
	var out []metric.Metric
	for _, id := range ids {
		if shared(id) {
			out = append(out, describe(id))
		}
	}
	if len(out) > 0 || len(o.Metrics) > 0 {
		return out
	}
	for _, m := range metric.All() {
		if shared(m.ID) {
			out = append(out, m)
		}
	}
	return out
}

// samples are the values of a metric over the valid runs; a cell with only a summary has
// one.
func samples(c *result.Cell, id string) []float64 {
	var values []float64
	for _, r := range c.Current() {
		if x, ok := r.Metrics[id]; ok && r.Status == result.RunOK {
			values = append(values, x)
		}
	}
	if x, ok := c.Summary[id]; ok && len(values) == 0 {
		return []float64{x}
	}
	return values
}

// center is the geometric mean on the log scale, the mean on others and where a value
// has no logarithm.
func center(m metric.Metric, values []float64) float64 {
	sum, logs := 0.0, 0.0
	for _, x := range values {
		sum += x
		logs += math.Log(x)
	}
	n := float64(len(values))
	if (m.Scale == metric.Log || m.Scale == "") && finite(logs) {
		return math.Exp(logs / n)
	}
	return sum / n
}

// spread is the variation of values for people.
func spread(values []float64) string {
	cv := variation(values)
	if !finite(cv) {
		return none
	}
	return fmt.Sprintf("%.1f %%", cv*100)
}

// variation is the coefficient of variation (standard deviation with divisor n − 1 over the
// mean), NaN with fewer than two values.
func variation(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return math.NaN()
	}
	mean := 0.0
	for _, x := range values {
		mean += x / n
	}
	squares := 0.0
	for _, x := range values {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares/(n-1)) / math.Abs(mean)
}

// unmatched lists the cells that only one document has.
func unmatched(v *view, alone [][]cellAt) *Section {
	n := 0
	for _, cells := range alone {
		n += len(cells)
	}
	if n == 0 {
		return nil
	}
	s := &Section{Kind: Warnings, Title: plain(count(n, "cell") + " without a partner")}
	for i, cells := range alone {
		for _, c := range cells {
			name := cmp.Or(v.valuesName(c.cell.Values), "the cell")
			s.Notes = append(s.Notes, join(" ", plain("only in "+sideName(i)+":"), code(name), plain("of"), code(c.benchmark.Addr)))
		}
	}
	return s
}
