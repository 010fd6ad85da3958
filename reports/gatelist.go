package reports

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// gateList returns the section with every gate, its verdict and its place in the file.
func (v *view) gateList() model.Section {
	if v.o.NoGates {
		return model.Section{}
	}
	t := model.Table{Columns: []model.Column{
		{Title: "gate", Wrap: true}, {Title: "verdict"}, {Title: "comparisons", Wrap: true}, {Title: "baseline", Wrap: true, Aside: true},
		{Title: "place", Wrap: true, Aside: true},
	}}
	if v.doc.Bill != nil {
		t.Columns = append(t.Columns, model.Column{Title: "decided after", Align: model.Right, Aside: true},
			model.Column{Title: "cost until then", Align: model.Right, Aside: true})
	}
	for _, g := range v.gates {
		gate := model.Code(g.Addr)
		if g.Description != "" {
			gate = model.Join(" ", gate, model.Plain(g.Description))
		}
		baseline := nonEmpty(humanize.None)
		if g.Baseline != "" {
			baseline = model.Code(g.Baseline)
		}
		t.Rows = append(t.Rows, model.Row{Icon: iconOf(g, g.Verdict), Cells: []model.Line{
			gate, model.Plain(gateVerdict(g)), model.Plain(gateCounts(g)), baseline, place(g.Range),
		}})
		if v.doc.Bill != nil {
			row := &t.Rows[len(t.Rows)-1]
			row.Cells = append(row.Cells, v.gateCost(g)...)
		}
	}
	return model.Section{Title: model.Plain(humanize.Count(len(v.gates), "gate")), Folded: true, Tables: []model.Table{t}}
}

func gateVerdict(g *result.Gate) string {
	if g.Verdict == result.Pass || g.Verdict == result.Improvement {
		return g.VerdictText()
	}
	switch g.On(g.Verdict) {
	case result.Warn:
		return g.VerdictText() + " (warns)"
	case result.Ignore:
		return g.VerdictText() + " (ignored)"
	}
	return g.VerdictText() + " (fails)"
}

// countOf formats a number of comparisons with a verdict: "2 regressions", "2 inconclusive".
func countOf(n int, verdict result.Verdict) string {
	switch verdict {
	case result.Regression, result.Improvement, result.Pass:
		return humanize.Count(n, string(verdict))
	}
	return fmt.Sprintf("%d %s", n, verdict)
}

func gateCounts(g *result.Gate) string {
	t := map[result.Verdict]int{}
	for _, d := range g.Decisions {
		t[d.Verdict]++
	}
	var parts []string
	for _, verdict := range []result.Verdict{
		result.Regression, result.Invalid, result.Missing, result.Inconclusive, result.Improvement, result.Pass,
	} {
		if n := t[verdict]; n > 0 {
			parts = append(parts, countOf(n, verdict))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
