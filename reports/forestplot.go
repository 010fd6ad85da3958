package reports

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/forest"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// forest returns the section with every comparison as an estimate and an interval.
func (v *view) forest() model.Section {
	p := v.forestPlot()
	if p.Drawn() < 2 { // the lead states a single one, and the reasons why nothing was compared
		return model.Section{}
	}
	title := humanize.Count(p.Rows(), "comparison") + " against their margins"
	return model.Section{Title: model.Plain(title), Forest: &p, Folded: v.page == nil}
}

// axesOfAll returns the axes that name the cells of all rows, nil if rows differ in them.
func (v *view) axesOfAll() []string {
	var all []string
	for _, r := range v.rows {
		axes := v.shownAxes(r)
		if len(axes) == 0 { // over cells
			continue
		}
		if all != nil && !slices.Equal(all, axes) {
			return nil
		}
		all = axes
	}
	return all
}

// forestPlot arranges the comparisons of a document by metric, what fails first. Limits and success rates have no
// margin, so that it has only those that did not pass.
func (v *view) forestPlot() forest.Plot {
	var p forest.Plot
	var names, axes []string
	if v.page != nil {
		axes = v.axesOfAll()
	}
	undrawn := 0
	margins := map[string]string{}
	for _, r := range v.rows { // worst first
		if r.d.Kind != result.KindMetric && r.passed() {
			undrawn++
			continue
		}
		name := metricName(r.d).String()
		at := slices.Index(names, name)
		margin := marginText(r.d, scaleOf(r.d))
		if at < 0 {
			at = len(names)
			names = append(names, name)
			margins[name] = margin
			p.Groups = append(p.Groups, forest.Group{Name: name})
		}
		if margins[name] != margin {
			margins[name] = humanize.None
		}
		p.Groups[at].Rows = append(p.Groups[at].Rows, v.forestRow(r, len(axes) > 1))
	}
	for i := range p.Groups {
		if m := margins[p.Groups[i].Name]; m != humanize.None {
			p.Groups[i].Name += ", margin " + m
		}
	}
	p.Desc = "● estimate with its interval; the band is what the margin allows, worse is on the right."
	if len(axes) > 1 {
		p.Desc += " Cells are named by " + strings.Join(axes, " · ") + "."
	}
	if undrawn > 0 {
		p.Desc += fmt.Sprintf(" Not drawn: %s that passed.", humanize.Count(undrawn, "comparison")+" of success rates or limits")
	}
	return p
}

// forestRow returns the row of a comparison. Plain rows name their cell by the values of its axes alone.
func (v *view) forestRow(r verdictRow, plain bool) forest.Row {
	d := r.d
	icon := iconOf(r.gate, d.Verdict)
	row := forest.Row{
		Label: v.rowLabel(r, plain), Verdict: d.VerdictText(), Sign: icon.Symbol(), Class: icon.Class(),
		Value: math.NaN(), Lower: math.NaN(), Upper: math.NaN(), Text: d.VerdictText(), Tip: v.sentence(r).String(), Anchor: v.anchors[d],
		Passed: r.passed(),
	}
	if icon == model.IconPass {
		row.Class = "" // most rows
	}
	if _, _, headroom := limitTexts(d); d.Kind == result.KindAssert && headroom != humanize.None {
		row.Text = headroom
	}
	if d.Change == nil || d.N == 0 || d.Kind == result.KindAssert {
		return row
	}
	row.Text = changeText(d, scaleOf(d))
	unit := marginOf(d)
	if d.Kind != result.KindMetric || !(unit > 0) {
		return row
	}
	margins := func(change float64) float64 { return diffOf(d, change) / unit }
	row.Value = margins(*d.Change)
	if d.Lower != nil || d.Upper != nil {
		a, b := margins(end(d.Lower, -1)), margins(end(d.Upper, 1))
		row.Lower, row.Upper = min(a, b), max(a, b)
	}
	return row
}

// shownAxes returns the axes that name the cell of a row.
func (v *view) shownAxes(r verdictRow) []string {
	var names []string
	for _, a := range v.chosen(r.d.Values) {
		names = append(names, a.Name)
	}
	return names
}

// plainValue returns an axis value without its name.
func (v *view) plainValue(a result.AxisValue) string {
	return strings.TrimPrefix(v.valueName(a), a.Name+"=")
}

// rowLabel names the cell of a row under the heading of its metric.
func (v *view) rowLabel(r verdictRow, plain bool) string {
	label := v.cellName(r).String()
	if plain { // the plot names the axes once
		var values []string
		for _, a := range v.chosen(r.d.Values) {
			values = append(values, v.plainValue(a))
		}
		label = strings.TrimSpace(strings.Replace(label, v.valuesName(r.d.Values), strings.Join(values, " · "), 1))
	}
	if r.d.SuiteCells > 0 {
		label = fmt.Sprintf("over %d cells", r.d.SuiteCells)
	}
	if v.judged[comparisonKey(r.d)] > 1 {
		label += " " + model.ShortAddr(r.gate.Addr)
	}
	return label
}

// SVG writes the forest plot of doc as a drawing of its own.
func SVG(w io.Writer, doc *result.Document, o Options) error {
	v := newView(doc, o)
	p := v.forestPlot()
	_, heading := v.verdict()
	p.Title = model.Join(": ", v.sides(), model.Plain(heading)).String()
	if _, err := io.WriteString(w, p.SVG()); err != nil {
		return fmt.Errorf("write svg: %w", err)
	}
	return nil
}
