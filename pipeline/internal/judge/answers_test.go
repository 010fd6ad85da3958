package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/judge"
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
			a := result.Answers{Benchmark: g.Benchmark, Base: g.Comparisons[0].Base, Head: g.Comparisons[0].Head, Prompts: 200,
				Answered: tt.answered, Reason: tt.reason}
			if tt.reason == "" {
				c, level := result.ComparedAnswers{Metric: tt.metric, Until: repeats}, 1.0
				if tt.metric == "logprob_difference.mean" {
					level = 0
				}
				for r := 1; r <= repeats; r++ {
					c.Pairs = append(c.Pairs, result.Pair{Repeat: r, Base: level, Head: level})
				}
				a.Compared = []result.ComparedAnswers{c}
			}
			s.doc.Answers = []result.Answers{a}
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			if d := s.doc.Gates[0].Decisions[0]; d.Verdict != tt.want || !strings.Contains(d.Reason, tt.text) {
				t.Errorf("%s: %s", d.Verdict, d.Reason)
			}
		})
	}
}

// TestAnswersWithNothingInCommon: a head whose answers have nothing in common with the base's is never green, whatever
// the gate compares and however little launches of the base agree with each other.
func TestAnswersWithNothingInCommon(t *testing.T) {
	type sides struct{ base, head float64 }
	for _, tt := range []struct {
		name, metric            string
		margin                  float64
		agreement, tokens, nats sides
		want                    result.Verdict
	}{
		{"equal", "agreement.share", 0.01, sides{0.99, 0.99}, sides{63, 63}, sides{0.01, 0.01}, result.Pass},
		{"the base agrees in less than the margin", "agreement.share", 0.01, sides{0.005, 0}, sides{30, 10}, sides{0.01, 0.01}, result.Invalid},
		{"the base agrees in the margin", "agreement.share", 0.01, sides{0.0099, 0.0099}, sides{30, 30}, sides{0.01, 0.01}, result.Invalid},
		{"wrong from the start", "agreement.share", 0.01, sides{0.99, 0}, sides{63, 0}, sides{0.01, 0.01}, result.Regression},
		{"equal probabilities", "logprob_difference.mean", 0.005, sides{0.99, 0.99}, sides{63, 63}, sides{0.01, 0.01}, result.Pass},
		{"wrong at the end of each answer", "logprob_difference.mean", 0.005, sides{0.99, 0}, sides{63, 62}, sides{0.01, 0.01}, result.Missing},
		{"wrong early, the base never agrees", "logprob_difference.mean", 0.005, sides{0, 0}, sides{50, 10}, sides{0.01, 0.01}, result.Missing},
		{"wrong within a wide margin", "first_divergence.mean", 5, sides{0.99, 0}, sides{63, 62}, sides{0.01, 0.01}, result.Missing},
		{"other probabilities", "logprob_difference.mean", 0.005, sides{0.99, 0}, sides{63, 62}, sides{0.01, 0.05}, result.Regression},
	} {
		s := newSession()
		g := &s.plan.Gates[0]
		g.Metrics, g.Margin = []string{tt.metric}, metric.Margin(tt.margin)
		a := result.Answers{Benchmark: g.Benchmark, Base: g.Comparisons[0].Base, Head: g.Comparisons[0].Head, Prompts: 1000, Answered: 1000}
		for id, value := range map[string]sides{"agreement.share": tt.agreement, "first_divergence.mean": tt.tokens,
			"logprob_difference.mean": tt.nats} {
			c := result.ComparedAnswers{Metric: id, Until: repeats}
			for r := 1; r <= repeats; r++ {
				wobble := 1 + 0.001*float64(r%3-1)
				c.Pairs = append(c.Pairs, result.Pair{Repeat: r, Base: value.base * wobble, Head: value.head})
			}
			a.Compared = append(a.Compared, c)
		}
		s.doc.Answers = []result.Answers{a}
		if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := s.doc.Gates[0].Decisions[0]; d.Verdict != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.name, d.Verdict, tt.want, d.Reason)
		}
	}
}
