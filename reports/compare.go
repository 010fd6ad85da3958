package reports

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
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
)

// Compare writes two documents as one table: their cells joined by hash, else by axis
// values, and for each metric the geometric means over the valid runs of each side, the
// change, the number of runs and their spread. It describes and judges nothing: two
// results that were not measured alternately in one session differ by everything that
// changed between them. Cells without a partner are listed. Of the options, those about
// gates are ignored.
func Compare(w io.Writer, a, b *result.Document, format Format, o Options) error {
	r := BuildComparison(a, b, o)
	if format == FormatMarkdown {
		text, err := fit(r, o)
		if err != nil {
			return fmt.Errorf("render comparison: %w", err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return fmt.Errorf("write comparison: %w", err)
		}
		return nil
	}
	p := &textPrinter{o: o}
	p.report(r)
	return p.writeTo(w)
}

// BuildComparison lays the comparison of two documents out, see Compare.
func BuildComparison(a, b *result.Document, o Options) *Report {
	va, vb := newView(a, o), newView(b, o)
	r := &Report{
		Icon:    IconInfo,
		Heading: join(" ", plain("Comparison: A"), code(documentName(a)), plain("with B"), code(documentName(b))),
		Lead:    []Line{plain("Described, not judged: the two were not measured alternately in one session.")},
	}
	if a.Simulated != "" || b.Simulated != "" {
		r.Banner = Line{{Text: "Simulated:", Style: Strong}, {Text: " " + simulatedSides(a, b) + "; compares with nothing real."}}
	}
	for _, side := range []struct {
		name string
		v    *view
	}{{"A", va}, {"B", vb}} {
		if c := side.v.session(); len(c) > 0 {
			r.Lead = append(r.Lead, join(": ", plain(side.name), c))
		}
	}
	pairs, onlyA, onlyB := joinCells(a, b)
	t, single := comparisonTable(va, pairs)
	if len(t.Rows) > 0 {
		r.Sections = append(r.Sections, Section{Kind: Findings, Tables: []Table{t}})
	} else {
		r.Lead = append(r.Lead, plain("No cell is in both, or none of them has a metric in both."))
	}
	if s := unmatched(va, "A", onlyA, "B", onlyB); s != nil {
		r.Sections = append(r.Sections, *s)
	}
	r.Legend = []Line{
		plain("Geometric means over valid runs. B against A; ↓ lower is better, ↑ higher is better; ± is the coefficient of variation between runs, n the number of runs of A and B."),
	}
	if single {
		r.Legend = append(r.Legend, plain("With one run on a side no significance is possible: the change may be noise altogether. Repeat in one session, with a gate, to decide."))
	}
	return r
}

func documentName(d *result.Document) string { return cmp.Or(d.File, d.RunID, "(no name)") }

func simulatedSides(a, b *result.Document) string {
	switch {
	case a.Simulated != "" && b.Simulated != "":
		return "A and B"
	case a.Simulated != "":
		return "A"
	}
	return "B"
}

// cellPair is a cell of each document, with the benchmark of the first.
type cellPair struct {
	benchmark string
	a, b      *result.Cell
}

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
			pairs = append(pairs, cellPair{c.benchmark.Addr, c.cell, b[at[0]].cell})
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

// comparisonTable has one row for each metric of each pair; single reports that some
// side has only one run.
func comparisonTable(v *view, pairs []cellPair) (t Table, single bool) {
	t.Columns = []Column{
		{Title: "cell", Wrap: true}, {Title: "metric", Wrap: true},
		{Title: "A", Align: Right}, {Title: "±", Align: Right},
		{Title: "B", Align: Right}, {Title: "±", Align: Right},
		{Title: "change", Align: Right}, {Title: "n", Align: Right},
	}
	for _, p := range pairs {
		name := cmp.Or(v.valuesName(p.a.Values), shortAddr(p.benchmark))
		for _, m := range comparedMetrics(v.o, p) {
			x, y := samples(p.a, m.ID), samples(p.b, m.ID)
			if len(x) == 0 || len(y) == 0 {
				continue
			}
			single = single || len(x) < 2 || len(y) < 2
			t.Rows = append(t.Rows, comparisonRow(name, m, x, y))
		}
	}
	return t, single
}

func comparisonRow(name string, m metric.Metric, x, y []float64) Row {
	a, b := center(m, x), center(m, y)
	s := scaleFor(string(m.Unit), a, b)
	change := percent(b/a - 1)
	if m.Scale == metric.Difference || m.Scale == metric.Proportion {
		change = s.difference(b - a)
	}
	label := m.Label
	if arr := arrow(string(m.Direction)); arr != "" {
		label += " " + arr
	}
	return Row{Cells: []Line{
		code(name), plain(label), plain(s.value(a)), plain(spread(x)), plain(s.value(b)), plain(spread(y)),
		plain(change), plain(fmt.Sprintf("%d, %d", len(x), len(y))),
	}}
}

// comparedMetrics are those asked for, else the key metrics; where neither has one of
// those, all that both have.
func comparedMetrics(o Options, p cellPair) []metric.Metric {
	ids := o.Metrics
	if len(ids) == 0 {
		ids = keyMetrics
	}
	var out []metric.Metric
	for _, id := range ids {
		if len(samples(p.a, id)) > 0 && len(samples(p.b, id)) > 0 {
			out = append(out, describe(id))
		}
	}
	if len(out) > 0 || len(o.Metrics) > 0 {
		return out
	}
	for _, m := range metric.All() {
		if len(samples(p.a, m.ID)) > 0 && len(samples(p.b, m.ID)) > 0 {
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

// spread is the coefficient of variation (standard deviation with divisor n − 1 over the
// mean), none with fewer than two values.
func spread(values []float64) string {
	n := float64(len(values))
	if n < 2 {
		return none
	}
	mean := 0.0
	for _, x := range values {
		mean += x / n
	}
	squares := 0.0
	for _, x := range values {
		squares += (x - mean) * (x - mean)
	}
	cv := math.Sqrt(squares/(n-1)) / math.Abs(mean)
	if !finite(cv) {
		return none
	}
	return fmt.Sprintf("%.1f %%", cv*100)
}

// unmatched lists the cells that only one document has.
func unmatched(v *view, nameA string, onlyA []cellAt, nameB string, onlyB []cellAt) *Section {
	if len(onlyA)+len(onlyB) == 0 {
		return nil
	}
	s := &Section{Kind: Warnings, Title: plain(count(len(onlyA)+len(onlyB), "cell") + " without a partner")}
	for _, side := range []struct {
		name  string
		cells []cellAt
	}{{nameA, onlyA}, {nameB, onlyB}} {
		for _, c := range side.cells {
			name := cmp.Or(v.valuesName(c.cell.Values), "the cell")
			s.Notes = append(s.Notes, join(" ", plain("only in "+side.name+":"), code(name), plain("of"), code(c.benchmark.Addr)))
		}
	}
	return s
}
