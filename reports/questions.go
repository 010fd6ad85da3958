package reports

import (
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// questions returns the section with the evaluation questions that the head answers worse than the base, worst first.
func (v *view) questions() model.Section {
	s := model.Section{Folded: true}
	worse := 0
	for i := range v.doc.Evaluations {
		e := &v.doc.Evaluations[i]
		worse += e.Worse
		text := fmt.Sprintf("of %s the head answers %d worse than the base over %s of each side, and %d better",
			humanize.Count(e.Questions, "question"), e.Worse, humanize.Count(e.Repeats, "launch"), e.Better)
		if e.Families > 0 {
			text += fmt.Sprintf("; the error is that over their %d families", e.Families)
		}
		if n := len(e.Lost); n < e.Worse {
			text += fmt.Sprintf("; the %d that it loses by most are listed, and records/ has all", n)
		}
		s.Notes = append(s.Notes, model.Join(": ", v.comparedName(e.Benchmark, e.Head), model.Plain(text)))
		if len(e.Lost) > 0 {
			s.Tables = append(s.Tables, lostTable(e))
		}
	}
	if slices.ContainsFunc(v.doc.Evaluations, func(e result.Evaluation) bool { return e.Families == 0 }) {
		s.Notes = append(s.Notes, model.Plain("Questions without families count as drawn one by one. If several share a passage or a template, "+
			"the error is larger than stated: give them a family."))
	}
	s.Title = model.Plain("Questions: the head answers none worse")
	if worse > 0 {
		s.Title = model.Plain("Questions that the head answers worse: " + fmt.Sprint(worse))
	}
	return s
}

// lostTable lists the questions with the largest losses.
func lostTable(e *result.Evaluation) model.Table {
	t := model.Table{
		Columns: []model.Column{{Title: "question", Wrap: true}, {Title: "base is right", Align: model.Right},
			{Title: "head is right", Align: model.Right}},
	}
	for _, q := range e.Lost {
		t.Add(model.Code(q.ID), model.Plain(rightIn(q.BaseScore, e.Repeats)), model.Plain(rightIn(q.HeadScore, e.Repeats)))
	}
	return t
}

// rightIn formats a mean score over launches as "5 of 6". The first number has a fraction if single scores were
// between right and wrong.
func rightIn(score float64, repeats int) string {
	n := score * float64(repeats)
	if right := math.Round(n); math.Abs(n-right) < 1e-6 {
		return fmt.Sprintf("%.0f of %d", right, repeats)
	}
	return fmt.Sprintf("%s of %d", humanize.Number(n), repeats)
}
