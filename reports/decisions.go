package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// verdictRow is one decision with its gate.
type verdictRow struct {
	gate *result.Gate
	d    *result.Decision
}

func (r verdictRow) passed() bool {
	return r.d.Verdict == result.Pass || r.d.Verdict == result.Improvement
}

// empty reports whether nothing was measured for the row.
func (r verdictRow) empty() bool {
	return r.d.BaseValue == nil && r.d.HeadValue == nil && r.d.Verdict != result.Regression
}

// class orders rows: first those that fail the file, then those that warn, then ignored ones, then passes.
func (r verdictRow) class() int {
	if r.passed() {
		return 3
	}
	return slices.Index([]result.Action{result.Fail, result.Warn, result.Ignore}, r.gate.On(r.d.Verdict))
}

// worse returns by how many margins the head is worse than the base, on the scale of the metric. A server failure is
// worse than any latency.
func (r verdictRow) worse() float64 {
	d := r.d
	if d.Kind == result.KindSuccess {
		if r.passed() {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	change := 0.0
	if d.Change != nil {
		change = *d.Change
	}
	change = diffOf(d, change)
	if d.Margin > 0 {
		change /= float64(d.Margin)
	}
	if math.IsNaN(change) {
		return math.Inf(-1)
	}
	return change
}

// compareRows orders regressions first, then undecided rows, then passes. Within a group it orders by the gate's
// action, then by the verdict's severity, then by the size of the change, worst first. Among passes, improvements
// come first.
func compareRows(a, b verdictRow) int {
	return cmp.Or(
		cmp.Compare(a.group(), b.group()),
		cmp.Compare(a.class(), b.class()),
		a.order(b),
		cmp.Compare(b.worse(), a.worse()),
	)
}

func (r verdictRow) order(other verdictRow) int {
	c := result.CompareVerdicts(r.d.Verdict, other.d.Verdict)
	if r.passed() {
		return -c
	}
	return c
}

// group puts regressions first, whatever action their gates take.
func (r verdictRow) group() int {
	switch {
	case r.passed():
		return 2
	case r.d.Verdict == result.Regression:
		return 0
	}
	return 1
}

// maxUnfolded is the number of rows that a page shows beside the plot without being asked.
const maxUnfolded = 12

// findings returns the section with the rows that did not pass.
func (v *view) findings() model.Section {
	rows, _ := v.found()
	s := model.Section{Tables: []model.Table{v.verdictTable(rows)}, Notes: v.laterNotes(rows)}
	if v.page != nil { // other formats have them right below the verdict
		s.Title = model.Plain(humanize.Count(len(rows), "comparison") + " that did not pass")
		s.Folded = len(rows) > maxUnfolded
	}
	return s
}

// found returns the rows that did not pass: those to show and those to fold. If the infrastructure failed, it omits
// rows without any value.
func (v *view) found() (shown, folded []verdictRow) {
	failed := v.outcome.Cause == result.CauseFailed || v.outcome.Cause == result.CauseInfrastructure
	rows := v.where(func(r verdictRow) bool { return !r.passed() && (!failed || !r.empty()) })
	if v.o.Comment && len(rows) > commentRows {
		return rows[:commentRows], rows[commentRows:]
	}
	return rows, nil
}

// moreFound returns the section with the folded rows that did not pass.
func (v *view) moreFound() model.Section {
	_, rows := v.found()
	title := humanize.Count(len(rows), "more comparison") + " that did not pass"
	return model.Section{Title: model.Plain(title), Folded: true, Tables: []model.Table{v.verdictTable(rows)}, Notes: v.laterNotes(rows)}
}

// laterNotes says of the rows that were decided before the last repeat what all repeats show, one note for each look.
func (v *view) laterNotes(rows []verdictRow) []model.Line {
	type key struct{ look, all int }
	var order []key
	of := map[key][]string{}
	for _, r := range rows {
		if r.d.Later == nil {
			continue
		}
		later, k := *r.d, key{r.d.Look, r.d.Later.N}
		later.Change = &r.d.Later.Change
		if of[k] == nil {
			order = append(order, k)
		}
		text := metricLabel(r.d) + " " + changeText(&later, humanize.ScaleFor(r.d.Unit, r.d.Later.BaseValue, r.d.Later.HeadValue))
		if at := v.cellName(r).String(); len(v.coordinates(r)) > 0 || v.severalSides {
			text += " at " + at
		}
		of[k] = append(of[k], text)
	}
	const most = 5
	var notes []model.Line
	for _, k := range order {
		text := fmt.Sprintf("decided after %s; all %d show %s", humanize.Count(k.look, "repeat"), k.all,
			strings.Join(of[k][:min(most, len(of[k]))], ", "))
		if more := len(of[k]) - most; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		notes = append(notes, model.Plain(text))
	}
	return notes
}

// passes returns the folded section with the rows that passed.
func (v *view) passes() model.Section {
	rows := v.where(verdictRow.passed)
	improved := 0
	for _, r := range rows {
		if r.d.Verdict == result.Improvement {
			improved++
		}
	}
	title := humanize.Count(len(rows), "comparison") + " passed"
	if improved > 0 {
		title += fmt.Sprintf(" (%d improved)", improved)
	}
	return model.Section{Title: model.Plain(title), Folded: true, Tables: []model.Table{v.verdictTable(rows)}, Notes: v.laterNotes(rows)}
}

func (v *view) where(keep func(verdictRow) bool) []verdictRow {
	var rows []verdictRow
	for _, r := range v.rows {
		if keep(r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// verdictTable returns a table of decisions, the first table of a report.
func (v *view) verdictTable(rows []verdictRow) model.Table {
	level, common := v.level(rows)
	interval := "interval"
	if common {
		interval = intervalName(level)
	}
	names := v.commonNames(rows)
	if v.o.Comment {
		return v.shortTable(rows, names, interval)
	}
	t := model.Table{Columns: []model.Column{
		{Title: "cell", Wrap: true},
		{Title: "metric", Wrap: true},
		{Title: names.Base, Align: model.Right, Aside: true},
		{Title: names.Head, Align: model.Right, Aside: true},
		{Title: "change", Align: model.Right},
		{Title: interval, Align: model.Center, Aside: true},
		{Title: "p (Holm)", Align: model.Right, Aside: true},
		{Title: "margin", Align: model.Right, Aside: true},
		{Title: "verdict", Wrap: true},
	}}
	for _, r := range rows {
		t.Rows = append(t.Rows, model.Row{Icon: iconOf(r.gate, r.d.Verdict), Cells: v.verdictCells(r, common), Anchor: v.anchors[r.d]})
	}
	if v.leadHasReasons() {
		t = withoutReasons(t, rows)
	}
	if len(v.oneLaunch()) > 0 { // there are no intervals
		t.Columns = slices.Delete(t.Columns, intervalColumn, intervalColumn+2)
		for i := range t.Rows {
			t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, intervalColumn, intervalColumn+2)
		}
	}
	return t
}

// intervalColumn is the column of the interval in a table of decisions; that of the p value follows.
const intervalColumn = 5

// leadHasReasons reports whether the lead of the report says why its rows are not decided.
func (v *view) leadHasReasons() bool { return v.describedFor() != "" || len(v.oneLaunch()) > 0 }

// withoutReasons replaces verdicts with their reasons, the last column, by the verdicts alone.
func withoutReasons(t model.Table, rows []verdictRow) model.Table {
	for i, r := range rows {
		t.Rows[i].Cells[len(t.Columns)-1] = model.Plain(r.d.VerdictText())
	}
	return t
}

func (v *view) verdictCells(r verdictRow, commonLevel bool) []model.Line {
	d := r.d
	s := scaleOf(d)
	base, head := valueTexts(d)
	change, margin := changeText(d, s), marginText(d, s)
	if d.Kind == result.KindAssert {
		base = humanize.None
		head, margin, change = limitTexts(d)
	}
	interval := intervalText(d, s)
	if !commonLevel && interval != humanize.None {
		interval += " (" + humanize.PlainPercent(1-2*v.decisionLevel(r)) + ")"
	}
	return []model.Line{
		v.cellName(r), v.metricCell(r), model.Plain(base), model.Plain(head), model.Plain(change), model.Plain(interval),
		model.Plain(humanize.Probability(d.PHolm)), model.Plain(margin), verdictText(r),
	}
}

// cellName returns the head's coordinates.
func (v *view) cellName(r verdictRow) model.Line {
	name := v.valuesName(r.d.Values)
	if len(v.doc.Benchmarks) > 1 || name == "" {
		name = strings.TrimSpace(model.ShortAddr(r.gate.Benchmark) + " " + name)
	}
	line := model.Code(name)
	if v.severalSides && r.d.Head != "" {
		names := v.names(r)
		line = model.Join(" ", line, model.Code(names.Head), model.Plain("vs"), model.Code(names.Base))
	}
	return line
}

// valuesName formats axis values as "rate=4 input=1024", and those of the sides by their names. The options can restrict it to some axes.
func (v *view) valuesName(values []result.AxisValue) string {
	parts := make([]string, 0, len(values))
	for _, a := range v.chosen(values) {
		parts = append(parts, v.valueName(a))
	}
	return strings.Join(parts, " ")
}

// valueName formats an axis value: the name of the side that has it, or "rate=4".
func (v *view) valueName(a result.AxisValue) string {
	if v.sideNames == nil {
		return a.String()
	}
	if _, ok := v.sideNames[a]; !ok {
		v.sideNames[a] = cmp.Or(v.doc.NameOf(a.Name, a.Value), a.String())
	}
	return v.sideNames[a]
}

func (v *view) chosen(values []result.AxisValue) []result.AxisValue {
	if len(v.o.Rows) == 0 {
		return values
	}
	var out []result.AxisValue
	for _, name := range v.o.Rows {
		for _, a := range values {
			if a.Name == name {
				out = append(out, a)
			}
		}
	}
	return out
}

// metricCell names the metric, and also the gate if another gate judges the same comparison.
func (v *view) metricCell(r verdictRow) model.Line {
	l := metricName(r.d)
	if v.judged[comparisonKey(r.d)] > 1 {
		l = model.Join(" ", l, model.Code(model.ShortAddr(r.gate.Addr)))
	}
	return l
}

// comparisonKey identifies the comparison of a decision, whatever its gate.
func comparisonKey(d *result.Decision) string {
	return strings.Join([]string{d.Cell, d.BaseCell, d.Base, d.Head, d.Metric, string(d.Kind)}, "\x00")
}

// metricName returns the label with an arrow in the better direction.
func metricName(d *result.Decision) model.Line {
	return directed(metricLabel(d), d.Direction)
}

func metricLabel(d *result.Decision) string { return cmp.Or(d.Label, d.Metric, string(d.Kind)) }

// directed returns the name of a metric with an arrow in the better direction.
func directed(name string, better metric.Direction) model.Line {
	switch better {
	case metric.LowerIsBetter:
		name += " ↓"
	case metric.HigherIsBetter:
		name += " ↑"
	}
	return model.Plain(name)
}

// scaleOf returns the scale of a decision's values.
func scaleOf(d *result.Decision) humanize.Scale {
	return humanize.ScaleFor(d.Unit, orNaN(d.BaseValue), orNaN(d.HeadValue))
}

// orNaN returns a value that may be absent. Reports print values that are not finite as none.
func orNaN(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

func changeText(d *result.Decision, s humanize.Scale) string {
	if !onLog(d) {
		return s.Difference(orNaN(d.Change))
	}
	return humanize.Percent(orNaN(d.Change))
}

// intervalText formats the deciding interval in the unit of the change. An end without a bound is open.
func intervalText(d *result.Decision, s humanize.Scale) string {
	if d.Lower == nil && d.Upper == nil {
		return humanize.None
	}
	format, unit := humanize.PercentNumber, "%"
	if !onLog(d) {
		if unit = s.Unit; unit == "%" {
			unit = "pp"
		}
		format = func(x float64) string { return humanize.Signed(x*s.Factor, humanize.Number) }
	}
	lower, upper := "−∞", "+∞"
	if d.Lower != nil {
		lower = format(*d.Lower)
	}
	if d.Upper != nil {
		upper = format(*d.Upper)
	}
	return strings.TrimSpace(lower + " … " + upper + " " + unit)
}

// marginText formats the margin as the file states it. Limits and success rates have none.
func marginText(d *result.Decision, s humanize.Scale) string {
	switch {
	case d.Kind != result.KindMetric:
		return humanize.None
	case d.Scale == "difference":
		if s.Unit == "%" {
			s.Unit = "pp"
		}
		return s.With(humanize.Exact(float64(d.Margin) * s.Factor))
	case d.Scale == "proportion":
		return strings.TrimPrefix(humanize.Scale{Factor: 100, Unit: "%"}.Difference(float64(d.Margin)), "+")
	}
	return humanize.PlainPercent(float64(d.Margin))
}

// verdictText returns the verdict in words, with the reason and the gate's action.
func verdictText(r verdictRow) model.Line {
	d := r.d
	line := model.Plain(d.VerdictText())
	if !r.passed() {
		switch r.gate.On(d.Verdict) {
		case result.Warn:
			if d.Verdict != result.Inconclusive {
				line = model.Plain(string(d.Verdict) + " (warns only)")
			}
		case result.Ignore:
			line = model.Plain(d.VerdictText() + " (ignored)")
		}
	}
	if d.Infrastructure {
		line = model.Join(", ", line, model.Plain("infrastructure"))
	}
	var why []model.Line
	if d.Reason != "" && !explained(d) {
		why = append(why, model.Plain(d.Reason))
	}
	if d.Verdict == result.Inconclusive && d.NeedPairs > 0 && !strings.Contains(d.Reason, "repeats") {
		why = append(why, model.Plain("needs ~"+humanize.Count(d.NeedPairs, "repeat")))
	}
	return model.Join(": ", line, model.Join("; ", why...))
}

// explained reports whether the legend explains the verdict, because its reason is the rule.
func explained(d *result.Decision) bool {
	switch d.Verdict {
	case result.Pass, result.Improvement:
		return len(d.WithheldBy) == 0
	case result.Regression:
		return d.Kind == result.KindMetric && d.N > 0
	}
	return false
}

// decisionLevel returns the one-sided error rate of each bound of a row's interval.
func (v *view) decisionLevel(r verdictRow) float64 {
	return cmp.Or(r.d.Level, v.doc.Alpha)
}

// level returns the level of the first row that has an interval, 0 if none has, and whether all such rows share it.
func (v *view) level(rows []verdictRow) (level float64, common bool) {
	common = true
	for _, r := range rows {
		if r.d.Lower == nil && r.d.Upper == nil {
			continue
		}
		l := v.decisionLevel(r)
		level = cmp.Or(level, l)
		common = common && l == level
	}
	return level, common
}

func intervalName(level float64) string {
	if level <= 0 || level >= 0.5 {
		return "interval"
	}
	return humanize.PlainPercent(1-2*level) + " interval"
}

// iconOf returns the icon of a verdict, given the gate's action for it.
func iconOf(g *result.Gate, v result.Verdict) model.Icon {
	switch v {
	case result.Pass:
		return model.IconPass
	case result.Improvement:
		return model.IconImprovement
	}
	switch g.On(v) {
	case result.Ignore:
		return model.IconIgnored
	case result.Warn:
		if v != result.Inconclusive {
			return model.IconWarning
		}
	}
	switch v {
	case result.Regression:
		return model.IconRegression
	case result.Inconclusive:
		return model.IconInconclusive
	}
	return model.IconInvalid
}

// valueTexts formats the values of both sides, with a sign before a value that is a bound.
func valueTexts(d *result.Decision) (base, head string) {
	text := func(b result.Bound, value *float64) string {
		if value == nil {
			return humanize.None
		}
		return b.Sign() + scaleOf(d).Value(*value)
	}
	return text(d.BaseBound, d.BaseValue), text(d.HeadBound, d.HeadValue)
}
