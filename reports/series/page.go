package series

import (
	"io"
	"slices"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
)

// Finding describes a regressed series in words.
type Finding struct {
	Change, Since string
	Commits       model.Line
	// Days is the number of days for which it has failed.
	Days int
}

// FindingOf describes the worst part of a regressed series.
func FindingOf(t *Trend) Finding {
	for _, p := range t.Regressed() {
		r := row{t, p}
		return Finding{Change: t.change(p.Change), Since: dateOf(p.Points[p.Since].Time), Commits: r.commits(p.Since), Days: p.daysFailing()}
	}
	return Finding{}
}

// Figure describes a part of a series in words.
type Figure struct {
	Icon                            model.Icon
	Level, Change, Noise, Condition string
}

// FigureOf describes a part that has sessions.
func FigureOf(t *Trend, p *Part) Figure {
	f := Figure{Icon: conditionIcons[p.Condition], Level: t.value(p.Level), Change: t.change(p.Change), Noise: humanize.None,
		Condition: row{t, p}.condition()}
	if p.Condition == trend.Short {
		f.Level, f.Change = t.value(p.Points[len(p.Points)-1].Value), humanize.None
	}
	if p.Noise > 0 {
		f.Noise = t.spread(p.Noise)
	}
	return f
}

// maxPageSessions limits the sessions in the table of a series' page: the newest ones.
const maxPageSessions = 500

// Page writes the page of one series of h: its standing, its chart, its change points and its sessions. run returns the
// address of a session's page, "" if it has none.
func Page(w io.Writer, h *History, t *Trend, links []model.Link, run func(id string) string) error {
	one := *h
	one.Trends, one.Warnings = []Trend{*t}, nil
	return page.Write(w, 0, "metrics", []int{maxPageSessions, 100}, func(rows int) *page.Page {
		v := newHistoryView(&one)
		own := &one.Trends[0]
		v.own = true
		r := &model.Report{Banner: v.banner(), Icon: conditionIcons[t.Condition()], Legend: v.legend(), Links: links,
			Heading: model.Join(", ", v.name(own), model.Plain(t.MetricLabel)), Lead: []model.Line{own.news()}}
		r.Sections = model.Sections([]model.SectionOf[*view]{
			{ID: "chart", Weight: model.Attention, Build: func(v *view) model.Section {
				return model.Section{Title: model.Plain("Over the sessions"), Charts: []model.Chart{v.chart(own, "series")}, Notes: own.moves()}
			}},
			{ID: "findings", Build: (*view).findings},
			{ID: "changes", Build: (*view).changes},
			{ID: "machines", Build: func(v *view) model.Section {
				return model.Section{Title: model.Plain("On its machines"), Tables: []model.Table{v.table(func(row) bool { return true })}}
			}},
			{ID: "sessions", Build: func(v *view) model.Section { return sessionsOf(own, run) }},
		}, v, true)
		for i := range r.Sections {
			r.Sections[i].Folded = r.Sections[i].ID == "sessions"
		}
		return page.New(r, page.Bounds{Rows: rows}, "the history", page.HistoryStyle)
	})
}

// sessionsOf lists the sessions of a series, the newest first, with links to their pages.
func sessionsOf(t *Trend, run func(id string) string) model.Section {
	s := model.Section{Title: model.Plain("Sessions")}
	for i := range t.Parts {
		p := &t.Parts[i]
		if len(p.Points) == 0 {
			continue
		}
		table := row{t, p}.sessions()
		for j, at := range slices.Backward(p.Points) {
			table.Rows[len(p.Points)-1-j].Page = run(at.Run)
		}
		s.Tables = append(s.Tables, table)
	}
	return s
}
