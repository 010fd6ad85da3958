package bisect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/culprit"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/result"
)

// Document returns the result of the search.
func (s *Search) Document(f *Found, tool string, notes []string) *bisection.Document {
	d := &bisection.Document{
		Schema: bisection.Schema, Tool: tool, File: s.State.File, Simulated: s.State.Simulated,
		Reason: f.Ends.Reason, Confidence: s.State.Confidence, Launches: f.Launches, Notes: notes,
	}
	for _, c := range s.State.Candidates {
		d.Candidates = append(d.Candidates, bisection.Candidate{Ref: c.Ref, Subject: c.Subject, Reverts: c.Reverts, ChangesFile: c.ChangesFile})
	}
	for _, u := range f.Unusable {
		d.Candidates[u.Candidate].Unusable = u.Reason
	}
	if f.Posterior == nil {
		if d.Answer = endsAnswer(f.Ends); d.Answer != bisection.None {
			return d
		}
		d.Notes = append(d.Notes, s.undone()...)
		if f.Ends.Improved {
			d.Notes = append(d.Notes,
				"The bad end is better than the good one: to find what made it so, swap the values of the two sides in the file.")
		}
		return d
	}
	s.measured(d, f)
	s.answer(d, f)
	return d
}

// endsAnswer returns the answer if nothing was searched.
func endsAnswer(e *Ends) bisection.Answer {
	switch e.Verdict {
	case result.Pass, result.Improvement:
		return bisection.None
	case result.Regression:
		return bisection.Unfit
	}
	return bisection.Undecided
}

// measured sets the metric and the curve.
func (s *Search) measured(d *bisection.Document, f *Found) {
	m := f.Ends.Followed.metric()
	of := func(x float64) float64 { return change(m, x) }
	d.Gate, d.Metric, d.MetricLabel = f.Ends.Followed.Gate, m.ID, m.Label
	d.Unit = unitOf(m)
	d.SD = f.Posterior.SD
	if m.Scale == metric.Log {
		d.SD *= 100
	}
	d.Cell = result.Coordinates(f.Ends.Followed.Values, " ")
	d.NoStep, d.TwoSteps = f.Posterior.None, f.Posterior.Two
	sums, last := make([]float64, len(d.Candidates)), len(d.Candidates)-1
	for _, x := range f.Ends.D {
		sums[last] += x
	}
	d.Candidates[last].Pairs = len(f.Ends.D)
	for _, p := range f.Probes {
		sums[p.Candidate] += p.D
		d.Candidates[p.Candidate].Pairs++
		d.Probes = append(d.Probes, bisection.Probe{Ref: d.Candidates[p.Candidate].Ref, Change: of(p.D), Run: p.Run})
	}
	for i := range d.Candidates {
		c := &d.Candidates[i]
		c.Level, c.Probability = of(f.Posterior.Level[i]), min(1, f.Posterior.Step[i])
		if c.Pairs > 0 {
			mean := of(sums[i] / float64(c.Pairs))
			c.Change = &mean
		}
	}
}

// answer sets the steps: the known ones, or the remaining range.
func (s *Search) answer(d *bisection.Document, f *Found) {
	m := f.Ends.Followed.metric()
	list := f.Answer.Steps
	d.Answer = bisection.Found
	switch {
	case f.Answer.None:
		d.Answer = bisection.None
		d.Reason = "What the ends seemed to differ in was not there when they were measured again."
		d.Notes = append(d.Notes, s.undone()...)
		return
	case f.Answer.Several && !f.Answer.Done:
		list, d.Several = []culprit.Step{f.Posterior.Stretch(s.State.Confidence)}, true
	case len(list) == 0:
		list = []culprit.Step{f.Posterior.Rest(s.State.Confidence)}
	}
	for _, x := range list {
		value := change(m, x.Change)
		step := bisection.Step{
			Good: d.Candidates[x.Good].Ref, Bad: d.Candidates[x.Bad].Ref, Candidates: x.Bad - x.Good,
			Probability: x.Probability, Change: value, Worse: x.Change > 0,
		}
		if !x.Single() {
			d.Answer = bisection.Range
		}
		d.Steps = append(d.Steps, step)
		d.Notes = append(d.Notes, s.stepNotes(x.Range)...)
	}
	if !f.Answer.Done {
		d.Notes = append(d.Notes, "The budget was spent before the answer was certain: a larger one goes on from here with --resume.")
	}
	switch {
	case d.Several && list[0].Single():
		d.Notes = append(d.Notes, "It brought more than half of the change, not all of it: others changed something, too.")
	case d.Several:
		d.Notes = append(d.Notes, "No single candidate brought the whole change: several did. The range brings more than half of it.")
	case !f.Answer.Done && len(f.Answer.Steps) > 0:
		d.Notes = append(d.Notes, fmt.Sprintf("A second change is probable (%.0f %%), and its place is not known yet.", 100*f.Posterior.Two))
	}
}

// undone returns notes on candidates that neither end contains, because a later one reverts them.
func (s *Search) undone() []string {
	var out []string
	for i, c := range s.State.Candidates[1:] {
		for _, later := range s.reverting(i + 1) {
			out = append(out, fmt.Sprintf("%s was reverted by %s, so neither end has it: an end between the two shows what it did.",
				about(c), about(later)))
		}
	}
	return out
}

// reverting returns the later candidates that revert the candidate at a position.
func (s *Search) reverting(at int) []Candidate {
	return slices.DeleteFunc(slices.Clone(s.State.Candidates[at+1:]), func(later Candidate) bool {
		return later.Reverts == "" || !strings.HasPrefix(s.State.Candidates[at].Ref, later.Reverts)
	})
}

// stepNotes returns notes on the candidates of a step.
func (s *Search) stepNotes(r culprit.Range) []string {
	var out []string
	for i := r.Good + 1; i <= r.Bad; i++ {
		c := s.State.Candidates[i]
		if c.Reverts != "" {
			out = append(out, fmt.Sprintf("%s reverts %s.", about(c), short(c.Reverts)))
		}
		if c.ChangesFile {
			out = append(out, fmt.Sprintf("%s changes the pipeline file, which was used as it is now for every candidate.", about(c)))
		}
		for _, later := range s.reverting(i) {
			out = append(out, fmt.Sprintf("%s was reverted by %s, after which it is still slower: another change remains, or it was made again.",
				about(c), about(later)))
		}
	}
	return out
}

// about formats a candidate for a note.
func about(c Candidate) string { return strings.TrimSpace(c.Short() + " " + firstRunes(c.Subject, 72)) }

// firstRunes truncates a text, so that the note stays on one line.
func firstRunes(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
