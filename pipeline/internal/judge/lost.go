package judge

import (
	"cmp"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/result"
)

// mostLost is the number of questions that are listed, as examples.
const mostLost = 20

// rounding is the tolerance for means of equal scores that were added in another order.
const rounding = 1e-9

// loseQuestions lists the questions that the head of a comparison answers worse than its base. It lists them once per
// pair of cells, however many gates compare the two.
func (c *collector) loseQuestions(of gates.Comparison, benchmark string, base, head *result.Cell) {
	if of.Metric.ID != evaluationScore || slices.ContainsFunc(c.doc.Evaluations, func(e result.Evaluation) bool {
		return e.Base == base.Hash && e.Head == head.Hash
	}) {
		return
	}
	if e, ok := lost(base, head); ok {
		e.Benchmark, e.Base, e.Head = benchmark, base.Hash, head.Hash
		c.doc.Evaluations = append(c.doc.Evaluations, e)
	}
}

// lost compares the mean scores of two cells question by question. It returns false if they cannot be paired.
func lost(base, head *result.Cell) (e result.Evaluation, ok bool) {
	s, questions, problem := evaluations(base, head)
	if problem != "" || len(s.Repeats) == 0 {
		return e, false
	}
	e.Questions, e.Repeats = len(questions), len(s.Repeats)
	if s.Families != nil {
		e.Families = slices.Max(s.Families) + 1
	}
	for i, id := range questions {
		q := result.LostQuestion{ID: id, BaseScore: s.Mean(false, i), HeadScore: s.Mean(true, i)}
		switch {
		case q.HeadScore > q.BaseScore+rounding:
			e.Better++
		case q.HeadScore < q.BaseScore-rounding:
			e.Worse++
			e.Lost = append(e.Lost, q)
		}
	}
	slices.SortStableFunc(e.Lost, func(a, b result.LostQuestion) int {
		return cmp.Or(cmp.Compare(a.HeadScore-a.BaseScore, b.HeadScore-b.BaseScore), cmp.Compare(a.ID, b.ID))
	})
	e.Lost = e.Lost[:min(len(e.Lost), mostLost)]
	return e, true
}
