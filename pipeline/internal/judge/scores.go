package judge

import (
	"fmt"
	"maps"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/result"
)

// scored returns the scores of a cell's questions by repeat, as means over the passes of a launch.
func scored(cell *result.Cell) map[int]map[string]float64 {
	out, passes := map[int]map[string]float64{}, map[int]float64{}
	for r := range sound(cell) {
		at := r.Pair()
		if len(r.Scores) == 0 {
			continue
		}
		if out[at] == nil {
			out[at] = map[string]float64{}
		}
		passes[at]++
		for id, score := range r.Scores {
			out[at][id] += (score - out[at][id]) / passes[at]
		}
	}
	return out
}

// evaluations pairs the scores of two cells question by question, in the repeats that both have. problem states why
// they cannot be compared, "" if they can.
func evaluations(base, head *result.Cell) (s gates.Scores, questions []string, problem string) {
	b, h := scored(base), scored(head)
	for _, repeat := range slices.Sorted(maps.Keys(h)) {
		if b[repeat] == nil {
			continue
		}
		for _, side := range []struct {
			name   string
			scores map[string]float64
		}{{"base", b[repeat]}, {"head", h[repeat]}} {
			ids := slices.Sorted(maps.Keys(side.scores))
			if questions == nil {
				questions = ids
			}
			if !slices.Equal(ids, questions) {
				return s, nil,
					fmt.Sprintf(
						"not all runs were asked the same questions (repeat %d of the %s): have the program ask all of them each time, by the same ids",
						repeat, side.name)
			}
		}
		s.Repeats = append(s.Repeats, repeat)
	}
	s.Questions = len(questions)
	if s.Families, problem = families(questions, base, head); problem != "" {
		return s, nil, problem
	}
	s.Of = func(head bool, repeat, question int) float64 {
		if head {
			return h[repeat][questions[question]]
		}
		return b[repeat][questions[question]]
	}
	return s, questions, ""
}

// families returns the number of each question's family, nil if the runs state none. problem states why they cannot be
// used, "" if they can.
func families(questions []string, base, head *result.Cell) (out []int, problem string) {
	var known map[string]string
	first := true
	for _, cell := range []*result.Cell{base, head} {
		for r := range sound(cell) {
			if len(r.Scores) == 0 {
				continue
			}
			if !first && !maps.Equal(known, r.Families) {
				return nil, "the runs state different families of the questions: have the program state the same ones each time"
			}
			known, first = r.Families, false
		}
	}
	if len(known) == 0 {
		return nil, ""
	}
	number := map[string]int{}
	for _, q := range questions {
		family, ok := known[q]
		if !ok {
			return nil, fmt.Sprintf("question %q has no family, but others have", q)
		}
		if _, ok := number[family]; !ok {
			number[family] = len(number)
		}
		out = append(out, number[family])
	}
	if len(number) < 2 {
		return nil, "all questions are of one family, so nothing shows how families differ: ask questions of several"
	}
	return out, ""
}

// relate sets the values of a comparison of scores from its questions. It returns the problem of evaluations.
func relate(c *gates.Comparison, base, head *result.Cell) (problem string) {
	if c.Metric.ID != evaluationScore {
		return ""
	}
	s, _, problem := evaluations(base, head)
	if problem != "" {
		return problem
	}
	values := s.Relate()
	all := values.All()
	c.Relative, c.Pairs, c.Clusters = values, all.Pairs, all.Clusters
	return ""
}

// nothingToLose excludes a comparison whose base scores less than the margin, since a loss of the margin is impossible.
// Simulated servers are exempt, since they have no right answers.
func nothingToLose(simulated string, of gates.Comparison) exclusion {
	best := 0.0
	for _, p := range of.Pairs {
		best = max(best, p.Base)
	}
	if of.Metric.ID != evaluationScore || simulated != "" || len(of.Pairs) == 0 || best >= float64(of.Margin) {
		return exclusion{}
	}
	return exclusion{reason: fmt.Sprintf("the base scores %.3g at most, so that a loss of the margin is not possible: see what the program "+
		"writes, and whether it reads the answers as they are meant", best)}
}

// evaluationScore is the metric whose values are means over questions.
const evaluationScore = "evaluation.score"
