package series

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/svg"
)

// The largest number of sessions of one machine that are drawn, the last ones: in a page of many charts, and in one of its own.
const (
	maxTrendPoints = 400
	maxOwnPoints   = 4000
)

// maxMachines is the largest number of distinguishable lines in a chart.
const maxMachines = 6

// chart is the chart of a series.
type chart struct {
	historyView *view
	t           *Trend
	scale       humanize.Scale
	chart       svg.Trend
}

func (v *view) chart(t *Trend, id string) model.Chart {
	c := &chart{historyView: v, t: t}
	largest := 0.0
	for i := range t.Parts {
		for _, p := range t.Parts[i].Points {
			largest = max(largest, math.Abs(p.Value))
		}
	}
	c.scale = humanize.ScaleFor(t.Unit, largest)
	unit := c.scale.Unit
	if unit == "" {
		unit = t.MetricLabel
	}
	c.chart = svg.Trend{
		ID: id, Title: v.name(t).String() + ", " + t.MetricLabel + " over the sessions", Desc: c.desc(),
		Y: svg.Axis{Title: unit, Format: humanize.Exact},
	}
	for i := range t.Parts[:min(len(t.Parts), maxMachines)] {
		c.part(i)
	}
	c.chart.X = timeAxis(c.span())
	return c.chart
}

// desc describes the chart, for readers who do not see it.
func (c *chart) desc() string {
	text := []string{"A dot is a session; the thick line is the level between two change points."}
	if c.t.Condition() != trend.Short {
		text = append(text, "The thin one is the reference, the dashed one the threshold.")
	}
	if n := len(c.t.Parts); n > 1 {
		text = append(text, fmt.Sprintf("There were %d kinds of machines, each a series of its own.", n))
	}
	for i := range c.t.Parts {
		p := &c.t.Parts[i]
		for _, change := range p.Changes {
			_, state := changeState(p, change)
			text = append(text, fmt.Sprintf("%s at %s (%s).", c.t.change(change.Change), dateOf(p.Points[change.Index].Time), state))
		}
	}
	return strings.Join(text, " ")
}

// days converts a time to a value on the axis.
func days(t time.Time) float64 { return float64(t.Unix()) / (24 * 3600) }

// span returns the range from the first to the last dot.
func (c *chart) span() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range c.chart.Lines {
		for _, d := range l.Dots {
			lo, hi = min(lo, d.X), max(hi, d.X)
		}
	}
	return lo, hi
}

// part draws the sessions of one machine.
func (c *chart) part(i int) {
	p := &c.t.Parts[i]
	if len(p.Points) == 0 {
		return
	}
	most := maxTrendPoints
	if c.historyView.own {
		most = maxOwnPoints
	}
	first := max(0, len(p.Points)-most)
	line := svg.TrendLine{Name: p.Machine, Class: fmt.Sprintf("s%d", i+1)}
	for _, at := range p.Points[first:] {
		line.Dots = append(line.Dots, svg.Dot{X: days(at.Time), Y: at.Value * c.scale.Factor, Tip: c.tip(p, at)})
	}
	c.chart.Lines = append(c.chart.Lines, line)
	if i > 0 {
		c.chart.Marks = append(c.chart.Marks, svg.Mark{
			X: days(p.Points[first].Time), Class: "split", Sign: "⇄", Tip: "from here on also " + p.Machine + ", a series of its own",
		})
	}
	c.levels(p, first)
	if c.historyView.own {
		c.bands(p, first)
	}
	c.marks(p, first)
	c.reference(p, first)
}

func (c *chart) tip(p *Part, at Point) string {
	text := at.Time.UTC().Format("2006-01-02 15:04") + " · " + c.scale.Value(at.Value)
	if at.Commit != "" {
		text += " · " + at.Commit[:min(7, len(at.Commit))]
	}
	if len(c.t.Parts) > 1 {
		text += " · " + p.Machine
	}
	return text
}

// between returns the place half-way between the session at index and the previous one.
func between(p *Part, index int) float64 {
	at := days(p.Points[index].Time)
	if index == 0 {
		return at
	}
	return (at + days(p.Points[index-1].Time)) / 2
}

