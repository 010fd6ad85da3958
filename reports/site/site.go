// Package site makes static pages of a history: what has regressed now, a page for each series, run and kind of machine,
// and how well the gates have judged. The pages link to each other by relative addresses and need no server.
package site

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
	"github.com/servegate/pipeline/reports/series"
)

// Site holds what the pages show.
type Site struct {
	History *series.History
	// Runs are the sessions of the history, the oldest first.
	Runs     []Run
	Machines []Machine
	// Answers are searches for the commit of a regression, the oldest first.
	Answers []Answer
	// Baselines are what persons have said on the sessions that stored baselines consist of, the oldest first.
	Baselines []Baseline
	// Authors returns who wrote the commits after good up to bad, the last first; none if the code is not at hand.
	Authors func(good, bad string) []string
}

// Baseline is a person's statement on a session: with it a baseline begins or ends.
type Baseline struct {
	Run, Reason, Author string
	Time                time.Time
	// Of is what it holds for, "" for everything.
	Of string
	// Ends is set if later sessions do not count: the baseline is pinned. Otherwise it begins with the session.
	Ends bool
	// Expired is set if it holds no longer.
	Expired bool
}

// Run is a session.
type Run struct {
	ID      string
	Time    time.Time
	File    string
	Commit  string
	Branch  string
	Machine string // its key
	// Verdicts are those of its gates; a session of an older version has none.
	Verdicts []Verdict
	Attempt  int
	GPUHours float64
	// Cells are what it measured.
	Cells []Cell
	// Noise is set if a person has judged what it found to be noise, Accepted if a person has accepted it.
	Noise, Accepted string
	// Report is set if the run's own report is at ReportPath.
	Report bool
}

// Cell is a measured cell.
type Cell struct {
	Name         string
	Runs         int
	Sent, Failed int
	Values       []Value
}

// Value is a value of a cell, as text, with the key of its series.
type Value struct{ Metric, Text, Series string }

// Verdict is the verdict of a gate.
type Verdict struct {
	Gate, Verdict string
	Fails         bool
}

// Machine is a kind of machine.
type Machine struct {
	Key, Name string
	Facts     map[string]string
	// Calibrations are the noise that was measured on it, the oldest first.
	Calibrations []Calibration
}

// Calibration is the noise of a metric of a cell at a time: the standard deviation of a pair, as a ratio less one.
type Calibration struct {
	Time         time.Time
	Cell, Metric string
	Pairs        int
	PairSD       float64
}

// Answer is a search for a commit.
type Answer struct {
	Name string
	Time time.Time
	Doc  *bisection.Document
}

// Page is a page of the site.
type Page struct {
	Path  string
	Write func(io.Writer) error
}

// Pages returns the pages. The reports of runs, which only the caller has, are not among them.
func (s *Site) Pages() iter.Seq[Page] {
	return func(yield func(Page) bool) {
		v := newView(s)
		static := []Page{{"index.html", v.write(v.index())}, {"gates.html", v.write(v.gates())},
			{"machines.html", v.write(v.machineList())}}
		for first := 0; first == 0 || first < len(s.Runs); first += runsOnPage {
			static = append(static, Page{runsPath(first / runsOnPage), v.write(v.runList(first))})
		}
		for _, p := range static {
			if !yield(p) {
				return
			}
		}
		for i := range s.History.Trends {
			t := &s.History.Trends[i]
			if !yield(Page{seriesPath(t.Key), func(w io.Writer) error { return v.writeSeries(w, t) }}) {
				return
			}
		}
		for i := range s.Runs {
			if r := &s.Runs[i]; !yield(Page{runPath(r.ID), v.write(v.run(r))}) {
				return
			}
		}
		for i := range s.Machines {
			if m := &s.Machines[i]; !yield(Page{machinePath(m.Key), v.write(v.machine(m))}) {
				return
			}
		}
		for _, a := range s.Answers {
			if !yield(Page{answerPath(a.Name), func(w io.Writer) error { return bisection.HTML(w, a.Doc, model.Options{}) }}) {
				return
			}
		}
	}
}

