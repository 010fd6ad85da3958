package series

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

// view holds a history and the data that its reports need.
type view struct {
	h *History
	// rows holds all parts, the worst first.
	rows []row
	// models is set if there are several, so that names include the model.
	models bool
	// page holds what only a page shows, and anchors map series to their place in it; nil in other
	// formats.
	page    *pageView
	anchors map[*Trend]string
	// own says that the chart has a page of its own: it shows the noise, and more sessions.
	own bool
}

// row is one part of a series.
type row struct {
	t *Trend
	p *Part
}

func newHistoryView(h *History) *view {
	v := &view{h: h}
	for i := range h.Trends {
		t := &h.Trends[i]
		v.models = v.models || t.Model != h.Trends[0].Model
		for j := range t.Parts {
			if len(t.Parts[j].Points) > 0 {
				v.rows = append(v.rows, row{t, &t.Parts[j]})
			}
		}
	}
	slices.SortStableFunc(v.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(rank[b.p.Condition], rank[a.p.Condition]), cmp.Compare(b.excess(), a.excess()))
	})
	return v
}

// excess returns the change in thresholds if the part has regressed; otherwise 0, so that the other
// parts keep their order.
func (r row) excess() float64 {
	if r.p.Condition != trend.Regressed || r.p.Threshold == 0 {
		return 0
	}
	return r.p.Change / r.p.Threshold
}

func (v *view) report() *model.Report {
	r := &model.Report{Banner: v.banner(), Legend: v.legend(), Lead: v.lead(), Sections: model.Sections(sections, v, v.page != nil)}
	r.Icon, r.Heading = v.heading()
	return r
}

// sections is the table of the sections of a report on a history.
var sections = []model.SectionOf[*view]{
	{ID: "findings", Weight: model.Attention, Build: (*view).findings},
	{ID: "warnings", Weight: model.Attention, Brief: true, Build: (*view).warnings},
	{ID: "series", On: model.PageOnly, Build: (*view).trends},
	{ID: "measured", Brief: true, Build: (*view).changes},
	{ID: "passes", Weight: model.Outcome, Brief: true, Build: (*view).steady},
	{ID: "environment", Build: (*view).retired},
}

func (v *view) banner() model.Line {
	if !v.h.Simulated {
		return nil
	}
	return model.Line{{Text: "Simulated sessions:", Style: model.Strong},
		{Text: " they say nothing of a real server, and are never set beside real ones."}}
}

// counts returns the number of series by condition.
func (v *view) counts() map[trend.Condition]int {
	out := map[trend.Condition]int{}
	for i := range v.h.Trends {
		out[v.h.Trends[i].Condition()]++
	}
	return out
}

func (v *view) heading() (model.Icon, model.Line) {
	n, of := v.counts(), len(v.h.Trends)
	switch {
	case of == 0:
		return model.IconInfo, model.Plain("Performance history: no sessions yet")
	case n[trend.Regressed] > 0:
		return model.IconRegression, model.Plain(fmt.Sprintf("Performance history: %d of %d series regressed", n[trend.Regressed], of))
	case n[trend.Suspicious] > 0:
		return model.IconInconclusive, model.Plain(fmt.Sprintf("Performance history: no regression, %d of %d series suspected",
			n[trend.Suspicious], of))
	case n[trend.Short] == of:
		return model.IconInfo, model.Plain("Performance history: " + seriesCount(of) + ", too few sessions to judge")
	}
	return model.IconPass, model.Plain("Performance history: no regression in " + seriesCount(of))
}

func (v *view) lead() []model.Line {
	if len(v.h.Trends) == 0 {
		return nil
	}
	about := humanize.Count(v.h.Sessions, "session")
	switch first, last := dateOf(v.h.First), dateOf(v.h.Last); {
	case v.h.Sessions == 0:
	case first == last:
		about += " on " + first
	default:
		about += " from " + first + " to " + last
	}
	first := model.Plain(about)
	if v.h.Branch != "" {
		first = model.Join(" of ", first, model.Code(v.h.Branch))
	}
	var out []model.Line
	if len(v.rows) > 0 && v.rows[0].p.Condition == trend.Regressed && !v.rows[0].p.Retired {
		r := v.rows[0]
		out = append(out, model.Join(" ", v.name(r.t), model.Line{{Text: r.t.MetricLabel + " " + r.t.change(r.p.Change), Style: model.Strong}},
			model.Plain("since "+dateOf(r.p.Points[r.p.Since].Time)+", at"), append(r.commits(r.p.Since), model.Span{Text: ", failing for " +
				humanize.Count(r.p.daysFailing(), "day")})))
	}
	return append(out, append(first, model.Span{Text: "; " + v.countsText()}))
}

