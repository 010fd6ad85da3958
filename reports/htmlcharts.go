package reports

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
)

// pairsChart has base and head of each repeat, connected.
func (v *view) pairsChart(c *comparison, r verdictRow, pairs []result.Pair, id string) template.HTML {
	s := scaleOfPairs(r.d)
	chart := svg.Pairs{
		ID: id, Base: c.baseName, Head: c.headName, Y: svg.Axis{Title: s.Unit, Format: humanize.Exact},
		Title: fmt.Sprintf("%s of each repeat, %s and %s", metricLabel(r.d), c.baseName, c.headName),
	}
	worse := 0
	for _, p := range pairs {
		diff := worseBy(r.d, p)
		if diff > 0 {
			worse++
		}
		chart.Points = append(chart.Points, svg.Pair{
			Label: fmt.Sprint(p.Repeat), Base: p.Base * s.Factor, Head: p.Head * s.Factor, Worse: diff > 0,
		})
	}
	base, head := valueTexts(r.d)
	chart.Desc = fmt.Sprintf("%s is worse than %s in %d of %s; means %s and %s.", c.headName, c.baseName, worse,
		humanize.Count(len(pairs), "repeat"), base, head)
	return page.Chart(chart)
}

// forestChart has the change of each repeat and the interval that decides, against zero
// and the margin.
func (v *view) forestChart(r verdictRow, pairs []result.Pair, id string) (template.HTML, bool) {
	d := r.d
	s := scaleOf(d)
	factor, unit := 100.0, "%"
	if !onLog(d) {
		factor, unit = s.Factor, s.Unit
		if unit == "%" {
			unit = "pp"
		}
	}
	chart := svg.Forest{
		ID: id, Margin: math.NaN(),
		X:     svg.Axis{Title: "change, " + unit + " (" + worseSide(d) + ")", Format: signedTick},
		Title: "Change of " + metricLabel(d) + " against zero and the margin",
	}
	if d.Margin > 0 && !expectsImprovement(r) {
		chart.Margin = changeOf(d, marginOf(d)) * factor
	}
	for _, p := range pairs {
		diff := worseBy(d, p)
		if !humanize.Finite(diff) {
			continue
		}
		change := changeOf(d, diff)
		chart.Rows = append(chart.Rows, svg.Interval{
			Label: "#" + fmt.Sprint(p.Repeat), Value: change * factor, Lower: math.NaN(), Upper: math.NaN(), Text: changeWords(d, s, change),
		})
	}
	if len(chart.Rows) == 0 {
		return "", false
	}
	all := svg.Interval{Label: "all", Value: orNaN(d.Change) * factor, Main: true, Text: changeText(d, s),
		Lower: math.NaN(), Upper: math.NaN()}
	if d.Lower != nil || d.Upper != nil {
		all.Lower, all.Upper = end(d.Lower, -1)*factor, end(d.Upper, 1)*factor
	}
	chart.Rows = append(chart.Rows, all)
	chart.Desc = fmt.Sprintf("Estimate %s, %s %s, margin %s; %s.",
		changeText(d, s), intervalName(v.decisionLevel(r)), intervalText(d, s), marginText(d, s), worseSide(d))
	return page.Chart(chart), true
}

func worseSide(d *result.Decision) string {
	if d.Direction == "higher" {
		return "← worse"
	}
	return "worse →"
}

// end is a bound, infinite where there is none.
func end(bound *float64, sign int) float64 {
	if bound == nil {
		return math.Inf(sign)
	}
	return *bound
}

