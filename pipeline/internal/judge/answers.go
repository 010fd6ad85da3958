package judge

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// measured sets the values of a comparison, from both sides' runs or from their answers.
func measured(c *gates.Comparison, doc *result.Document, benchmark string, base, head *result.Cell) {
	if !c.Metric.Mutual {
		c.Pairs, c.Voided, c.VoidedBase = pairs(c.Metric, base, head), voided(c.Metric, base, head), voidedBase(c.Metric, base, head)
		setDigits(c, base, head)
		return
	}
	c.Relative = answers.Relative(answersOf(doc, benchmark, base, head), c.Metric.ID)
	all := c.Relative.All()
	c.Pairs, c.Clusters = all.Pairs, all.Clusters
}

// setDigits sets what is known of the digits of a comparison's values. Our own load generator measures all of them.
func setDigits(c *gates.Comparison, cells ...*result.Cell) {
	c.Step = printedStep(c.Metric, cells...)
	c.Unrounded = c.Step == 0 && !slices.ContainsFunc(cells, func(cell *result.Cell) bool {
		return cell.Work[comparability.Tool] != comparability.OwnTool
	})
}

// printedStep returns the smallest step of the last digit with which imported values of a metric were printed, 0 if no
// value states one.
func printedStep(m metric.Metric, cells ...*result.Cell) float64 {
	least := 0.0
	for _, cell := range cells {
		for r := range sound(cell) {
			if step := r.Steps[m.ID]; step > 0 && (least == 0 || step < least) {
				least = step
			}
		}
	}
	return least
}

// answersOf returns the compared answers of two cells, nil if none were compared.
func answersOf(doc *result.Document, benchmark string, base, head *result.Cell) *result.Answers {
	i := slices.IndexFunc(doc.Answers, func(a result.Answers) bool {
		return a.Benchmark == benchmark && a.Base == base.Hash && a.Head == head.Hash
	})
	if i < 0 {
		return nil
	}
	return &doc.Answers[i]
}

// partedAnswers returns why comparing answers up to their first different token allows no pass, "" if it does. The
// head's answers nearly always differ, and the tokens after that token are not compared.
func partedAnswers(doc *result.Document, benchmark string, m metric.Metric, base, head *result.Cell) string {
	a := answersOf(doc, benchmark, base, head)
	if !m.Mutual || m.ID == answers.Agreement || a == nil {
		return ""
	}
	for _, of := range []struct {
		metric, what string
		share, least float64 // share of the base's value, and absolute minimum
	}{
		{answers.Agreement, "share of equal answers", 0.1, 0.01},
		{answers.FirstDivergence, "number of tokens before the first other one", 0.5, 0},
	} {
		b, h := answers.Mean(a, of.metric)
		if compared := answers.Relative(a, of.metric) != nil; compared && h < max(of.share*b, of.least) {
			return fmt.Sprintf(
				"the %s is %.3g on the head and %.3g among the base's launches: too little is compared for a pass, so see the divergences", of.what,
				h, b)
		}
	}
	return ""
}

// withoutAnswers excludes a comparison whose answers lack the metric or are too few. Failed requests have no answer,
// and those that succeeded may be the easy ones.
func withoutAnswers(doc *result.Document, benchmark string, margin metric.Margin, m metric.Metric, base, head *result.Cell) exclusion {
	if !m.Mutual {
		return exclusion{}
	}
	a := answersOf(doc, benchmark, base, head)
	compared := answers.Relative(a, m.ID)
	switch {
	case a == nil:
		return exclusion{}
	case a.Reason != "" && compared == nil:
		return exclusion{reason: a.Reason}
	case compared != nil && 2*a.Answered < a.Prompts:
		return exclusion{reason: fmt.Sprintf(
			"%d of %d prompts have an answer of every launch, which is less than half: see why the others failed", a.Answered, a.Prompts)}
	case compared != nil && m.Unit == metric.Fraction && float64(margin)*float64(a.Answered) <= 1:
		return exclusion{reason: fmt.Sprintf(
			"%d of %d prompts have an answer of every launch, so that a single one is the margin: see why the others failed, or ask more",
			a.Answered, a.Prompts)}
	}
	return exclusion{}
}
