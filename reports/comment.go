package reports

import (
	"fmt"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// commentRows is the number of rows that a comment shows before it folds the rest.
const commentRows = 5

// inComment lists the sections of a comment; the page has the others.
var inComment = []string{"findings", "more", "profile", "failures", "warnings", "forest"}

// shorten reduces a report to a comment: what did not pass is in sight, failures and the plot are folded, and of the
// legend only the line that identifies the run stays.
func (v *view) shorten(r *model.Report) {
	for i := range r.Sections {
		r.Sections[i].Folded = r.Sections[i].ID != "findings"
	}
	if n := len(r.Legend); n > 1 {
		r.Legend = r.Legend[n-1:]
	}
}

// shortVerdict returns the verdict in a table of a comment. What would decide it replaces the rule by which it is not decided.
func shortVerdict(r verdictRow) model.Line {
	if r.d.Verdict == result.Inconclusive && r.d.NeedPairs > 0 && !r.d.Refuted {
		return model.Plain(fmt.Sprintf("%s, needs %s", r.d.VerdictText(), humanize.Count(r.d.NeedPairs, "repeat")))
	}
	return verdictText(r)
}

// shortTable returns the rows of a comment in five columns beside their signs.
func (v *view) shortTable(rows []verdictRow, names result.Names, interval string) model.Table {
	t := model.Table{Columns: []model.Column{
		{Title: "cell"}, {Title: "metric"}, {Title: names.Base + " → " + names.Head, Align: model.Right},
		{Title: "change (" + interval + ")", Align: model.Right}, {Title: "verdict"},
	}}
	for _, r := range rows {
		d := r.d
		values, change := humanize.None, changeText(d, scaleOf(d))
		if d.BaseValue != nil || d.HeadValue != nil {
			values = valuesText(d)
		}
		if value, limit, headroom := limitTexts(d); d.Kind == result.KindAssert && limit != humanize.None {
			values, change = value+" ("+limit+")", headroom
		}
		if i := intervalText(d, scaleOf(d)); i != humanize.None {
			change += " (" + i + ")"
		}
		t.Rows = append(t.Rows, model.Row{Icon: iconOf(r.gate, d.Verdict), Cells: []model.Line{
			v.cellName(r), v.metricCell(r), model.Plain(values), model.Plain(change), shortVerdict(r),
		}})
	}
	if v.leadHasReasons() {
		return withoutReasons(t, rows)
	}
	return t
}
