package judge

import (
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/reports/result"
)

// measured fills in the values of a comparison: those of both sides' runs, or of their answers.
func measured(c *gates.Comparison, doc *result.Document, benchmark string, base, head *result.Cell) {
	if !c.Metric.Mutual {
		c.Pairs, c.Voided = pairs(c.Metric, base, head), voided(c.Metric, base, head)
		return
	}
	c.Relative = answers.Relative(answersOf(doc, benchmark, base, head), c.Metric.ID)
	all := c.Relative.All()
	c.Pairs, c.Clusters = all.Pairs, all.Clusters
}

// answersOf are the compared answers of two cells, nil where none were.
func answersOf(doc *result.Document, benchmark string, base, head *result.Cell) *result.Answers {
	i := slices.IndexFunc(doc.Answers, func(a result.Answers) bool {
		return a.Benchmark == benchmark && a.Base == base.Hash && a.Head == head.Hash
	})
	if i < 0 {
		return nil
	}
	return &doc.Answers[i]
}

// withoutAnswers is set where answers lack what a metric is made of.
func withoutAnswers(doc *result.Document, benchmark string, m metric.Metric, base, head *result.Cell) exclusion {
	if !m.Mutual {
		return exclusion{}
	}
	a := answersOf(doc, benchmark, base, head)
	if a == nil || a.Reason == "" || answers.Relative(a, m.ID) != nil {
		return exclusion{}
	}
	return exclusion{reason: a.Reason}
}