// ReportPath returns the path of the report of a run.
func ReportPath(id string) string { return "runs/" + fileName(id) + "/report.html" }

// runPath returns the path of a run's page.
func runPath(id string) string { return "runs/" + fileName(id) + ".html" }

func seriesPath(key string) string  { return "series/" + fileName(key) + ".html" }
func machinePath(key string) string { return "machines/" + fileName(key) + ".html" }
func answerPath(name string) string { return "bisect/" + fileName(name) + ".html" }

// fileName returns an ID as the name of a file: other characters than letters, digits and a few signs are replaced.
func fileName(id string) string {
	out := []byte(id)
	for i, c := range out {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			out[i] = '_'
		}
	}
	return string(out[:min(len(out), 100)])
}

// view holds a site and the data that its pages share.
type view struct {
	*Site
	runs     map[string]*Run
	machines map[string]*Machine
}

func newView(s *Site) *view {
	v := &view{Site: s, runs: map[string]*Run{}, machines: map[string]*Machine{}}
	for i := range s.Runs {
		v.runs[s.Runs[i].ID] = &s.Runs[i]
	}
	for i := range s.Machines {
		v.machines[s.Machines[i].Key] = &s.Machines[i]
	}
	return v
}

// maxRows is the largest number of rows of a table on a page.
const maxRows = 2000

// write returns a function that writes a report as a page with links to the other ones.
func (v *view) write(r *model.Report) func(io.Writer) error {
	if v.History.Simulated {
		r.Banner = model.Line{{Text: "Simulated sessions:", Style: model.Strong}, {Text: " they say nothing of a real server."}}
	}
	return func(w io.Writer) error {
		return page.Write(w, 0, "metrics", []int{maxRows, 500, 100}, func(rows int) *page.Page {
			return page.New(r, page.Bounds{Rows: rows, Logs: 1}, "the history", page.HistoryStyle)
		})
	}
}

// links returns the links of every page; up leads to the folder of the landing page.
func links(up string) []model.Link {
	return []model.Link{{Text: "Now", Page: up + "index.html"}, {Text: "Gates", Page: up + "gates.html"}, {Text: "Runs",
		Page: up + "runs.html"},
		{Text: "Machines", Page: up + "machines.html"}}
}

// index returns the landing page: how many series have regressed now, where, since when, and what to look at.
func (v *view) index() *model.Report {
	r := &model.Report{Links: links("")}
	regressed, suspected := v.standing()
	n := len(regressed)
	switch {
	case len(v.History.Trends) == 0:
		r.Icon, r.Heading = model.IconInfo, model.Plain("No sessions yet")
	case n > 0:
		r.Icon, r.Heading = model.IconRegression, model.Plain(fmt.Sprintf("%s now, of %d series", humanize.Count(n, "regression"),
			len(v.History.Trends)))
	case len(suspected) > 0:
		r.Icon, r.Heading = model.IconInconclusive, model.Plain(fmt.Sprintf("No regression now, %d of %d series suspected", len(suspected),
			len(v.History.Trends)))
	default:
		r.Icon, r.Heading = model.IconPass, model.Plain(fmt.Sprintf("No regression now, of %d series", len(v.History.Trends)))
	}
	if v.History.Sessions > 0 {
		r.Lead = append(r.Lead, model.Plain(fmt.Sprintf("%s from %s to %s", humanize.Count(v.History.Sessions, "session"), date(v.History.First),
			date(v.History.Last))))
	}
	r.Sections = model.Sections([]model.SectionOf[*view]{
		{ID: "regressions", Weight: model.Attention, Build: (*view).regressions},
		{ID: "suspected", Weight: model.Attention, Build: (*view).suspicions},
		{ID: "culprits", Build: (*view).answers},
		{ID: "baselines", Build: (*view).baselines},
		{ID: "series", Build: (*view).allSeries},
		{ID: "warnings", Build: func(v *view) model.Section {
			s := model.Section{Title: model.Plain("What was left out"), Folded: true}
			for _, w := range v.History.Warnings {
				s.Notes = append(s.Notes, model.Plain(w))
			}
			return s
		}},
	}, v, true)
	return r
}

