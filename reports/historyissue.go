package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/trend"
)

// What one series comes to, for those who are told of it alone.

// Excess is by how many thresholds the worst machine of a series is worse than its
// reference, 0 where it has not regressed.
func (t *Trend) Excess() float64 {
	most := 0.0
	for _, p := range t.Regressed() {
		most = max(most, trendRow{t, p}.excess())
	}
	return most
}

// TrendTitle names a series in plain text that is not escaped.
func TrendTitle(t *Trend) string {
	text := "Performance regression: " + t.MetricLabel + " of " + shortAddr(t.Benchmark)
	if t.Label != "" {
		text += " " + t.Label
	}
	if t.Simulated != "" {
		text += " (simulated)"
	}
	return text
}

// TrendNews is one line of markdown on where a series stands.
func TrendNews(t *Trend) string { return inline(t.news(), maxLine) }

// TrendPlain is the same as plain text.
func TrendPlain(t *Trend) string { return t.news().text(maxLine) }

func (t *Trend) news() Line {
	var parts []Line
	for i := range t.Parts {
		if r := (trendRow{t, &t.Parts[i]}); len(r.p.Points) > 0 {
			parts = append(parts, append(r.news(), r.machine()...))
		}
	}
	return join("; ", parts...)
}

// news of one machine.
func (r trendRow) news() Line {
	p := r.p
	switch {
	case p.Retired:
		return plain("not measured any more")
	case p.Condition == trend.Regressed:
		return join(" ", Line{{Text: r.t.MetricLabel + " " + r.t.change(p.Change), Style: Strong}},
			plain(fmt.Sprintf("against %s since %s, at", r.t.value(p.Reference), dateOf(p.Points[p.Since].Time))), r.commits(p.Since),
			plain("(threshold "+r.t.change(p.Threshold)+r.creeping()+")"))
	case p.Accepted != nil && p.Regressions == 0:
		return plain(fmt.Sprintf("%s counts now, by the word of %s: %s", r.t.value(p.Level), p.Accepted.Author, p.Accepted.Reason))
	case p.Condition == trend.Short:
		return plain("too few sessions to judge")
	case p.Condition == trend.Suspicious:
		return plain("what the last sessions show may be chance, and more of them will tell")
	}
	text := fmt.Sprintf("%s is at %s, within the threshold (%s) of %s", r.t.MetricLabel, r.t.value(p.Level), r.t.change(p.Threshold), r.t.value(p.Reference))
	if p.Recovered < 0 {
		return plain(text)
	}
	return join(" ", plain(text+" since "+dateOf(p.Points[p.Recovered].Time)+", at"), r.commits(p.Recovered))
}

// creeping says that a regression is no step.
func (r trendRow) creeping() string {
	if !r.p.Creep {
		return ""
	}
	return "; a little at a time, without a step"
}

// maxRecent is how many sessions an issue lists.
const maxRecent = 14

// TrendMarkdown writes one series of h as markdown, within Options.Budget: where it
// stands, its change points and its last sessions.
func TrendMarkdown(w io.Writer, h *History, t *Trend, o Options) error {
	one := *h
	one.Trends, one.Warnings = []Trend{*t}, nil
	v := newHistoryView(&one)
	r := &Report{Banner: v.banner(), Icon: conditionIcons[t.Condition()], Heading: v.name(&one.Trends[0]), Legend: v.legend()}
	r.Heading = join(", ", r.Heading, plain(t.MetricLabel))
	r.Lead = []Line{one.Trends[0].news()}
	for _, section := range []func() *Section{v.findings, v.warnings, v.changes, v.recent} {
		if s := section(); s != nil {
			s.Folded = false
			r.Sections = append(r.Sections, *s)
		}
	}
	text, err := fit(r, o)
	if err != nil {
		return fmt.Errorf("render markdown: %w", err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

// recent are the last sessions of the only series, on all machines, the newest first.
func (v *historyView) recent() *Section {
	type at struct {
		when    time.Time
		cells   []Line
		machine string
	}
	var all []at
	for _, r := range v.rows {
		for i, row := range r.sessions().Rows {
			all = append(all, at{r.p.Points[len(r.p.Points)-1-i].Time, row.Cells, r.p.Machine})
		}
	}
	slices.SortStableFunc(all, func(a, b at) int { return b.when.Compare(a.when) })
	t := Table{Columns: []Column{
		{Title: "session"}, {Title: "value", Align: Right}, {Title: "commit"}, {Title: "run"}, {Title: "change point"}, {Title: "machine"},
	}}
	for _, a := range all[:min(len(all), maxRecent)] {
		t.Rows = append(t.Rows, Row{Cells: append(a.cells, code(strings.TrimSpace(a.machine)))})
	}
	return &Section{Kind: Passes, Title: plain("The last sessions"), Tables: []Table{t}}
}
