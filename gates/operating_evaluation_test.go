package gates_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// evaluated is an evaluation of two sides.
type evaluated struct {
	questions int
	// differ is the share of questions that the sides answer otherwise, and loss by how much
	// more of them the head loses than it wins.
	differ, loss float64
	// unsettled is the share of questions whose answer each launch draws anew.
	unsettled float64
	// family is the number of questions of a family, 0 if each is drawn by itself. Two of a family
	// have the same fate with a probability of alike, beside chance. The test knows families if stated.
	family int
	alike  float64
	stated bool
}

// evaluation is a file of the score of an evaluation. The base answers 80 % of the questions.
func (s *simulator) evaluation(e evaluated, margin float64, repeats int) gates.Family {
	var answers [2][]float64
	set, fate := gates.Scores{Questions: e.questions}, 0.0
	for q := range e.questions {
		base, head := 0.0, 0.0
		x := s.rng.Float64()
		if e.family > 0 {
			if q%e.family == 0 {
				fate = s.rng.Float64()
			}
			if s.rng.Float64() < math.Sqrt(e.alike) {
				x = fate
			}
			if e.stated {
				set.Families = append(set.Families, q/e.family)
			}
		}
		switch {
		case x < (e.differ+e.loss)/2:
			base = 1
		case x < e.differ:
			head = 1
		case s.rng.Float64() < 0.8:
			base, head = 1, 1
		}
		answers[0], answers[1] = append(answers[0], base), append(answers[1], head)
	}
	var launches [2][][]float64
	for r := range repeats {
		set.Repeats = append(set.Repeats, r)
		for side := range launches {
			launch := append([]float64{}, answers[side]...)
			for q := range launch {
				if e.unsettled > 0 && s.rng.Float64() < e.unsettled {
					launch[q] = float64(s.rng.IntN(2))
				}
			}
			launches[side] = append(launches[side], launch)
		}
	}
	set.Of = func(head bool, repeat, question int) float64 {
		if head {
			return launches[1][repeat][question]
		}
		return launches[0][repeat][question]
	}
	score, _ := metric.Lookup("evaluation.score")
	values := set.Relate()
	return gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{{
		ID: "score", Gate: "gate.score", Metric: score, Claim: gates.Claim{Margin: metric.Margin(margin)}, CanFail: true, Relative: values,
		Pairs: values.All().Pairs, Clusters: values.All().Clusters,
	}}}
}

// statedPower is what a plan says of an evaluation that is judged at five looks.
func statedPower(e evaluated, margin float64) float64 {
	level := 0.0
	for _, l := range gates.NewProspect(fiveLooks, 0.05, 0.05, 1, gates.Rule{}).Levels {
		level = max(level, l)
	}
	return 100 * gates.FoundLoss(e.questions, e.differ, e.loss, margin, level, gates.NoRegression)
}

// Evaluations: the claim is about all questions that could have been asked, so that each file draws
// its own.
func evaluations() chart {
	c := chart{
		title: "**Evaluations** (`driver \"evaluation\"`): the score of questions that are right or wrong, the same ones in all launches. " +
			"Found are losses at the power that `plan` states, give or take 3 points, where launches answer alike.",
		columns: []string{"questions, margin, and answers that differ", "no loss: regression", "a loss of the margin: it passes",
			"a loss of 2 points: found", "pairs"},
	}
	for _, tt := range []struct {
		evaluated
		margin float64
	}{
		{evaluated{questions: 1000, differ: 0.03}, 0.01},
		{evaluated{questions: 1000, differ: 0.05}, 0.01},
		{evaluated{questions: 1000, differ: 0.10}, 0.01},
		{evaluated{questions: 1000, differ: 0.05, unsettled: 0.05}, 0.01},
		{evaluated{questions: 200, differ: 0.05}, 0.01},
	} {
		label := fmt.Sprintf("%d, %s, %s", tt.questions, percent(tt.margin), percent(tt.differ))
		if tt.unsettled > 0 {
			label += fmt.Sprintf(", and each launch draws %s anew", percent(tt.unsettled))
		}
		sc := func(loss float64) *scenario {
			e := tt.evaluated
			e.loss = loss
			return looked(fmt.Sprintf("evaluation, %s, loss %g", label, loss),
				func(s *simulator) gates.Family { return s.evaluation(e, tt.margin, 12) })
		}
		found := bound{}
		if tt.unsettled == 0 {
			e := tt.evaluated
			e.loss = 0.02
			stated := statedPower(e, tt.margin)
			found = bound{least: float64(int(10*(stated-3))) / 10, most: float64(int(10*(stated+3))) / 10}
		}
		lost := sc(0.02)
		c.lines = append(c.lines, line{label, []cell{{sc(0), isRed, atMostPercent(5)}, {sc(tt.margin), isPassed, atMostPercent(5)},
			{lost, isFound, found}, {lost, nil, bound{}}}})
	}
	return c
}

// familiesOfQuestions are evaluations whose questions were drawn in families.
func familiesOfQuestions() chart {
	const margin, correlation = 0.02, 0.7
	c := chart{
		title: "**Evaluations in families**: questions that share a passage or a template change together, with a correlation of 0.7 in what " +
			"the sides differ by. 10 % of answers differ, margin 2 %. Stated families are known to the test.",
		files: 1000,
		columns: []string{"questions", "no loss: regression", "a loss of the margin: it passes", "no loss: it passes",
			"a loss of 8 points: found"},
	}
	for _, tt := range []struct {
		evaluated
		most float64
	}{
		{evaluated{questions: 1000, family: 10}, 0},
		{evaluated{questions: 1000, family: 10, stated: true}, 5},
		{evaluated{questions: 1000, family: 50}, 0},
		{evaluated{questions: 1000, family: 50, stated: true}, 5},
		{evaluated{questions: 5000, family: 10}, 0},
		{evaluated{questions: 5000, family: 10, stated: true}, 5},
		{evaluated{questions: 5000, family: 50, stated: true}, 5},
	} {
		tt.differ, tt.alike = 0.10, correlation
		label := fmt.Sprintf("%d in families of %d, not stated", tt.questions, tt.family)
		if tt.stated {
			label = strings.Replace(label, "not ", "", 1)
		}
		sc := func(loss float64) *scenario {
			e := tt.evaluated
			e.loss = loss
			return looked(fmt.Sprintf("families, %s, loss %g", label, loss), func(s *simulator) gates.Family { return s.evaluation(e, margin, 12) })
		}
		equal := sc(0)
		c.lines = append(c.lines, line{label, []cell{{equal, isRed, atMostPercent(tt.most)}, {sc(margin), isPassed, atMostPercent(tt.most)},
			{equal, isPassed, bound{}}, {sc(0.08), isFound, bound{}}}})
	}
	return c
}
