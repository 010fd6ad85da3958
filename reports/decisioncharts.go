package reports

import (
	"fmt"
	"math"
	"strconv"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
)

// pairsChart draws base and head of each repeat, connected.
func (v *view) pairsChart(c *comparison, r verdictRow, pairs []result.Pair, id string) model.Chart {
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
	return chart
}

// forestChart draws the change of each repeat and the deciding interval, against zero and the margin.
func (v *view) forestChart(r verdictRow, pairs []result.Pair, id string) (model.Chart, bool) {
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
		return nil, false
	}
	all := svg.Interval{Label: "all", Value: orNaN(d.Change) * factor, Main: true, Text: changeText(d, s),
		Lower: math.NaN(), Upper: math.NaN()}
	if d.Lower != nil || d.Upper != nil {
		all.Lower, all.Upper = end(d.Lower, -1)*factor, end(d.Upper, 1)*factor
	}
	chart.Rows = append(chart.Rows, all)
	chart.Desc = fmt.Sprintf("Estimate %s, %s %s, margin %s; %s.",
		changeText(d, s), intervalName(v.decisionLevel(r)), intervalText(d, s), marginText(d, s), worseSide(d))
	return chart, true
}

func worseSide(d *result.Decision) string {
	if d.Direction == "higher" {
		return "← worse"
	}
	return "worse →"
}

// end returns a bound, infinite if there is none.
func end(bound *float64, sign int) float64 {
	if bound == nil {
		return math.Inf(sign)
	}
	return *bound
}

func signedTick(x float64) string {
	return humanize.Signed(x, func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
}
