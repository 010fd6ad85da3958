package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// TestAnswersThatAreTooFew: equal answers to the prompts that did not fail are no pass where these are too
// few, or where they lack what a metric is made of.
func TestAnswersThatAreTooFew(t *testing.T) {
	for _, tt := range []struct {
		metric   string
		answered int
		reason   string
		want     result.Verdict
		text     string
	}{
		{"agreement.share", 200, "", result.Pass, ""},
		{"agreement.share", 199, "", result.Pass, ""}, // one request failed
		{"agreement.share", 100, "", result.Invalid, "a single one is the margin"},
		{"agreement.share", 90, "", result.Invalid, "less than half"},
		{"logprob_difference.mean", 200, "", result.Pass, ""},
		{"logprob_difference.mean", 90, "", result.Invalid, "less than half"},
		{"logprob_difference.mean", 200, "answers of the head came without", result.Invalid, "answers of the head came without"},
	} {
		t.Run(fmt.Sprint(tt.metric, tt.answered), func(t *testing.T) {
			s := newSession()
			g := &s.plan.Gates[0]
			g.Metrics, g.Margin = []string{tt.metric}, 0.01
			g.Comparisons = []plan.Comparison{{Head: g.Comparisons[0].Head, Base: g.Comparisons[0].Base, HeadValue: "head", BaseValue: "base"}}
			a := result.Answers{Benchmark: g.Benchmark, Base: g.Comparisons[0].Base, Head: g.Comparisons[0].Head, Prompts: 200, Answered: tt.answered, Reason: tt.reason}
			if tt.reason == "" {
				c := result.ComparedAnswers{Metric: tt.metric, Until: repeats}
				for r := 1; r <= repeats; r++ {
					c.Pairs = append(c.Pairs, result.Pair{Repeat: r, Base: 0, Head: 0})
				}
				a.Compared = []result.ComparedAnswers{c}
			}
			s.doc.Answers = []result.Answers{a}
			if err := Judge(s.plan, s.doc, Options{}); err != nil {
				t.Fatal(err)
			}
			if d := s.doc.Gates[0].Decisions[0]; d.Verdict != tt.want || !strings.Contains(d.Reason, tt.text) {
				t.Errorf("%s: %s", d.Verdict, d.Reason)
			}
		})
	}
}