// standing returns the series that have regressed, the worst first, and those that are suspected.
func (v *view) standing() (regressed, suspected []*series.Trend) {
	for i := range v.History.Trends {
		switch t := &v.History.Trends[i]; t.Condition() {
		case trend.Regressed:
			regressed = append(regressed, t)
		case trend.Suspicious:
			suspected = append(suspected, t)
		}
	}
	slices.SortStableFunc(regressed, func(a, b *series.Trend) int { return cmp.Compare(b.Excess(), a.Excess()) })
	return regressed, suspected
}

// regressions lists the series that have regressed.
func (v *view) regressions() model.Section {
	t := model.Table{Columns: []model.Column{{Title: "series", Wrap: true}, {Title: "metric"}, {Title: "change", Align: model.Right},
		{Title: "since"}, {Title: "commits", Wrap: true, Aside: true}, {Title: "failing", Aside: true}, {Title: "look at", Wrap: true},
		{Title: "who", Wrap: true}}}
	regressed, _ := v.standing()
	for _, s := range regressed {
		f := series.FindingOf(s)
		t.Rows = append(t.Rows, model.Row{Icon: model.IconRegression, Page: seriesPath(s.Key), Cells: []model.Line{
			name(s), model.Plain(s.MetricLabel), model.Plain(f.Change), model.Plain(f.Since), f.Commits,
			model.Plain(humanize.Count(f.Days, "day")), v.look(s), v.who(s),
		}})
	}
	return model.Section{Title: model.Plain("Regressions"), Tables: []model.Table{t}}
}

// look says what should be looked at: the commit that a search has found, or the search.
func (v *view) look(s *series.Trend) model.Line {
	if a, step := v.found(s); step != nil {
		return model.Join(" ", model.Code(short(step.Bad)), model.Plain(v.subject(*a, step.Bad)))
	}
	good, bad, ok := s.Ends()
	if !ok {
		return model.Plain("the machine: no commits are known")
	}
	return model.Code("pipeline bisect --good " + short(good) + " --bad " + short(bad))
}

// found returns the newest search that found a commit for a series, with the step; nil if there is none.
func (v *view) found(s *series.Trend) (*Answer, *bisection.Step) {
	for i := range slices.Backward(v.Answers) {
		a := &v.Answers[i]
		for k := range a.Doc.Steps {
			if step := &a.Doc.Steps[k]; a.Doc.Metric == s.Metric && step.Worse && (a.Doc.Cell == "" || a.Doc.Cell == s.Label) {
				return a, step
			}
		}
	}
	return nil, nil
}