// gone counts the series that no machine measures any more.
func (v *view) gone() int {
	n := 0
	for _, t := range v.h.Trends {
		if len(t.Parts) > 0 && !slices.ContainsFunc(t.Parts, func(p Part) bool { return !p.Retired }) {
			n++
		}
	}
	return n
}

// countsText returns "1 regressed, 20 steady".
func (v *view) countsText() string {
	n := v.counts()
	var parts []string
	for _, c := range []trend.Condition{trend.Regressed, trend.Suspicious, trend.Steady} {
		if n[c] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[c], c))
		}
	}
	gone := v.gone()
	if short := n[trend.Short] - gone; short > 0 {
		parts = append(parts, fmt.Sprintf("%d too short to judge", short))
	}
	if gone > 0 {
		parts = append(parts, fmt.Sprintf("%d not measured any more", gone))
	}
	return strings.Join(parts, ", ")
}

// name returns the cell of a series.
func (v *view) name(t *Trend) model.Line {
	l := model.Code(model.ShortAddr(t.Benchmark))
	if t.Label != "" {
		l = model.Join(" ", l, model.Code(t.Label))
	}
	if v.models && t.Model != "" {
		l = model.Join(" of ", l, model.Code(t.Model))
	}
	return l
}

// machine returns the machine if a series has several.
func (r row) machine() model.Line {
	if len(r.t.Parts) < 2 {
		return nil
	}
	return model.Join("", model.Plain(" on "), model.Code(r.p.Machine))
}

func dateOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// change formats a change of the metric for people.
func (t *Trend) change(d float64) string {
	if t.Scale == "log" {
		return humanize.Percent(d)
	}
	return humanize.ScaleFor(t.Unit, d).Difference(d)
}

// spread formats a change without its sign.
func (t *Trend) spread(d float64) string { return strings.TrimPrefix(t.change(d), "+") }

func (t *Trend) value(v float64) string { return humanize.ScaleFor(t.Unit, v).Value(v) }

// commits returns the commits between which something changed.
func (r row) commits(index int) model.Line {
	short := func(i int) model.Line {
		if i < 0 || i >= len(r.p.Points) || r.p.Points[i].Commit == "" {
			return nil
		}
		c := r.p.Points[i].Commit
		return model.Code(c[:min(7, len(c))])
	}
	before, after := short(index-1), short(index)
	if r.p.Creep && index == r.p.Since { // a creep has no place: show the range from the reference until now
		before, after = short(r.p.ReferenceEnd-1), short(len(r.p.Points)-1)
	}
	switch {
	case len(after) == 0:
		return model.Code(r.p.Points[index].Run)
	case len(before) == 0 || slices.Equal(before, after):
		return after
	}
	return model.Join("…", before, after)
}

// findings returns the series that need attention.
func (v *view) findings() model.Section {
	t := model.Table{Columns: []model.Column{
		{Title: "series", Wrap: true}, {Title: "metric"}, {Title: "reference", Align: model.Right, Aside: true},
		{Title: "level", Align: model.Right, Aside: true}, {Title: "change", Align: model.Right},
		{Title: "threshold", Align: model.Right, Aside: true}, {Title: "since"}, {Title: "commits", Wrap: true}, {Title: "failing", Wrap: true},
	}}
	for _, r := range v.rows {
		if r.p.Retired {
			continue
		}
		switch r.p.Condition {
		case trend.Regressed:
			failing := fmt.Sprintf("%s, %s", humanize.Count(r.p.daysFailing(), "day"), humanize.Count(len(r.p.Points)-r.p.Since, "session"))
			t.Rows = append(t.Rows, v.finding(r, model.IconRegression, r.p.Level, r.p.Change, r.p.Since, failing))
		case trend.Suspicious:
			if c, ok := r.suspected(); ok {
				t.Rows = append(t.Rows, v.finding(r, model.IconInconclusive, c.After, c.Change, c.Index, "suspected"))
			}
		}
	}
	return model.Section{Title: model.Plain("What needs a look"), Tables: []model.Table{t}}
}

