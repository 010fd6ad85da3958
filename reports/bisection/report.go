package bisection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

func (d *Document) report() *model.Report {
	r := &model.Report{}
	if d.Simulated != "" {
		r.Banner = model.Line{{Text: "Simulated servers:", Style: model.Strong}, {Text: " this says nothing of a real one."}}
	}
	r.Icon, r.Heading = d.heading()
	r.Lead = d.lead()
	r.Sections = model.Sections(sections, d, false)
	if len(d.Steps) > 0 {
		r.Legend = []model.Line{
			model.Plain("Every measurement is a pair: the good end and a candidate, launched one after the other. Measured is the mean over the " +
				"pairs of a candidate; level is what is expected of it, given all pairs."),
			model.Plain("A probability is that of a change for better or worse at this candidate, given all pairs."),
		}
	}
	return r
}

// sections is the table of the sections of a report, on a page and elsewhere.
var sections = []model.SectionOf[*Document]{
	{ID: "findings", Weight: model.Attention, Build: (*Document).found},
	{ID: "warnings", Weight: model.Attention, Build: (*Document).warnings},
	{ID: "measured", Build: (*Document).curve},
}

func (d *Document) heading() (model.Icon, model.Line) {
	good, bad := d.end(0), d.end(len(d.Candidates)-1)
	switch d.Answer {
	case None:
		return model.IconPass, model.Join(" ", model.Plain("No step between"), good, model.Plain("and"), bad)
	case Undecided:
		return model.IconInconclusive, model.Join(" ", good, model.Plain("and"), bad, model.Plain("cannot be told apart"))
	case Unfit:
		return model.IconInvalid, model.Join(" ", bad, model.Plain("regressed against"), good, model.Plain("in what cannot be searched for"))
	}
	var culprits []model.Line
	for _, s := range d.Steps {
		culprits = append(culprits, d.culprit(s))
	}
	icon := model.IconRegression
	if d.Answer == Range {
		icon = model.IconWarning
	}
	return icon, model.Join("", model.Line{{Text: d.MetricLabel, Style: model.Strong}}, model.Plain(" "), model.Join("; ", culprits...))
}

func (d *Document) end(i int) model.Line { return model.Code(Short(d.Candidates[i].Ref)) }

// culprit describes a step as a part of a sentence.
func (d *Document) culprit(s Step) model.Line {
	change := model.Line{{Text: d.change(s.Change), Style: model.Strong}}
	if s.Candidates == 1 {
		return model.Join(" ", change, model.Plain("by"), model.Code(Short(s.Bad)))
	}
	return model.Join(" ", change, model.Plain(fmt.Sprintf("by %s of %d after", d.howMany(), s.Candidates)), model.Code(Short(s.Good)),
		model.Plain("up to"), model.Code(Short(s.Bad)))
}

// howMany returns how many candidates of a range changed something.
func (d *Document) howMany() string {
	if d.Several {
		return "several"
	}
	return "one"
}

var hash = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// Short abbreviates a commit hash.
func Short(ref string) string {
	if hash.MatchString(ref) {
		return ref[:10]
	}
	return ref
}

func (d *Document) change(x float64) string { return Change(x, d.Unit) }

// Change formats a change for people, in a unit of [Document.Unit].
func Change(x float64, unit string) string {
	if unit == "%" {
		return fmt.Sprintf("%+.1f %%", x)
	}
	return strings.TrimSpace(fmt.Sprintf("%+.4g %s", x, unit))
}

func (d *Document) lead() []model.Line {
	n := len(d.Candidates) - 1
	out := []model.Line{model.Join(" ", model.Plain(humanize.Count(n, "candidate")+" after"), d.end(0), model.Plain("up to"), d.end(n),
		model.Plain("· "+humanize.Count(d.Launches, "launch")))}
	switch {
	case d.Metric == "" && d.Reason == "":
		return out
	case d.Metric == "":
		return append(out, model.Plain(d.Reason))
	}
	by := model.Join(" ", model.Plain("by"), model.Code(d.Metric), model.Plain("of"), model.Code(d.Gate))
	if d.Cell != "" {
		by = model.Join(" ", by, model.Plain("at"), model.Code(d.Cell))
	}
	return append(out, model.Join("", by, model.Plain(fmt.Sprintf(" · confidence %.4g %% · SD of a pair %.2g %s",
		100*d.Confidence, d.SD, d.Unit))))
}

