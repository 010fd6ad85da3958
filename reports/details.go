package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// comparison holds all decisions on one pair of cells, or on one cell without a partner.
type comparison struct {
	anchor     string
	name       model.Line
	head, base *result.Cell // base is nil without a partner
	headName   string       // of the sides
	baseName   string
	rows       []verdictRow // worst first
	// distributions holds the distributions of both sides; unreadable counts the histograms that could not be read.
	distributions []distribution
	unreadable    int
}

// choose selects the comparisons that get charts, and assigns anchors to their decisions.
func (v *view) choose() {
	p := v.page
	for _, c := range v.comparisons() {
		switch {
		case !c.hasCharts():
		case len(p.comparisons) < p.size.comparisons:
			p.comparisons = append(p.comparisons, c)
		default:
			p.withoutCharts++
		}
	}
	v.anchors = map[*result.Decision]string{}
	for _, c := range p.comparisons {
		for i, r := range c.rows {
			v.anchors[r.d] = c.anchor
			if i < maxDetailed {
				v.anchors[r.d] = c.findingID(i)
			}
		}
	}
}

// findingID returns the id of the i-th decision on a page.
func (c *comparison) findingID(i int) string { return fmt.Sprintf("%s-%d", c.anchor, i+1) }

// details returns the section with one part for each comparison.
func (v *view) details() model.Section {
	p := v.page
	s := model.Section{Title: model.Plain(humanize.Count(len(p.comparisons), "pair") + " of cells in detail"), Controls: true, Folded: true}
	if len(v.rows) == 0 {
		s.Title, s.Folded = model.Plain(humanize.Count(len(p.comparisons), "cell")+" in detail"), len(p.comparisons) > maxOpen
	}
	for i, c := range p.comparisons {
		s.Parts = append(s.Parts, v.detail(c, len(v.rows) > 0 && i < maxOpen || len(p.comparisons) == 1))
	}
	if p.withoutCharts > 0 {
		s.Omitted = []model.Line{model.Plain(humanize.Count(p.withoutCharts, "more comparison") +
			" of cells left out here, the worst are shown; the tables have all.")}
	}
	return s
}

// detailParts lists the functions that draw each comparison on a page. A new part is a function and
// its entry here.
var detailParts = []func(*view, *comparison) []model.Part{
	(*view).findingParts, (*view).distributionParts, (*view).overRun, (*view).lagOfRuns, (*view).quantiles,
}

// comparisons groups the decisions by the cells that they compare, worst first. Without decisions it returns one
// comparison without a base for each cell.
func (v *view) comparisons() []*comparison {
	var out []*comparison
	byKey := map[string]*comparison{}
	for _, r := range v.rows {
		head, ok := v.cell(r.gate.Benchmark, r.d.Cell)
		if !ok {
			continue
		}
		key := strings.Join([]string{r.gate.Benchmark, r.d.Cell, r.d.BaseCell, r.d.Base, r.d.Head}, "\x00")
		c := byKey[key]
		if c == nil {
			names := v.names(r)
			c = &comparison{
				anchor: fmt.Sprintf("c%d", len(out)+1), name: v.cellName(r), head: head.cell,
				headName: names.Head, baseName: names.Base,
			}
			if base, ok := v.cell(r.gate.Benchmark, r.d.BaseCell); ok && r.gate.BaselineKind == result.BaselinePaired {
				c.base = base.cell
			}
			byKey[key] = c
			out = append(out, c)
		}
		c.rows = append(c.rows, r)
	}
	if len(v.rows) == 0 {
		return v.loneCells()
	}
	return out
}

func (v *view) loneCells() []*comparison {
	var out []*comparison
	for _, at := range allCells(v.doc) {
		name := cmp.Or(v.valuesName(at.cell.Values), at.cell.Target, model.ShortAddr(at.benchmark.Addr))
		out = append(out, &comparison{
			anchor: fmt.Sprintf("c%d", len(out)+1), name: model.Code(name), head: at.cell, headName: cmp.Or(at.cell.Target, "runs"),
		})
	}
	return out
}

// hasCharts reports whether a comparison has data to draw.
func (c *comparison) hasCharts() bool {
	if slices.ContainsFunc(c.rows, func(r verdictRow) bool { return len(r.d.Pairs) > 0 }) {
		return true
	}
	for _, cell := range []*result.Cell{c.head, c.base} {
		if cell != nil && slices.ContainsFunc(cell.Runs, func(r result.Run) bool { return len(r.Histograms) > 0 }) {
			return true
		}
	}
	return false
}

// Limits of one comparison. The report counts what exceeds them.
const (
	maxDetailed = 12 // decisions drawn
	maxPairs    = 60 // repeats drawn
	maxOpen     = 3  // comparisons that are open initially
)

// detail draws c.
func (v *view) detail(c *comparison, open bool) model.Part {
	c.readDistributions()
	p := model.Part{ID: c.anchor, Title: c.name, Summary: c.summary(), Open: open}
	if len(c.rows) > 0 {
		p.Icon = iconOf(c.rows[0].gate, c.rows[0].d.Verdict)
	}
	for _, parts := range detailParts {
		p.Parts = append(p.Parts, parts(v, c)...)
	}
	if n := len(c.rows) - maxDetailed; n > 0 {
		p.Footnotes = append(p.Footnotes, model.Plain(humanize.Count(n, "more comparison")+" of these cells are in the tables only."))
	}
	if c.unreadable > 0 {
		p.Footnotes = append(p.Footnotes, model.Plain(humanize.Count(c.unreadable, "histogram")+" could not be read and are left out."))
	}
	return p
}

