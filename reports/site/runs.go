package site

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// verdict returns the worst verdict of a run, with its icon.
func (r *Run) verdict() (model.Icon, string) {
	var worst *Verdict
	for i := range r.Verdicts {
		if o := &r.Verdicts[i]; worst == nil || rank(*o) > rank(*worst) {
			worst = o
		}
	}
	if worst == nil {
		return model.IconInfo, "not judged"
	}
	return icons[result.Verdict(worst.Verdict)], worst.Verdict
}

var icons = map[result.Verdict]model.Icon{
	result.Pass: model.IconPass, result.Improvement: model.IconImprovement, result.Regression: model.IconRegression,
	result.Inconclusive: model.IconInconclusive, result.Missing: model.IconWarning, result.Invalid: model.IconWarning,
}

// rank orders verdicts, the worst last.
func rank(v Verdict) int {
	order := []result.Verdict{result.Improvement, result.Pass, result.Inconclusive, result.Missing, result.Invalid, result.Regression}
	n := slices.Index(order, result.Verdict(v.Verdict))
	if v.Fails {
		n += len(order)
	}
	return n
}

// runsOnPage is the number of runs on a page: a browser lays out a table of 2,000 in more than a second.
const runsOnPage = 250

// runsPath returns the path of a page of runs, the newest ones on page 0.
func runsPath(page int) string {
	if page == 0 {
		return "runs.html"
	}
	return fmt.Sprintf("runs-%d.html", page+1)
}

// runList returns a page of runs, the newest first, from the first'th on.
func (v *view) runList(first int) *model.Report {
	t := model.Table{Columns: []model.Column{{Title: "run"}, {Title: "when"}, {Title: "file", Aside: true}, {Title: "commit"},
		{Title: "machine", Wrap: true, Aside: true}, {Title: "GPU-hours", Align: model.Right}, {Title: "verdict", Wrap: true}}}
	last := min(first+runsOnPage, len(v.Runs))
	for i := first; i < last; i++ {
		r := &v.Runs[len(v.Runs)-1-i]
		icon, verdict := r.verdict()
		t.Rows = append(t.Rows, model.Row{Icon: icon, Page: runPath(r.ID), Cells: []model.Line{model.Code(r.ID), model.Plain(stamp(r.Time)),
			model.Code(r.File), model.Code(short(r.Commit)), model.Plain(v.machineName(r.Machine)), hours(r.GPUHours),
			model.Plain(verdict + r.note())}})
	}
	heading, to := humanize.Count(len(v.Runs), "run"), links("")
	if first > 0 {
		to = append(to, model.Link{Text: "Newer runs", Page: runsPath(first/runsOnPage - 1)})
	}
	if last < len(v.Runs) {
		to = append(to, model.Link{Text: "Older runs", Page: runsPath(first/runsOnPage + 1)})
	}
	if len(v.Runs) > runsOnPage {
		heading += fmt.Sprintf(", %d to %d of the newest", first+1, last)
	}
	return &model.Report{Icon: model.IconInfo, Heading: model.Plain(heading), Links: to,
		Sections: model.Sections([]model.SectionOf[*view]{{ID: "runs",
			Build: func(*view) model.Section { return model.Section{Tables: []model.Table{t}} }}}, v, true)}
}

// note returns what a person has said on a run.
func (r *Run) note() string {
	switch {
	case r.Noise != "":
		return ", noise: " + r.Noise
	case r.Accepted != "":
		return ", accepted: " + r.Accepted
	}
	return ""
}

// run returns the page of a run whose report is not at hand: what the history knows of it.
func (v *view) run(r *Run) *model.Report {
	icon, verdict := r.verdict()
	out := &model.Report{Icon: icon, Heading: model.Join(": ", model.Code(r.ID), model.Plain(verdict+r.note())), Links: links("../")}
	about := model.Join(", ", model.Plain(stamp(r.Time)), model.Code(r.File), model.Code(short(r.Commit)), model.Code(r.Branch),
		model.Plain(v.machineName(r.Machine)))
	if r.Attempt > 1 {
		about = append(about, model.Span{Text: fmt.Sprintf(", attempt %d", r.Attempt)})
	}
	out.Lead = []model.Line{about}
	out.Sections = model.Sections([]model.SectionOf[*Run]{
		{ID: "gates", Build: runGates}, {ID: "measured", Build: runCells},
	}, r, true)
	if r.Report {
		out.Links = append(out.Links, model.Link{Text: "Report of this run", Page: "../" + ReportPath(r.ID)})
	} else {
		out.Legend = []model.Line{model.Plain("The report of this run is not among these pages: pipeline site --add takes run directories.")}
	}
	return out
}

func runGates(r *Run) model.Section {
	t := model.Table{Columns: []model.Column{{Title: "gate"}, {Title: "verdict"}}}
	for _, g := range r.Verdicts {
		t.Rows = append(t.Rows, model.Row{Icon: icons[result.Verdict(g.Verdict)], Cells: []model.Line{model.Code(g.Gate),
			model.Plain(g.Verdict)}})
	}
	return model.Section{Title: model.Plain("Gates"), Tables: []model.Table{t}}
}