func signedTick(x float64) string {
	return humanize.Signed(x, func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
}

// drawDistributions adds the percentiles and the distribution functions of both sides.
func (v *view) drawDistributions(p *page.Comparison, c *comparison) {
	unreadable := 0
	table := model.Table{Columns: []model.Column{{Title: "metric"}, {Title: "side"}}}
	for _, q := range tableQuantiles {
		table.Columns = append(table.Columns, model.Column{Title: "p" + humanize.Exact(q*100), Align: model.Right})
	}
	for i, group := range distributions {
		sides, bad := c.curves(group.group)
		unreadable += bad
		if len(sides) == 0 {
			continue
		}
		id := fmt.Sprintf("%s-d%d", c.anchor, i+1)
		p.Distributions = append(p.Distributions, page.Distribution{Label: group.label, Charts: []template.HTML{
			page.Chart(percentileChart(group.label, sides, id+"q")), page.Chart(ecdfChart(group.label, sides, id+"e")),
		}})
		table.Rows = append(table.Rows, quantileRows(group.label, sides)...)
	}
	if len(table.Rows) > 0 {
		p.Quantiles = []page.Table{page.TableOf(table, len(table.Rows))}
	}
	if unreadable > 0 {
		p.Notes = append(p.Notes, page.Spans(model.Plain(humanize.Count(unreadable, "histogram")+" could not be read and are left out."),
			model.MaxLine))
	}
	p.Distributions = append(p.Distributions, c.runCharts(c.anchor+"-t")...)
	if lag, ok := c.lagChart(c.anchor + "-lag"); ok {
		p.Distributions = append(p.Distributions, page.Distribution{Label: "Lag of the client", Charts: []template.HTML{lag}})
	}
}

// sideCurve is the distribution of one side.
type sideCurve struct {
	name, class string
	curve
}

func (c *comparison) curves(group string) (sides []sideCurve, unreadable int) {
	for _, s := range c.sides() {
		cv, bad := curveOf(s.cell, group)
		unreadable += bad
		if len(cv.at) > 0 {
			sides = append(sides, sideCurve{s.name, s.class, cv})
		}
	}
	return sides, unreadable
}

// side is a cell with the name and the class of its side.
type side struct {
	name, class string
	cell        *result.Cell
}

func (c *comparison) sides() []side {
	var out []side
	if c.base != nil {
		out = append(out, side{c.baseName, "base", c.base})
	}
	return append(out, side{c.headName, "head", c.head})
}

// tableQuantiles are those whose figures are in a table.
var tableQuantiles = []float64{0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999}

func quantileRows(label string, sides []sideCurve) []model.Row {
	s := curveScale(sides)
	var rows []model.Row
	for _, side := range sides {
		row := model.Row{Cells: []model.Line{model.Plain(label), model.Plain(side.name)}}
		at := map[float64]curvePoint{}
		for _, p := range side.at {
			at[p.q] = p
		}
		for _, q := range tableQuantiles {
			text := humanize.None
			if p, ok := at[q]; ok {
				text = s.Value(p.mid)
			}
			row.Cells = append(row.Cells, model.Plain(text))
		}
		rows = append(rows, row)
	}
	return rows
}

// curveScale is the unit of the medians: the tail may have more digits.
func curveScale(sides []sideCurve) humanize.Scale {
	largest := 0.0
	for _, side := range sides {
		for _, p := range side.at {
			if p.q <= 0.99 {
				largest = max(largest, p.mid)
			}
		}
	}
	return humanize.ScaleFor("s", largest)
}

// percentileChart has the tail: each nine has the same width.
func percentileChart(label string, sides []sideCurve, id string) svg.Lines {
	s := curveScale(sides)
	chart := svg.Lines{
		ID: id, Title: label + " by percentile",
		Desc: bandWords(sides),
		X:    svg.Axis{Title: "percentile", Kind: svg.Percentile, Format: func(q float64) string { return "p" + humanize.Exact(q*100) }},
		Y:    svg.Axis{Title: label + ", " + s.Unit, Format: humanize.Exact, Zero: true},
	}
	for _, side := range sides {
		series := svg.Series{Name: side.name, Class: side.class}
		for _, p := range side.at {
			series.Points = append(series.Points, svg.Point{X: p.q, Y: p.mid * s.Factor, Low: p.low * s.Factor, High: p.high * s.Factor})
		}
		chart.Series = append(chart.Series, series)
	}
	return chart
}

// ecdfChart has the body: the share of values up to each.
func ecdfChart(label string, sides []sideCurve, id string) svg.Lines {
	s := curveScale(sides)
	chart := svg.Lines{
		ID: id, Title: label + ": share of values up to each",
		Desc: bandWords(sides),
		X:    svg.Axis{Title: label + ", " + s.Unit, Kind: svg.Log, Format: humanize.Exact},
		Y:    svg.Axis{Title: "share of values", Fixed: true, Min: 0, Max: 1, Format: plainTick},
	}
	for _, side := range sides {
		series := svg.Series{Name: side.name, Class: side.class}
		for _, p := range side.at {
			series.Points = append(series.Points, svg.Point{
				X: p.mid * s.Factor, Y: p.q, Low: p.low * s.Factor, High: p.high * s.Factor, BandX: true,
			})
		}
		chart.Series = append(chart.Series, series)
	}
	return chart
}

func plainTick(x float64) string { return strconv.FormatFloat(x*100, 'g', 3, 64) + " %" }

// bandWords describes what a chart of distributions draws.
func bandWords(sides []sideCurve) string {
	words := []string{"Line: median of the runs at each percentile; band: smallest to largest run."}
	for _, s := range sides {
		words = append(words, fmt.Sprintf("%s: %s, %s.", s.name, humanize.Count(s.runs, "run"),
			humanize.Count(int(min(s.count, math.MaxInt32)), "value")))
	}
	return strings.Join(words, " ")
}
