package reports

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/humanize"

	"github.com/servegate/pipeline/gates/trend"
)

//go:embed page/history.css
var historyStyle string

// HistoryHTML writes h as one page like that of HTML, with a chart for each series. Where
// the page would be larger than its budget, fewer series have charts and their tables are
// shorter.
func HistoryHTML(w io.Writer, h *History, o Options) error {
	t, err := template.New("report").Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	budget := cmp.Or(o.Budget, HTMLBudget)
	var out bytes.Buffer
	for _, size := range []historySize{{200, 2000, 400}, {80, 1000, 200}, {30, 500, 90}, {10, 200, 30}, {0, 50, 0}} {
		out.Reset()
		if err := t.Execute(&out, newHistoryPage(h, o, size)); err != nil {
			return fmt.Errorf("render html: %w", err)
		}
		if out.Len() <= budget {
			if _, err := w.Write(out.Bytes()); err != nil {
				return fmt.Errorf("write html: %w", err)
			}
			return nil
		}
	}
	return fmt.Errorf("render html: the shortest page has %d bytes and the budget is %d: raise it or choose metrics", out.Len(), budget)
}

// historySize bounds what grows with a history: charts, rows of each table, and those of
// the tables beside charts.
type historySize struct{ charts, rows, sessions int }

// trendView is a series with its chart.
type trendView struct {
	Anchor         string
	Open           bool
	Icon           htmlIcon
	Title, Summary htmlLine
	Chart          template.HTML
	Notes          []htmlLine
	Tables         []htmlTable
}

func newHistoryPage(h *History, o Options, size historySize) *htmlPage {
	v := newHistoryView(h)
	shown := v.ordered()
	left := max(0, len(shown)-size.charts)
	shown = shown[:len(shown)-left]
	v.anchors = map[*Trend]string{}
	for i, t := range shown {
		v.anchors[t] = fmt.Sprintf("s%d", i+1)
	}
	r := v.report()
	style := pageStyle + historyStyle
	page := &htmlPage{
		Policy: policy(style), Title: clean(r.Heading.String(), maxCell),
		Style: template.CSS(style), Script: template.JS(pageScript), //nolint:gosec // both are ours, not of the history
		Banner: spans(r.Banner, maxLine), Icon: iconView(r.Icon), Heading: spans(r.Heading, maxCell),
		Lead: lines(r.Lead), Legend: lines(r.Legend), Full: clean(cmp.Or(o.Full, "history.json"), maxCell),
	}
	b := &pageBuilder{size: pageSize{rows: size.rows}}
	add := func(kind Kind) {
		for i := range r.Sections {
			if s, ok := b.section(&r.Sections[i]); ok && r.Sections[i].Kind == kind {
				page.Sections = append(page.Sections, s)
			}
		}
	}
	add(Findings)
	add(Warnings)
	if len(shown) > 0 {
		page.Sections = append(page.Sections, v.trends(shown, left, size))
	}
	for _, kind := range []Kind{Measured, Passes, Environment} {
		add(kind)
	}
	return page
}

// ordered are the series, the worst first, otherwise as they come.
func (v *historyView) ordered() []*Trend {
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

func (v *historyView) trends(shown []*Trend, left int, size historySize) htmlSection {
	s := htmlSection{ID: "series", Title: htmlLine{{Text: "The series"}}, Plain: "The series", Controls: true}
	for i, t := range shown {
		s.Trends = append(s.Trends, v.trend(t, i < maxOpenTrends, size.sessions))
	}
	if left > 0 {
		s.Omitted = lines([]Line{plain(fmt.Sprintf("%s left out here, the worst are shown; the tables have all.", seriesCount(left)))})
	}
	return s
}

func (v *historyView) trend(t *Trend, open bool, sessions int) trendView {
	out := trendView{
		Anchor: v.anchors[t], Open: open, Icon: iconView(conditionIcons[t.Condition()]), Chart: v.chart(t, v.anchors[t]+"-c"),
		Title: spans(join(", ", v.name(t), plain(t.MetricLabel)), maxCell), Summary: spans(v.summary(t), maxCell), Notes: lines(t.moves()),
	}
	for i := range t.Parts {
		if p := &t.Parts[i]; len(p.Points) > 0 {
			out.Tables = append(out.Tables, htmlTableOf(trendRow{t, p}.sessions(), sessions))
		}
	}
	return out
}

// summary is what the series comes to, beside its name.
func (v *historyView) summary(t *Trend) Line {
	for _, r := range v.rows {
		if r.t != t || r.p.Retired {
			continue
		}
		switch r.p.Condition {
		case trend.Regressed:
			return plain(fmt.Sprintf("%s since %s, failing for %s", t.change(r.p.Change), dateOf(r.p.Points[r.p.Since].Time), humanize.Count(r.p.DaysFailing(), "day")))
		case trend.Suspicious:
			return plain("suspected")
		}
		return plain(r.condition() + ", " + t.value(r.p.Level))
	}
	return nil
}

// sessions are the values of a part, the newest first.
func (r trendRow) sessions() Table {
	t := Table{Title: join("", plain("On "), code(r.p.Machine)), Columns: []Column{
		{Title: "session"}, {Title: "value", Align: Right}, {Title: "commit"}, {Title: "run"}, {Title: "change point"},
	}}
	changes := map[int]TrendChange{}
	for _, c := range r.p.Changes {
		changes[c.Index] = c
	}
	for i, p := range slices.Backward(r.p.Points) {
		said := Line(nil)
		if c, ok := changes[i]; ok {
			_, state := changeState(r.p, c)
			said = plain(r.t.change(c.Change) + ", " + state)
		}
		t.Rows = append(t.Rows, Row{Cells: []Line{
			plain(p.Time.UTC().Format(time.DateOnly + " 15:04")), plain(r.t.value(p.Value)), code(p.Commit[:min(12, len(p.Commit))]), code(p.Run), said,
		}})
	}
	return t
}
