package reports

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// answers returns the section on prompts whose answers diverge earliest between head and base, side by side.
func (v *view) answers() model.Section {
	s := model.Section{Folded: true}
	shown := 0
	for i := range v.doc.Answers {
		a := &v.doc.Answers[i]
		if note := v.answersNote(a); note != nil {
			s.Notes = append(s.Notes, note)
		}
		if len(a.Divergences) == 0 {
			continue
		}
		shown += len(a.Divergences)
		s.Tables = append(s.Tables, divergenceTable(a))
	}
	s.Title = model.Plain("Answers: no prompt has another one on the head alone")
	if shown > 0 {
		s.Title = model.Plain(fmt.Sprintf("Answers: the earliest divergences, %s", humanize.Count(shown, "prompt")))
	}
	return s
}

// answersNote states how often launches of each side answer as the base's other launches do.
func (v *view) answersNote(a *result.Answers) model.Line {
	last := slices.IndexFunc(a.Compared, func(c result.ComparedAnswers) bool { return c.Metric == "agreement.share" })
	for i := range a.Compared {
		if c := &a.Compared[i]; c.Metric == "agreement.share" && c.Until > a.Compared[last].Until {
			last = i
		}
	}
	name := v.comparedName(a.Benchmark, a.Head)
	if last < 0 || len(a.Compared[last].Pairs) == 0 {
		return model.Join(": ", name, model.Plain("nothing was compared"), nonEmpty(a.Reason))
	}
	var base, head float64
	pairs := a.Compared[last].Pairs
	for _, p := range pairs {
		base, head = base+p.Base/float64(len(pairs)), head+p.Head/float64(len(pairs))
	}
	share := humanize.ScaleFor("fraction")
	text := fmt.Sprintf(
		"of %s a launch of the base answers %s as one of the base's other launches does, which is the noise floor, and one of the head %s",
		humanize.Count(a.Prompts, "prompt"), share.Value(base), share.Value(head))
	if b, h, ok := v.tokensCompared(a); ok {
		text += fmt.Sprintf(
			"; the tokens before the first other one, after which nothing is compared, are %s of those of the base and %s of those of the head",
			share.Value(b), share.Value(h))
	}
	return model.Join(": ", name, model.Plain(text+askedFor[a.Form]), nonEmpty(a.Reason))
}

// tokensCompared returns the share of the tokens of each side's answers that was compared. It reports false if the
// length of the answers is unknown.
func (v *view) tokensCompared(a *result.Answers) (base, head float64, ok bool) {
	var last []result.Pair
	until := 0
	for _, c := range a.Compared {
		if c.Metric == "first_divergence.mean" && c.Until >= until {
			last, until = c.Pairs, c.Until
		}
	}
	b, known := v.answerLength(a.Benchmark, a.Base)
	h, also := v.answerLength(a.Benchmark, a.Head)
	if !known || !also || len(last) == 0 {
		return 0, 0, false
	}
	for _, p := range last {
		base, head = base+p.Base/float64(len(last)), head+p.Head/float64(len(last))
	}
	return min(1, base/b), min(1, head/h), true
}

// answerLength returns the mean number of tokens of an answer in a cell. It reports false if the cell has no answers.
func (v *view) answerLength(benchmark, hash string) (tokens float64, ok bool) {
	at, ok := v.cell(benchmark, hash)
	if !ok {
		return 0, false
	}
	prompts := 0
	for _, r := range at.cell.Current() {
		if r.Status == result.RunOK && r.Answers != nil {
			tokens, prompts = tokens+float64(r.Answers.Tokens), prompts+r.Answers.Prompts
		}
	}
	return tokens / float64(max(prompts, 1)), tokens > 0 && prompts > 0
}

// askedFor describes how answers were requested.
var askedFor = map[result.AnswerForm]string{
	result.AnswersStreamed:         "; asked for as the load asks: streamed",
	result.AnswersStreamedAndWhole: "; asked for as the load asks: streamed, and once more whole for the log-probabilities",
}

// comparedName returns the name of a benchmark with the axis values of the head's cell.
func (v *view) comparedName(benchmark, head string) model.Line {
	name := model.Code(benchmark)
	if at, ok := v.cell(benchmark, head); ok && len(at.cell.Values) > 0 {
		name = model.Join(" ", name, model.Plain(v.valuesName(at.cell.Values)))
	}
	return name
}

// divergenceTable returns the prompts with the answers of both sides. Prompts of token IDs have no text.
func divergenceTable(a *result.Answers) model.Table {
	asked := slices.ContainsFunc(a.Divergences, func(d result.Divergence) bool { return d.Ask != "" })
	t := model.Table{Columns: []model.Column{{Title: "prompt", Align: model.Right}, {Title: "first other token", Align: model.Right},
		{Title: "launches of the head", Align: model.Right}}}
	if asked {
		t.Columns = append(t.Columns, model.Column{Title: "asked", Wrap: true})
	}
	t.Columns = append(t.Columns, model.Column{Title: "base answers", Wrap: true}, model.Column{Title: "head answers", Wrap: true})
	for _, d := range a.Divergences {
		cells := []model.Line{model.Plain(fmt.Sprint(d.Prompt + 1)), model.Plain(fmt.Sprint(d.Token + 1)), model.Plain(fmt.Sprint(d.Heads))}
		if asked {
			cells = append(cells, nonEmpty(d.Ask))
		}
		t.Rows = append(t.Rows, model.Row{Cells: append(cells, quoted(d.BaseText), quoted(d.HeadText))})
	}
	return t
}

// quoted returns an answer verbatim.
func quoted(text string) model.Line {
	if text == "" {
		return model.Plain(humanize.None)
	}
	return model.Code(text)
}
