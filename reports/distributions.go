package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/svg"
)

// distribution holds the distributions of one group of metrics on both sides.
type distribution struct {
	id, label string
	sides     []sideCurve
}

// sideCurve holds the distribution of one side.
type sideCurve struct {
	name, class string
	curve
}

// readDistributions reads the histograms of both sides.
func (c *comparison) readDistributions() {
	for i, group := range distributions {
		d := distribution{id: fmt.Sprintf("%s-d%d", c.anchor, i+1), label: group.label}
		for _, s := range c.sides() {
			cv, bad := curveOf(s.cell, group.group)
			c.unreadable += bad
			if len(cv.at) > 0 {
				d.sides = append(d.sides, sideCurve{s.name, s.class, cv})
			}
		}
		if len(d.sides) > 0 {
			c.distributions = append(c.distributions, d)
		}
	}
}

// distributionParts draws the percentiles and the distribution functions of both sides.
func (v *view) distributionParts(c *comparison) []model.Part {
	var out []model.Part
	for _, d := range c.distributions {
		out = append(out, model.Part{Title: model.Plain(d.label), Charts: []model.Chart{
			percentileChart(d.label, d.sides, d.id+"q"), ecdfChart(d.label, d.sides, d.id+"e"),
		}})
	}
	return out
}

// quantiles returns a table of the percentiles of both sides.
func (v *view) quantiles(c *comparison) []model.Part {
	t := model.Table{Columns: []model.Column{{Title: "metric"}, {Title: "side"}}}
	for _, q := range tableQuantiles {
		t.Columns = append(t.Columns, model.Column{Title: "p" + humanize.Exact(q*100), Align: model.Right})
	}
	for _, d := range c.distributions {
		t.Rows = append(t.Rows, quantileRows(d.label, d.sides)...)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []model.Part{{Title: model.Plain("Percentiles in figures (median of the runs)"), Tables: []model.Table{t}}}
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

// tableQuantiles lists the quantiles shown in a table.
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

// curveScale returns the unit that fits the medians up to p99. The tail may need more digits.
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

// percentileChart draws the tail: each further nine has the same width.
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

// ecdfChart draws the body: the share of values up to each value.
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