// levels draws the lines between the change points.
func (c *chart) levels(p *Part, first int) {
	if p.Condition == trend.Short {
		return
	}
	end := days(p.Points[len(p.Points)-1].Time)
	level := p.Level
	if len(p.Changes) > 0 {
		level = p.Changes[0].Before
	}
	from := days(p.Points[first].Time)
	add := func(to float64) {
		if to > from {
			c.chart.Levels = append(c.chart.Levels, svg.Level{From: from, To: to, Y: level * c.scale.Factor, Class: "level", Tip: "level " +
				c.scale.Value(level)})
		}
	}
	for _, change := range p.Changes {
		at := between(p, change.Index)
		add(at)
		from, level = max(from, at), change.After
	}
	add(end)
}

// bands draws the noise about each level: two standard deviations of a session on both sides.
func (c *chart) bands(p *Part, first int) {
	if p.Noise <= 0 || p.Condition == trend.Short {
		return
	}
	around := func(level float64) (low, high float64) {
		if c.t.Scale == "log" {
			return level * math.Exp(-2*p.Noise), level * math.Exp(2*p.Noise)
		}
		return level - 2*p.Noise, level + 2*p.Noise
	}
	for _, l := range c.chart.Levels {
		if l.Class != "level" || l.From < days(p.Points[first].Time) || l.To > days(p.Points[len(p.Points)-1].Time) {
			continue
		}
		low, high := around(l.Y / c.scale.Factor)
		c.chart.Bands = append(c.chart.Bands, svg.Band{From: l.From, To: l.To, Low: low * c.scale.Factor, High: high * c.scale.Factor,
			Tip: "noise of a session: two standard deviations about the level"})
	}
}

// marks draws the change points and the accepted session.
func (c *chart) marks(p *Part, first int) {
	for _, change := range p.Changes {
		if change.Index < first {
			continue
		}
		class, sign := "worse", "✗"
		switch {
		case change.Accepted:
			class, sign = "accepted", "✓"
		case !change.Worse:
			class, sign = "better", "▲"
		case change.State == trend.Suspected:
			class, sign = "suspected", "?"
		}
		_, state := changeState(p, change)
		row := row{c.t, p}
		c.chart.Marks = append(c.chart.Marks, svg.Mark{
			X: between(p, change.Index), Class: class, Sign: sign,
			Tip: fmt.Sprintf("%s: %s, %s, %s", dateOf(p.Points[change.Index].Time), c.t.change(change.Change), state,
				row.commits(change.Index).String()),
		})
	}
}

// reference draws the reference and the threshold for the end of the series.
func (c *chart) reference(p *Part, first int) {
	if p.Condition == trend.Short || p.Retired {
		return
	}
	begin := p.Start
	for _, change := range p.Changes {
		if change.Index > begin && !change.Worse && change.After == p.Reference {
			begin = change.Index
		}
	}
	from, to := between(p, max(first, begin)), days(p.Points[len(p.Points)-1].Time)
	limit := p.Reference + p.Threshold
	if c.t.Scale == "log" {
		limit = p.Reference * (1 + p.Threshold)
	}
	c.chart.Levels = append(c.chart.Levels,
		svg.Level{From: from, To: to, Y: p.Reference * c.scale.Factor, Class: "reference", Tip: "reference " + c.scale.Value(p.Reference)},
		svg.Level{From: from, To: to, Y: limit * c.scale.Factor, Class: "margin", Tip: "threshold " + c.scale.Value(limit)})
}

// timeAxis returns an axis with a few whole days as ticks.
func timeAxis(lo, hi float64) svg.Axis {
	const pad = 0.02
	a := svg.Axis{Title: "session", Fixed: true, Min: lo - 0.5 - pad*(hi-lo), Max: hi + 0.5 + pad*(hi-lo)}
	format := "2 Jan"
	if hi-lo > 300 {
		format = "Jan 2006"
	}
	const most = 5
	for _, step := range []float64{1, 2, 7, 14, 28, 56, 91, 182, 365, 730, 3650} {
		if (hi-lo)/step > most {
			continue
		}
		for at := math.Ceil(lo); at <= hi; at += step {
			a.Ticks = append(a.Ticks, at)
		}
		break
	}
	if len(a.Ticks) == 0 {
		a.Ticks = []float64{hi}
	}
	a.Format = func(x float64) string { return time.Unix(int64(math.Round(x*24*3600)), 0).UTC().Format(format) }
	return a
}
