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

// HTML writes h as one page like that of HTML, with a chart for each series. Where
// the page would be larger than its budget, fewer series have charts and their tables are
// shorter.
func HTML(w io.Writer, h *History, o model.Options) error {
	sizes := []historySize{{200, 2000, 400}, {80, 1000, 200}, {30, 500, 90}, {10, 200, 30}, {0, 50, 0}}
	return page.Write(w, cmp.Or(o.Budget, page.Budget), "metrics", func(yield func(*page.Page) bool) {
		for _, size := range sizes {
			if !yield(newHistoryPage(h, o, size)) {
				return
			}
		}
	})
}

// historySize bounds what grows with a history: charts, rows of each table, and those of
// the tables beside charts.
type historySize struct{ charts, rows, sessions int }

func newHistoryPage(h *History, o model.Options, size historySize) *page.Page {
	v := newHistoryView(h)
	shown := v.ordered()
	left := max(0, len(shown)-size.charts)
	shown = shown[:len(shown)-left]
	v.anchors = map[*Trend]string{}
	for i, t := range shown {
		v.anchors[t] = fmt.Sprintf("s%d", i+1)
	}
	r := v.report()
	out := page.New(r, cmp.Or(o.Full, "history.json"), page.HistoryStyle)
	add := func(kind model.Kind) {
		for i := range r.Sections {
			if s, ok := page.SectionOf(&r.Sections[i], size.rows, 0); ok && r.Sections[i].Kind == kind {
				out.Sections = append(out.Sections, s)
			}
		}
	}
	add(model.Findings)
	add(model.Warnings)
	if len(shown) > 0 {
		out.Sections = append(out.Sections, v.trends(shown, left, size))
	}
	for _, kind := range []model.Kind{model.Measured, model.Passes, model.Environment} {
		add(kind)
	}
	return out
}

// ordered are the series, the worst first, otherwise as they come.
func (v *view) ordered() []*Trend {
	var out []*Trend
	for _, r := range v.rows {
		if !r.p.Retired && !slices.Contains(out, r.t) {
			out = append(out, r.t)
		}
	}
	return out
}

// maxOpenTrends are open as the page is: more are slow to draw and to scroll.
const maxOpenTrends = 24

func (v *view) trends(shown []*Trend, left int, size historySize) page.Section {
	s := page.Section{ID: "series", Title: page.Line{{Text: "The series"}}, Plain: "The series", Controls: true}
	for i, t := range shown {
		s.Trends = append(s.Trends, v.trend(t, i < maxOpenTrends, size.sessions))
	}
	if left > 0 {
		s.Omitted = page.Lines([]model.Line{model.Plain(fmt.Sprintf("%s left out here, the worst are shown; the tables have all.",
			seriesCount(left)))})
	}
	return s
}

func (v *view) trend(t *Trend, open bool, sessions int) page.Trend {
	out := page.Trend{
		Anchor: v.anchors[t], Open: open, Icon: page.IconOf(conditionIcons[t.Condition()]), Chart: v.chart(t, v.anchors[t]+"-c"),
		Title: page.Spans(model.Join(", ", v.name(t), model.Plain(t.MetricLabel)), model.MaxCell), Summary: page.Spans(v.summary(t),
			model.MaxCell), Notes: page.Lines(t.moves()),
	}
	for i := range t.Parts {
		if p := &t.Parts[i]; len(p.Points) > 0 {
			out.Tables = append(out.Tables, page.TableOf(row{t, p}.sessions(), sessions))
		}
	}
	return out
}

// summary is what the series comes to, beside its name.
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

// sessions are the values of a part, the newest first.
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
		t.Rows = append(t.Rows, model.Row{Cells: []model.Line{
			model.Plain(p.Time.UTC().Format(time.DateOnly + " 15:04")), model.Plain(r.t.value(p.Value)),
			model.Code(p.Commit[:min(12, len(p.Commit))]), model.Code(p.Run), said,
		}})
	}
	return t
}