func runCells(r *Run) model.Section {
	s := model.Section{Title: model.Plain("Measured")}
	for _, c := range r.Cells {
		t := model.Table{Title: model.Join(", ", model.Code(c.Name), model.Plain(fmt.Sprintf("%s, %d of %d requests failed",
			humanize.Count(c.Runs, "run"), c.Failed, c.Sent))),
			Columns: []model.Column{{Title: "metric"}, {Title: "mean", Align: model.Right}}}
		for _, value := range c.Values {
			row := model.Row{Cells: []model.Line{model.Plain(value.Metric), model.Plain(value.Text)}}
			if value.Series != "" {
				row.Page = "../" + seriesPath(value.Series)
			}
			t.Rows = append(t.Rows, row)
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

// machineName returns the name of a kind of machine.
func (v *view) machineName(key string) string {
	if m := v.machines[key]; m != nil {
		return m.Name
	}
	return "unknown"
}

// machineList returns the page of all kinds of machines.
func (v *view) machineList() *model.Report {
	t := model.Table{Columns: []model.Column{{Title: "machine", Wrap: true}, {Title: "runs", Align: model.Right}, {Title: "first"},
		{Title: "last"},
		{Title: "noise of a session", Align: model.Right}, {Title: "calibrations", Align: model.Right}}}
	for i := range v.Machines {
		m := &v.Machines[i]
		runs := v.runsOn(m.Key)
		first, last := humanize.None, humanize.None
		if len(runs) > 0 {
			first, last = date(runs[0].Time), date(runs[len(runs)-1].Time)
		}
		t.Rows = append(t.Rows, model.Row{Page: machinePath(m.Key), Cells: []model.Line{model.Plain(m.Name), model.Plain(fmt.Sprint(len(runs))),
			model.Plain(first), model.Plain(last), model.Plain(v.noiseOn(m.Name)), model.Plain(fmt.Sprint(len(m.Calibrations)))}})
	}
	return &model.Report{Icon: model.IconInfo, Heading: model.Plain(humanize.Count(len(v.Machines), "kind") + " of machines"),
		Links: links(""),
		Sections: model.Sections([]model.SectionOf[*view]{{ID: "machines",
			Build: func(*view) model.Section { return model.Section{Tables: []model.Table{t}} }}}, v, true)}
}

func (v *view) runsOn(machine string) []*Run {
	var out []*Run
	for i := range v.Runs {
		if v.Runs[i].Machine == machine {
			out = append(out, &v.Runs[i])
		}
	}
	return out
}

// noiseOn returns the median noise of the series of a kind of machine: those on the log scale, as a percentage.
func (v *view) noiseOn(machine string) string {
	var all []float64
	for i := range v.History.Trends {
		t := &v.History.Trends[i]
		for j := range t.Parts {
			if p := &t.Parts[j]; p.Machine == machine && p.Noise > 0 && t.Scale == "log" {
				all = append(all, p.Noise)
			}
		}
	}
	if len(all) == 0 {
		return humanize.None
	}
	slices.Sort(all)
	return humanize.Spread(all[len(all)/2])
}

// machine returns the page of a kind of machine: its noise, its calibrations and what drifted on it.
func (v *view) machine(m *Machine) *model.Report {
	facts := model.Table{Columns: []model.Column{{Title: "fact"}, {Title: "value", Wrap: true}}}
	for _, k := range slices.Sorted(maps.Keys(m.Facts)) {
		facts.Add(model.Plain(k), model.Code(m.Facts[k]))
	}
	calibrations := model.Table{Columns: []model.Column{{Title: "when"}, {Title: "cell", Wrap: true}, {Title: "metric"}, {Title: "pairs",
		Align: model.Right},
		{Title: "spread of a pair", Align: model.Right}}}
	for _, c := range slices.Backward(m.Calibrations) {
		calibrations.Add(model.Plain(date(c.Time)), model.Code(c.Cell), model.Plain(c.Metric), model.Plain(fmt.Sprint(c.Pairs)),
			model.Plain(humanize.Spread(c.PairSD)))
	}
	series := model.Table{Columns: []model.Column{{Title: "series", Wrap: true}, {Title: "metric"}, {Title: "sessions", Align: model.Right},
		{Title: "noise", Align: model.Right}, {Title: "change points", Align: model.Right}, {Title: "drift", Align: model.Right}}}
	for i := range v.History.Trends {
		t := &v.History.Trends[i]
		for j := range t.Parts {
			p := &t.Parts[j]
			if p.Machine != m.Name || len(p.Points) == 0 || t.Scale != "log" {
				continue
			}
			noise := humanize.None
			if p.Noise > 0 {
				noise = humanize.Spread(p.Noise)
			}
			series.Rows = append(series.Rows, model.Row{Page: "../" + seriesPath(t.Key), Cells: []model.Line{name(t), model.Plain(t.MetricLabel),
				model.Plain(fmt.Sprint(len(p.Points))), model.Plain(noise), model.Plain(fmt.Sprint(len(p.Changes))), model.Plain(drift(p.Points))}})
		}
	}
	section := func(title string, t model.Table) func(*view) model.Section {
		return func(*view) model.Section { return model.Section{Title: model.Plain(title), Tables: []model.Table{t}} }
	}
	return &model.Report{
		Icon: model.IconInfo, Heading: model.Plain(m.Name), Links: links("../"),
		Lead: []model.Line{model.Plain(fmt.Sprintf("%s, noise of a session %s (the median of its series)",
			humanize.Count(len(v.runsOn(m.Key)), "run"), v.noiseOn(m.Name)))},
		Sections: model.Sections([]model.SectionOf[*view]{
			{ID: "series", Build: section("Series on it", series)}, {ID: "calibrations", Build: section("Calibrations", calibrations)},
			{ID: "facts", Build: section("Facts", facts)},
		}, v, true),
		Legend: []model.Line{model.Plain("Drift: the mean of the last ten sessions against that of the first ten, without regard to the code.")},
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

func hours(h float64) model.Line {
	if h == 0 {
		return model.Plain(humanize.None)
	}
	return model.Plain(fmt.Sprintf("%.2g", h))
}