// who names the authors of the commit that a search has found, or of those between the last good and the first bad session.
func (v *view) who(s *series.Trend) model.Line {
	good, bad, _ := s.Ends()
	if _, step := v.found(s); step != nil {
		good, bad = step.Good, step.Bad
	}
	if v.Authors == nil || good == "" || bad == "" {
		return model.Plain(humanize.None)
	}
	const most = 3
	all := v.Authors(good, bad)
	text := strings.Join(all[:min(most, len(all))], ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return model.Plain(cmp.Or(text, humanize.None))
}

// baselines lists what persons have said on the sessions that stored baselines consist of, the newest first.
func (v *view) baselines() model.Section {
	t := model.Table{Columns: []model.Column{{Title: "run"}, {Title: "baseline", Wrap: true}, {Title: "when"}, {Title: "by"},
		{Title: "reason", Wrap: true}}}
	for _, b := range slices.Backward(v.Baselines) {
		what := "begins with it"
		if b.Ends {
			what = "ends with it"
		}
		if b.Of != "" {
			what += ": " + b.Of
		}
		if b.Expired {
			what += " (no longer)"
		}
		row := model.Row{Cells: []model.Line{model.Code(b.Run), model.Plain(what), model.Plain(date(b.Time)), model.Plain(b.Author),
			model.Plain(b.Reason)}}
		if v.runs[b.Run] != nil {
			row.Page = runPath(b.Run)
		}
		t.Rows = append(t.Rows, row)
	}
	return model.Section{Title: model.Plain("Stored baselines"), Tables: []model.Table{t}}
}

// subject returns the subject of a candidate.
func (v *view) subject(a Answer, ref string) string {
	for _, c := range a.Doc.Candidates {
		if c.Ref == ref {
			return c.Subject
		}
	}
	return ""
}

// suspicions lists the series that the next sessions will decide.
func (v *view) suspicions() model.Section {
	t := model.Table{Columns: []model.Column{{Title: "series", Wrap: true}, {Title: "metric"}}}
	_, suspected := v.standing()
	for _, s := range suspected {
		t.Rows = append(t.Rows, model.Row{Icon: model.IconInconclusive, Page: seriesPath(s.Key), Cells: []model.Line{name(s),
			model.Plain(s.MetricLabel)}})
	}
	return model.Section{Title: model.Plain("Suspected: more sessions will decide"), Tables: []model.Table{t}}
}

// answers lists the searches for commits, the newest first.
func (v *view) answers() model.Section {
	t := model.Table{Columns: []model.Column{{Title: "search"}, {Title: "when"}, {Title: "metric"}, {Title: "commit", Wrap: true},
		{Title: "launches", Align: model.Right}}}
	for _, a := range slices.Backward(v.Answers) {
		found := model.Plain("none found")
		for _, step := range a.Doc.Steps {
			if step.Worse {
				found = model.Join(" ", model.Code(short(step.Bad)), model.Plain(v.subject(a, step.Bad)))
			}
		}
		t.Rows = append(t.Rows, model.Row{Page: answerPath(a.Name), Cells: []model.Line{model.Code(a.Name), model.Plain(date(a.Time)),
			model.Plain(a.Doc.MetricLabel), found, model.Plain(fmt.Sprint(a.Doc.Launches))}})
	}
	return model.Section{Title: model.Plain("Searches for the commit"), Tables: []model.Table{t}}
}

// allSeries lists every series.
func (v *view) allSeries() model.Section {
	t := model.Table{Columns: []model.Column{{Title: "series", Wrap: true}, {Title: "metric"}, {Title: "level", Align: model.Right,
		Aside: true},
		{Title: "change", Align: model.Right}, {Title: "noise", Align: model.Right, Aside: true},
		{Title: "sessions", Align: model.Right, Aside: true}, {Title: "condition"}}}
	for i := range v.History.Trends {
		s := &v.History.Trends[i]
		for j := range s.Parts {
			if p := &s.Parts[j]; len(p.Points) > 0 && !p.Retired {
				f := series.FigureOf(s, p)
				t.Rows = append(t.Rows, model.Row{Icon: f.Icon, Page: seriesPath(s.Key), Cells: []model.Line{name(s), model.Plain(s.MetricLabel),
					model.Plain(f.Level), model.Plain(f.Change), model.Plain(f.Noise), model.Plain(fmt.Sprint(len(p.Points))), model.Plain(f.Condition)}})
			}
		}
	}
	return model.Section{Title: model.Plain("All series"), Tables: []model.Table{t}}
}

// writeSeries writes the page of a series: its chart, its change points and its sessions.
func (v *view) writeSeries(w io.Writer, t *series.Trend) error {
	return series.Page(w, v.History, t, append(links("../"), model.Link{Text: "All series", Page: "../index.html#series"}),
		func(run string) string {
			if v.runs[run] == nil {
				return ""
			}
			return "../" + runPath(run)
		})
}

func name(t *series.Trend) model.Line {
	l := model.Code(model.ShortAddr(t.Benchmark))
	if t.Label != "" {
		l = model.Join(" ", l, model.Code(t.Label))
	}
	return l
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func short(commit string) string { return commit[:min(7, len(commit))] }
