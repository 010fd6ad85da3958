package gates_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
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
