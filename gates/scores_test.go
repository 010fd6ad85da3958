package gates_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"gonum.org/v1/gonum/stat/distuv"
)

// score is a comparison of so many questions in four launches of each side that answer alike, of
// which the head loses some.
func score(questions, lost int) gates.Comparison {
	m, _ := metric.Lookup("evaluation.score")
	values := gates.Scores{Questions: questions, Repeats: []int{1, 2, 3, 4}, Of: func(head bool, _, question int) float64 {
		if head && question < lost {
			return 0
		}
		return 1
	}}.Relate()
	return gates.Comparison{ID: "s", Metric: m, Claim: gates.Claim{Margin: 0.02}, CanFail: true, Relative: values, Pairs: values.All().Pairs,
		Clusters: values.All().Clusters}
}

// Launches that answer alike say nothing of the questions that were not asked: no difference in a
// hundred does not exclude 2 of 100, and none in a thousand does.
func TestAlikeLaunchesAreNoProof(t *testing.T) {
	for _, tt := range []struct {
		questions, lost int
		want            gates.Verdict
	}{{100, 0, gates.Inconclusive}, {1000, 0, gates.Pass}, {1000, 16, gates.Inconclusive}, {1000, 40, gates.Regression},
		{50, 1, gates.Inconclusive}} {
		d := judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{score(tt.questions, tt.lost)}}).Comparisons[0]
		if d.Verdict != tt.want || d.Need != nil {
			t.Errorf("%d of %d lost: %s (%s), %+v", tt.lost, tt.questions, d.Verdict, d.Reason, d.Need)
		}
	}
}

// The least number of questions is the one from which on the detectable loss is the margin, where
// the sides differ in no more than that.
func TestQuestionsThatAreNeeded(t *testing.T) {
	for _, margin := range []float64{0.005, 0.01, 0.05} {
		need := gates.NeedQuestions(margin, 0.05)
		sd := math.Sqrt(margin * (1 - margin) / float64(need))
		if power := math.Erfc((1.6448536-margin/sd)/math.Sqrt2) / 2; math.Abs(power-gates.Power) > 0.01 {
			t.Errorf("margin %g: %d questions have power %.3f", margin, need, power)
		}
	}
	if loss, ok := gates.DetectableLoss(1000, 0.05, 0.01, 0.05, gates.NoRegression); !ok ||
		math.Abs(gates.FoundLoss(1000, 0.05, loss, 0.01, 0.05, gates.NoRegression)-gates.Power) > 1e-6 {
		t.Errorf("%g, %v", loss, ok)
	}
	if _, ok := gates.DetectableLoss(100, 0.01, 0.05, 0.05, gates.NoRegression); ok {
		t.Error("a loss of 5 points is found where the sides differ in 1 %")
	}
}

// A loss of all questions of one family in twenty is luck with the family, not a loss of one question in twenty, and no
// loss at all in twenty families does not show that none of others is lost.
func TestFamiliesOfQuestions(t *testing.T) {
	of := func(lost, size int) gates.Verdict {
		m, _ := metric.Lookup("evaluation.score")
		s := gates.Scores{Questions: 1000, Repeats: []int{1, 2, 3, 4}, Of: func(head bool, _, question int) float64 {
			if head && question < lost {
				return 0
			}
			return 1
		}}
		for q := range s.Questions {
			if size > 0 {
				s.Families = append(s.Families, q/size)
			}
		}
		values := s.Relate()
		return judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{{ID: "s", Metric: m, Claim: gates.Claim{Margin: 0.02},
			CanFail: true, Relative: values, Pairs: values.All().Pairs, Clusters: values.All().Clusters}}}).Comparisons[0].Verdict
	}
	for _, tt := range []struct {
		lost, size int
		want       gates.Verdict
	}{
		{50, 0, gates.Regression}, {50, 1, gates.Regression}, {50, 50, gates.Inconclusive}, {500, 50, gates.Regression},
		{0, 0, gates.Pass}, {0, 1, gates.Pass}, {0, 50, gates.Inconclusive},
	} {
		if got := of(tt.lost, tt.size); got != tt.want {
			t.Errorf("%d lost in families of %d: %s, want %s", tt.lost, tt.size, got, tt.want)
		}
	}
}

// TestErrorOverFamilies: one of 20 families of 50 questions is lost. The totals are 47.5 and 19 times 2.5 from their mean, and the
// correction for few families raises their squares by 20/19. Families that were not drawn add 2·50².
func TestErrorOverFamilies(t *testing.T) {
	s := gates.Scores{Questions: 1000, Repeats: []int{1}, Of: func(head bool, _, question int) float64 {
		if head && question < 50 {
			return 0
		}
		return 1
	}}
	for q := range s.Questions {
		s.Families = append(s.Families, q/50)
	}
	if c := s.Relate().All().Clusters; math.Abs(c.SE-math.Sqrt((47.5*47.5+19*2.5*2.5)*20/19+2*50*50)/1000) > 1e-12 {
		t.Errorf("%+v", c)
	}
	if d := judge(t, gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{score(1000, 0)}}).Comparisons[0]; d.Outcome.Exact {
		t.Error("launches that answer alike leave no error of the questions")
	}
}

// TestPowerWithFewQuestions compares the stated power with the share of simulated files that the test finds worse.
func TestPowerWithFewQuestions(t *testing.T) {
	s := newSimulator(7)
	const files = 4000
	for _, tt := range []struct {
		questions    int
		differ, loss float64
	}{{200, 0.05, 0.02}, {200, 0.05, 0.05}, {1000, 0.03, 0.02}} {
		const alpha, margin = 0.02, 0.01
		found := 0
		for range files {
			lost, won := 0, 0
			for range tt.questions {
				switch x := s.rng.Float64(); {
				case x < (tt.differ+tt.loss)/2:
					lost++
				case x < tt.differ:
					won++
				}
			}
			values := gates.Scores{Questions: tt.questions, Repeats: []int{1}, Of: func(head bool, _, q int) float64 {
				if q < lost && head || q >= lost && q < lost+won && !head {
					return 0
				}
				return 1
			}}.Relate().All()
			d := values.Pairs[0].Base - values.Pairs[0].Head
			if d >= margin && d/values.Clusters.SE >= tOf(alpha, values.Clusters.DF) {
				found++
			}
		}
		stated := gates.FoundLoss(tt.questions, tt.differ, tt.loss, margin, alpha, gates.NoRegression)
		if got := float64(found) / files; math.Abs(got-stated) > 0.025 {
			t.Errorf("%d questions, %g differ, loss %g: %.3f stated, %.3f found", tt.questions, tt.differ, tt.loss, stated, got)
		}
	}
}

// tOf returns the critical value of Student's t.
func tOf(alpha, df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(1 - alpha) }