const maxSummary = 3

// summary lists the first decisions other than passes, and counts the rest.
func (c *comparison) summary() model.Line {
	var words []model.Line
	rest := 0
	for _, r := range c.rows {
		if r.d.Verdict == result.Pass || len(words) == maxSummary {
			rest++
			continue
		}
		words = append(words, summaryWords(r))
	}
	if rest > 0 {
		what := " more"
		if len(words) < maxSummary {
			what = " passed"
		}
		words = append(words, model.Plain(fmt.Sprint(rest)+what))
	}
	return model.Join("; ", words...)
}

// summaryWords formats a decision as "TTFT p99 +14.4 % regression".
func summaryWords(r verdictRow) model.Line {
	l := model.Plain(metricLabel(r.d))
	if r.d.N > 0 && r.d.Kind == result.KindMetric {
		l = model.Join(" ", l, model.Plain(changeText(r.d, scaleOf(r.d))))
	}
	return model.Join(" ", l, model.Plain(string(r.d.Verdict)))
}

// findingParts returns the decisions with their charts and their arithmetic.
func (v *view) findingParts(c *comparison) []model.Part {
	var out []model.Part
	for i, r := range c.rows[:min(len(c.rows), maxDetailed)] {
		out = append(out, v.findingPart(c, r, c.findingID(i)))
	}
	return out
}

func (v *view) findingPart(c *comparison, r verdictRow, id string) model.Part {
	f := model.Part{
		ID: id, Title: model.Plain(v.metricCell(r).String()), Icon: iconOf(r.gate, r.d.Verdict), Open: !r.passed(),
		Summary: v.verdictSentence(r), Reason: nonEmpty(r.d.Reason),
	}
	for _, w := range r.d.Warnings[:min(len(r.d.Warnings), maxSummary)] {
		f.Notes = append(f.Notes, model.Plain(w))
	}
	if len(r.d.Pairs) > 0 && r.d.Kind == result.KindMetric {
		shown := inOrder(r.d.Pairs)
		shown = shown[:min(len(shown), maxPairs)]
		f.Charts = append(f.Charts, v.pairsChart(c, r, shown, id+"p"))
		if chart, ok := v.forestChart(r, shown, id+"f"); ok {
			f.Charts = append(f.Charts, chart)
		}
		f.Parts = append(f.Parts, model.Part{Title: model.Plain("The repeats in figures"), Tables: []model.Table{v.pairsTable(c, r, shown)}})
	}
	if sums := v.sums(r); len(sums) > 0 {
		f.Parts = append(f.Parts, model.Part{Title: model.Plain("The arithmetic"), Open: f.Open, Sums: sums})
	}
	return f
}

// inOrder sorts pairs by repeat. The document stores repeated measurements in the order of measurement.
func inOrder(pairs []result.Pair) []result.Pair {
	return slices.SortedStableFunc(slices.Values(pairs), func(a, b result.Pair) int { return cmp.Compare(a.Repeat, b.Repeat) })
}

// verdictSentence returns the verdict with its figures.
func (v *view) verdictSentence(r verdictRow) model.Line {
	d := r.d
	s := scaleOf(d)
	line := model.Line{{Text: d.VerdictText(), Style: model.Strong}}
	if d.N > 0 && d.Kind != result.KindAssert {
		base, head := valueTexts(d)
		line = append(line, model.Span{Text: fmt.Sprintf(": %s → %s, %s", base, head, changeText(d, s))})
	} else if value, limit, headroom := limitTexts(d); d.Kind == result.KindAssert && limit != humanize.None {
		line = append(line, model.Span{Text: fmt.Sprintf(": %s, limit %s, %s", value, limit, headroom)})
	} else if d.HeadValue != nil {
		_, head := valueTexts(d)
		line = append(line, model.Span{Text: ": " + head})
	}
	if i := intervalText(d, s); i != humanize.None {
		line = append(line, model.Span{Text: fmt.Sprintf(" (%s %s)", intervalName(v.decisionLevel(r)), i)})
	}
	return line
}

// pairsTable returns the values that the charts draw.
func (v *view) pairsTable(c *comparison, r verdictRow, pairs []result.Pair) model.Table {
	s := scaleOfPairs(r.d)
	t := model.Table{Columns: []model.Column{
		{Title: "repeat"}, {Title: c.baseName, Align: model.Right}, {Title: c.headName, Align: model.Right},
		{Title: "change", Align: model.Right}, {Title: "d", Align: model.Right},
	}}
	for _, p := range pairs {
		change, diff := humanize.None, worseBy(r.d, p)
		if humanize.Finite(diff) {
			change = changeWords(r.d, s, changeOf(r.d, diff))
		}
		t.Add(model.Plain(fmt.Sprint(p.Repeat)), model.Plain(s.Value(p.Base)), model.Plain(s.Value(p.Head)), model.Plain(change),
			model.Plain(digits(diff)))
	}
	t.Omitted = len(r.d.Pairs) - len(pairs)
	return t
}

func scaleOfPairs(d *result.Decision) humanize.Scale {
	values := []float64{orNaN(d.BaseValue), orNaN(d.HeadValue)}
	for _, p := range d.Pairs {
		values = append(values, p.Base, p.Head)
	}
	return humanize.ScaleFor(d.Unit, values...)
}