// suspected returns the change that the last values may show. Only they show it, or it is not
// significant among that many series.
func (r row) suspected() (Change, bool) {
	if n := len(r.p.Changes); n > 0 {
		return r.p.Changes[n-1], true
	}
	return Change{}, false
}

func (v *view) finding(r row, icon model.Icon, level, change float64, since int, failing string) model.Row {
	return model.Row{Icon: icon, Anchor: v.anchors[r.t], Cells: []model.Line{
		append(v.name(r.t), r.machine()...), model.Plain(r.t.MetricLabel), model.Plain(r.t.value(r.p.Reference)), model.Plain(r.t.value(level)),
		model.Plain(r.t.change(change)), model.Plain(r.t.change(r.p.Threshold)), model.Plain(dateOf(r.p.Points[since].Time)), r.commits(since),
		model.Plain(failing),
	}}
}

// warnings lists what was left out, and changes of machines.
func (v *view) warnings() model.Section {
	s := model.Section{}
	for _, w := range v.h.Warnings {
		s.Notes = append(s.Notes, model.Plain(w))
	}
	seen := map[string]bool{}
	for i := range v.h.Trends {
		for _, n := range v.h.Trends[i].moves() {
			if !seen[n.String()] {
				seen[n.String()] = true
				s.Notes = append(s.Notes, n)
			}
		}
	}
	s.Title, s.Folded = model.Plain(humanize.Count(len(s.Notes), "note")), len(s.Notes) > 5
	return s
}

// moves describes where a series starts anew on another machine.
func (t *Trend) moves() []model.Line {
	var out []model.Line
	for i := 1; i < len(t.Parts); i++ {
		p := &t.Parts[i]
		if len(p.Points) == 0 {
			continue
		}
		out = append(out, model.Join(" ", model.Plain("Sessions from "+dateOf(p.Points[0].Time)+" on that ran on"), model.Code(p.Machine),
			model.Plain("and not on"),
			model.Code(t.Parts[i-1].Machine), model.Plain("are series of their own: values of two machines are never set beside each other.")))
	}
	return out
}

// maxChanges limits the table of change points.
const maxChanges = 100

// changes returns all change points, the newest first.
func (v *view) changes() model.Section {
	type event struct {
		row
		Change
	}
	var all []event
	for _, r := range v.rows {
		for _, c := range r.p.Changes {
			all = append(all, event{r, c})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return b.p.Points[b.Index].Time.Compare(a.p.Points[a.Index].Time) })
	t := model.Table{Columns: []model.Column{
		{Title: "when"}, {Title: "series", Wrap: true}, {Title: "metric"}, {Title: "before", Align: model.Right, Aside: true},
		{Title: "after", Align: model.Right, Aside: true}, {Title: "change", Align: model.Right},
		{Title: "p", Align: model.Right, Aside: true}, {Title: "commits", Wrap: true, Aside: true}, {Title: "state", Wrap: true},
	}}
	for _, e := range all[:min(len(all), maxChanges)] {
		icon, state := changeState(e.p, e.Change)
		t.Rows = append(t.Rows, model.Row{Icon: icon, Anchor: v.anchors[e.t], Cells: []model.Line{
			model.Plain(dateOf(e.p.Points[e.Index].Time)), append(v.name(e.t), e.machine()...), model.Plain(e.t.MetricLabel),
			model.Plain(e.t.value(e.Before)),
			model.Plain(e.t.value(e.After)), model.Plain(e.t.change(e.Change.Change)), model.Plain(humanize.Probability(&e.P)), e.commits(e.Index),
			model.Plain(state),
		}})
	}
	t.Omitted = len(all) - len(t.Rows)
	return model.Section{Title: model.Plain(humanize.Count(len(all), "change point")),
		Tables: []model.Table{t}, Folded: true}
}

