package reports

import (
	"fmt"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// profile returns the section with the operations whose time changed most in a regression.
func (v *view) profile() model.Section {
	p := v.doc.Profile
	if p == nil {
		return model.Section{}
	}
	label := p.Metric
	if m, ok := v.doc.Metric(p.Metric); ok {
		label = m.Label
	}
	of := model.Join(" of ", model.Plain(label), model.Code(p.Gate))
	if len(p.Values) > 0 {
		of = model.Join(", ", of, model.Plain(v.valuesName(p.Values)))
	}
	s := model.Section{Title: model.Plain("Profile of the regression")}
	if p.Reason != "" {
		s.Notes = []model.Line{model.Join(": ", model.Join(" ", model.Plain("No profile of"), of), model.Plain(p.Reason))}
		return s
	}
	if len(p.Rows) > 0 {
		s.Title = model.Line{{Text: "Profile of the regression: "}, {Text: p.Rows[0].Name, Style: model.Mono}, {Text: " changed most"}}
	}
	s.Notes = append(s.Notes,
		model.Join(": ", of,
			model.Plain(fmt.Sprintf("one more launch of each side at the same load, under the %s profiler. It is not a sample and decides nothing.",
				p.Profiler))))
	for i := range p.Sides {
		s.Notes = append(s.Notes, profiledSide(&p.Sides[i], p.Per))
	}
	s.Tables = []model.Table{profileTable(p)}
	for _, n := range p.Notes {
		s.Notes = append(s.Notes, model.Plain(n))
	}
	return s
}

// profiledSide describes what was profiled on a side, and where its traces are.
func profiledSide(s *result.ProfileSide, per string) model.Line {
	text := humanize.ScaleFor("s", s.Seconds).Value(s.Seconds)
	if s.Tokens > 0 {
		text += " with " + humanize.Count(int(s.Tokens), "output token")
	}
	work := s.Seconds
	if per == "token" {
		work = s.Tokens
	}
	took, what := s.GPU, "kernels on the GPU"
	if s.GPU == 0 {
		took, what = s.CPU, "operations on the CPU"
	}
	if work > 0 {
		text += fmt.Sprintf(", %s %s per %s", what, humanize.ScaleFor("s", took/work).Value(took/work), per)
	}
	if s.Traces > 1 {
		text += fmt.Sprintf(", added up over the traces of %d ranks", s.Traces)
	}
	line := model.Join(": ", model.Plain(s.Side), model.Plain(text))
	if len(s.Files) > 0 {
		line = model.Join(": ", line, model.Code(s.Files[0]))
		if n := len(s.Files) - 1; n > 0 {
			line = append(line, model.Span{Text: fmt.Sprintf(" and %d more", n)})
		}
	}
	return line
}

func profileTable(p *result.Profile) model.Table {
	t := model.Table{Columns: []model.Column{
		{Title: "operation", Wrap: true}, {Title: "on", Aside: true},
		{Title: "base per " + p.Per, Align: model.Right, Aside: true}, {Title: "head per " + p.Per, Align: model.Right, Aside: true},
		{Title: "change", Align: model.Right}, {Title: "of base", Align: model.Right}, {Title: "calls per " + p.Per,
			Align: model.Right, Aside: true},
	}, Omitted: p.Operations - len(p.Rows)}
	for _, r := range p.Rows {
		scale := humanize.ScaleFor("s", r.BasePer, r.HeadPer)
		share := humanize.None
		if r.BasePer > 0 {
			share = humanize.Percent(r.Change / r.BasePer)
		}
		calls := humanize.Number(r.BaseCalls)
		if head := humanize.Number(r.HeadCalls); head != calls {
			calls += " → " + head
		}
		t.Add(model.Code(r.Name), model.Plain(onText[r.Kind]), model.Plain(scale.Value(r.BasePer)), model.Plain(scale.Value(r.HeadPer)),
			model.Plain(scale.Difference(r.Change)), model.Plain(share), model.Plain(calls))
	}
	return t
}

var onText = map[string]string{result.ProfileCPU: "CPU", result.ProfileGPU: "GPU"}
