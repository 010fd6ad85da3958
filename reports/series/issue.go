package series

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/text"
)

// Texts on one series, for issues.

// Excess returns how many thresholds the worst machine of a series is worse than its reference, 0
// if it has not regressed.
func (t *Trend) Excess() float64 {
	most := 0.0
	for _, p := range t.Regressed() {
		most = max(most, row{t, p}.excess())
	}
	return most
}

// Title returns the name of a series as plain, unescaped text.
func Title(t *Trend) string {
	text := "Performance regression: " + t.MetricLabel + " of " + model.ShortAddr(t.Benchmark)
	if t.Label != "" {
		text += " " + t.Label
	}
	if t.Simulated != "" {
		text += " (simulated)"
	}
	return text
}

// News returns one line of markdown on the standing of a series.
func News(t *Trend) string { return markdown.Line(t.news()) }

// PlainNews returns the same as plain text.
func PlainNews(t *Trend) string { return text.Line(t.news(), model.MaxLine) }

func (t *Trend) news() model.Line {
	var parts []model.Line
	for i := range t.Parts {
		if r := (row{t, &t.Parts[i]}); len(r.p.Points) > 0 {
			parts = append(parts, append(r.news(), r.machine()...))
		}
	}
	return model.Join("; ", parts...)
}

// news returns the news of one machine.
func (r row) news() model.Line {
	p := r.p
	switch {
	case p.Retired:
		return model.Plain("not measured any more")
	case p.Condition == trend.Regressed:
		return model.Join(" ", model.Line{{Text: r.t.MetricLabel + " " + r.t.change(p.Change), Style: model.Strong}},
			model.Plain(fmt.Sprintf("against %s since %s, at", r.t.value(p.Reference), dateOf(p.Points[p.Since].Time))), r.commits(p.Since),
			model.Plain("(threshold "+r.t.change(p.Threshold)+r.creeping()+")"))
	case p.Accepted != nil && p.Regressions == 0:
		return model.Plain(fmt.Sprintf("%s counts now, accepted by %s: %s", r.t.value(p.Level), p.Accepted.Author, p.Accepted.Reason))
	case p.Condition == trend.Short:
		return model.Plain("too few sessions to judge")
	case p.Condition == trend.Suspicious:
		return model.Plain("what the last sessions show may be chance, which more of them will show")
	}
	text := fmt.Sprintf("%s is at %s, within the threshold (%s) of %s", r.t.MetricLabel, r.t.value(p.Level), r.t.change(p.Threshold),
		r.t.value(p.Reference))
	if p.Recovered < 0 {
		return model.Plain(text)
	}
	return model.Join(" ", model.Plain(text+" since "+dateOf(p.Points[p.Recovered].Time)+", at"), r.commits(p.Recovered))
}

// creeping returns a remark on a regression that is not a step.
func (r row) creeping() string {
	if !r.p.Creep {
		return ""
	}
	return "; a little at a time, without a step"
}

// maxRecent is the number of sessions that an issue lists.
const maxRecent = 14

// TrendMarkdown writes one series of h as markdown, within Options.Budget: its standing, its change
// points and its last sessions.
func TrendMarkdown(w io.Writer, h *History, t *Trend, o model.Options) error {
	one := *h
	one.Trends, one.Warnings = []Trend{*t}, nil
	v := newHistoryView(&one)
	r := &model.Report{Banner: v.banner(), Icon: conditionIcons[t.Condition()], Heading: v.name(&one.Trends[0]), Legend: v.legend()}
	r.Heading = model.Join(", ", r.Heading, model.Plain(t.MetricLabel))
	r.Lead = []model.Line{one.Trends[0].news()}
	r.Sections = model.Sections([]model.SectionOf[*view]{
		{ID: "findings", Weight: model.Attention, Build: (*view).findings}, {ID: "warnings", Weight: model.Attention, Build: (*view).warnings},
		{ID: "measured", Build: (*view).changes}, {ID: "passes", Weight: model.Outcome, Build: (*view).recent},
	}, v, false)
	for i := range r.Sections {
		r.Sections[i].Folded = false
	}
	return markdown.Write(w, r, o)
}

// recent returns the last sessions of the only series, on all machines, the newest first.
func (v *view) recent() model.Section {
	type at struct {
		when    time.Time
		cells   []model.Line
		machine string
	}
	var all []at
	for _, r := range v.rows {
		for i, row := range r.sessions().Rows {
			all = append(all, at{r.p.Points[len(r.p.Points)-1-i].Time, row.Cells, r.p.Machine})
		}
	}
	slices.SortStableFunc(all, func(a, b at) int { return b.when.Compare(a.when) })
	t := model.Table{Columns: []model.Column{
		{Title: "session"}, {Title: "value", Align: model.Right}, {Title: "commit"}, {Title: "run"}, {Title: "change point"}, {Title: "machine"},
	}}
	for _, a := range all[:min(len(all), maxRecent)] {
		t.Rows = append(t.Rows, model.Row{Cells: append(a.cells, model.Code(strings.TrimSpace(a.machine)))})
	}
	return model.Section{Title: model.Plain("The last sessions"), Tables: []model.Table{t}}
}