// changeState returns the icon and text of a change point.
func changeState(p *Part, c Change) (model.Icon, string) {
	state := string(c.State)
	switch {
	case c.Accepted:
		return model.IconInfo, state + ", accepted: " + p.Accepted.Reason + " (" + p.Accepted.Author + ")"
	case !c.Worse:
		return model.IconImprovement, state + ", for the better"
	case c.State == trend.Suspected:
		return model.IconInconclusive, state
	}
	return model.IconWarning, state + ", for the worse"
}

// steady returns the series without problems.
func (v *view) steady() model.Section {
	rows := v.table(func(r row) bool {
		return !r.p.Retired && (r.p.Condition == trend.Steady || r.p.Condition == trend.Short)
	})
	return model.Section{Title: model.Plain(seriesCount(len(rows.Rows)) + " without a regression"), Folded: true,
		Tables: []model.Table{rows}}
}

// retired returns the series that have not been measured for long.
func (v *view) retired() model.Section {
	rows := v.table(func(r row) bool { return r.p.Retired })
	return model.Section{
		Title: model.Plain(seriesCount(len(rows.Rows)) + " that are not measured any more"), Folded: true,
		Tables: []model.Table{rows},
	}
}

var conditionIcons = map[trend.Condition]model.Icon{
	trend.Short: model.IconInfo, trend.Steady: model.IconPass, trend.Suspicious: model.IconInconclusive, trend.Regressed: model.IconRegression,
}

func (v *view) table(keep func(row) bool) model.Table {
	t := model.Table{Columns: []model.Column{
		{Title: "series", Wrap: true}, {Title: "metric"}, {Title: "sessions", Align: model.Right, Aside: true},
		{Title: "last", Align: model.Right, Aside: true}, {Title: "level", Align: model.Right},
		{Title: "reference", Align: model.Right, Aside: true}, {Title: "change", Align: model.Right},
		{Title: "noise", Align: model.Right, Aside: true},
		{Title: "condition", Wrap: true},
	}}
	for _, r := range v.rows {
		if !keep(r) {
			continue
		}
		noise := humanize.None
		if r.p.Noise > 0 {
			noise = r.t.spread(r.p.Noise)
		}
		t.Rows = append(t.Rows, model.Row{Icon: conditionIcons[r.p.Condition], Anchor: v.anchors[r.t], Cells: []model.Line{
			append(v.name(r.t), r.machine()...), model.Plain(r.t.MetricLabel), model.Plain(fmt.Sprint(len(r.p.Points))),
			model.Plain(r.t.value(r.p.Points[len(r.p.Points)-1].Value)),
			model.Plain(r.t.value(r.p.Level)), model.Plain(r.t.value(r.p.Reference)), model.Plain(r.t.change(r.p.Change)), model.Plain(noise),
			model.Plain(r.condition()),
		}})
	}
	return t
}

// condition returns the condition in words.
func (r row) condition() string {
	text := string(r.p.Condition)
	if r.p.Condition == trend.Short {
		text = "too few sessions"
	}
	if a := r.p.Accepted; a != nil {
		text += ", accepted: " + a.Reason + " (" + a.Author + ")"
	}
	return text
}

// legend explains the words of a report, nil if it has no series.
func (v *view) legend() []model.Line {
	if len(v.h.Trends) == 0 {
		return nil
	}
	return []model.Line{
		model.Plain("Level: mean of the sessions since the last change point (geometric for times and rates). Reference: the best level since " +
			"the series began, or the one that " +
			"was accepted, so that small losses add up. Threshold: the margin, or twice the noise of a session where that is more."),
		model.Plain("Regressed: the level is worse than the reference by the threshold or more, after a confirmed change point (3 sessions and " +
			"more), in each of the last two " +
			"sessions where these are outside what the others predict, or as a creep: the last five sessions against the first ten of the " +
			"reference. It has to be " +
			"significant after correction for all series and sessions; what is not, and one bad session, is suspected at most."),
		model.Plain("A change point says that something changed between two sessions, not what. Change points are found by E-divisive with " +
			"neighbouring sessions decorrelated (p by " +
			"permutation, per series); \"pipeline accept\" lets a level count."),
	}
}

// seriesCount returns "1 series", "2 series".
func seriesCount(n int) string { return humanize.Commas(fmt.Sprint(n)) + " series" }