// found returns the steps with what is known of their candidates.
func (d *Document) found() model.Section {
	t := model.Table{Columns: []model.Column{{Title: "change", Align: model.Right}, {Title: "by", Wrap: true},
		{Title: "probability", Align: model.Right}}}
	for _, s := range d.Steps {
		icon, by := model.IconRegression, model.Code(Short(s.Bad))
		if !s.Worse {
			icon = model.IconImprovement
		}
		if s.Candidates > 1 {
			by = model.Join(" ", model.Plain(fmt.Sprintf("%s of %d after", d.howMany(), s.Candidates)), model.Code(Short(s.Good)),
				model.Plain("up to"), by)
		} else if subject := d.of(s.Bad).Subject; subject != "" {
			by = model.Join(" ", by, model.Plain(subject))
		}
		t.Rows = append(t.Rows, model.Row{Icon: icon, Cells: []model.Line{model.Plain(d.change(s.Change)), by,
			model.Plain(percent(s.Probability))}})
	}
	return model.Section{Title: model.Plain("What changed"), Tables: []model.Table{t}}
}

func (d *Document) of(ref string) Candidate {
	for _, c := range d.Candidates {
		if c.Ref == ref {
			return c
		}
	}
	return Candidate{}
}

func percent(p float64) string {
	if p > 0.999 {
		return "> 99.9 %"
	}
	return fmt.Sprintf("%.1f %%", 100*p)
}

func (d *Document) warnings() model.Section {
	s := model.Section{Title: model.Plain("Notes")}
	for _, n := range d.Notes {
		s.Notes = append(s.Notes, model.Plain(n))
	}
	return s
}

// curve returns the chart and the table of the candidates that were measured, are unusable, or may
// have brought a step.
func (d *Document) curve() model.Section {
	if d.Metric == "" {
		return model.Section{}
	}
	t := model.Table{Columns: []model.Column{
		{Title: "candidate"}, {Title: "pairs", Align: model.Right}, {Title: "measured", Align: model.Right}, {Title: "level", Align: model.Right},
		{Title: "probability", Align: model.Right}, {Title: "subject", Wrap: true, Aside: true},
	}}
	const worthMentioning = 0.01
	left := 0
	for i, c := range d.Candidates {
		if c.Change == nil && c.Unusable == "" && c.Probability < worthMentioning && i > 0 && i < len(d.Candidates)-1 {
			left++
			continue
		}
		t.Rows = append(t.Rows, d.row(i, c))
	}
	last := len(t.Columns) - 1
	if !slices.ContainsFunc(t.Rows, func(r model.Row) bool { return len(r.Cells[last]) > 0 && r.Cells[last][0].Text != "" }) {
		t.Columns = t.Columns[:last] // values of a list have no subject
		for i := range t.Rows {
			t.Rows[i].Cells = t.Rows[i].Cells[:last]
		}
	}
	icon, _ := d.heading()
	s := model.Section{Title: model.Plain("The candidates"), Tables: []model.Table{t}, Grid: true,
		Parts: []model.Part{{ID: "curve", Icon: icon, Title: model.Plain("The curve"), Open: true, Charts: []model.Chart{d.chart()}}}}
	if left > 0 {
		s.Omitted = []model.Line{model.Plain(humanize.Count(left, "candidate") + " between them not measured, and improbable.")}
	}
	return s
}

func (d *Document) row(i int, c Candidate) model.Row {
	measured, level, probability := "–", d.change(c.Level), percent(c.Probability)
	if c.Change != nil {
		measured = d.change(*c.Change)
	}
	about := c.Subject
	if c.Unusable != "" {
		measured, about = "skipped", strings.TrimSpace(about+" (skipped: "+c.Unusable+")")
	}
	if i == 0 {
		measured, probability = "good end", "–"
	}
	r := model.Row{Cells: []model.Line{model.Code(Short(c.Ref)), model.Plain(fmt.Sprint(c.Pairs)), model.Plain(measured), model.Plain(level),
		model.Plain(probability), model.Plain(about)}}
	for _, s := range d.Steps {
		if s.Bad == c.Ref && s.Worse {
			r.Icon = model.IconRegression
		} else if s.Bad == c.Ref {
			r.Icon = model.IconImprovement
		}
	}
	return r
}
