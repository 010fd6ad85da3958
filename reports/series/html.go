package series

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
)

// HTML writes h as one page with a chart for each series. If the page would exceed its budget,
// fewer series have charts and their tables are shorter.
func HTML(w io.Writer, h *History, o model.Options) error {
	sizes := []pageSize{{200, 2000, 400}, {80, 1000, 200}, {30, 500, 90}, {10, 200, 30}, {0, 50, 0}}
	return page.Write(w, o.Budget, "metrics", sizes, func(size pageSize) *page.Page {
		v := newHistoryView(h)
		v.choose(size)
		return page.New(v.report(), page.Bounds{Rows: size.rows}, cmp.Or(o.Full, "history.json"), page.HistoryStyle)
	})
}

// pageSize limits the parts that grow with a history: charts, rows of each table, and rows of
// the tables beside charts.
type pageSize struct{ charts, rows, sessions int }

// pageView holds what only a page shows of a history.
type pageView struct {
	size  pageSize
	shown []*Trend // with charts
	left  int      // without
}

// choose decides which series have charts, and gives them an anchor.
func (v *view) choose(size pageSize) {
	shown := v.ordered()
	left := max(0, len(shown)-size.charts)
	v.page = &pageView{size, shown[:len(shown)-left], left}
	v.anchors = map[*Trend]string{}
	for i, t := range v.page.shown {
		v.anchors[t] = fmt.Sprintf("s%d", i+1)
	}
}

// ordered returns the series, the worst first, otherwise in their order.
func (v *view) ordered() []*Trend {
	var out []*Trend
	for _, r := range v.rows {
		if !r.p.Retired && !slices.Contains(out, r.t) {
			out = append(out, r.t)
		}
	}
	return out
}

// maxOpenTrends is the number of series that are open in the page. More would be slow to draw and
// to scroll.
const maxOpenTrends = 24

// trends are the series with their charts.
func (v *view) trends() model.Section {
	s := model.Section{Title: model.Plain("The series"), Controls: true, Grid: true}
	for i, t := range v.page.shown {
		s.Parts = append(s.Parts, v.trend(t, i < maxOpenTrends))
	}
	if v.page.left > 0 {
		s.Omitted = []model.Line{model.Plain(seriesCount(v.page.left) + " left out here, the worst are shown; the tables have all.")}
	}
	return s
}

func (v *view) trend(t *Trend, open bool) model.Part {
	p := model.Part{
		ID: v.anchors[t], Open: open, Icon: conditionIcons[t.Condition()], Title: model.Join(", ", v.name(t), model.Plain(t.MetricLabel)),
		Summary: v.summary(t), Charts: []model.Chart{v.chart(t, v.anchors[t]+"-c")}, Notes: t.moves(),
	}
	figures := model.Part{Title: model.Plain("The sessions in figures")}
	for i := range t.Parts {
		if part := &t.Parts[i]; len(part.Points) > 0 {
			figures.Tables = append(figures.Tables, row{t, part}.sessions().First(v.page.size.sessions))
		}
	}
	if len(figures.Tables) > 0 {
		p.Parts = []model.Part{figures}
	}
	return p
}

// summary returns the conclusion on a series, without its name.
func (v *view) summary(t *Trend) model.Line {
	for _, r := range v.rows {
		if r.t != t || r.p.Retired {
			continue
		}
		switch r.p.Condition {
		case trend.Regressed:
			return model.Plain(fmt.Sprintf("%s since %s, failing for %s", t.change(r.p.Change), dateOf(r.p.Points[r.p.Since].Time),
				humanize.Count(r.p.daysFailing(), "day")))
		case trend.Suspicious:
			return model.Plain("suspected")
		}
		return model.Plain(r.condition() + ", " + t.value(r.p.Level))
	}
	return nil
}

// sessions returns the values of a part, the newest first.
func (r row) sessions() model.Table {
	t := model.Table{Title: model.Join("", model.Plain("On "), model.Code(r.p.Machine)), Columns: []model.Column{
		{Title: "session"}, {Title: "value", Align: model.Right}, {Title: "commit"}, {Title: "run"}, {Title: "change point"},
	}}
	changes := map[int]Change{}
	for _, c := range r.p.Changes {
		changes[c.Index] = c
	}
	for i, p := range slices.Backward(r.p.Points) {
		said := model.Line(nil)
		if c, ok := changes[i]; ok {
			_, state := changeState(r.p, c)
			said = model.Plain(r.t.change(c.Change) + ", " + state)
		}
		t.Add(model.Plain(p.Time.UTC().Format(time.DateOnly+" 15:04")), model.Plain(r.t.value(p.Value)),
			model.Code(p.Commit[:min(12, len(p.Commit))]), model.Code(p.Run), said)
	}
	return t
}
