package gates_test

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// isCertified reports whether any improvement that was expected is shown.
func isCertified(e ending) bool { return isBetter(e) }

// expects makes a comparison one that has to show an improvement.
func expects(c gates.Comparison, margin float64) gates.Comparison {
	c.Expect, c.Margin = gates.ExpectImprovement, metric.Margin(margin)
	return c
}

// Improvements that are expected: how often one is certified, with and without a gain.
func speedUps() chart {
	c := chart{
		title: "**Improvements that are expected** (`expect = \"improvement\"`): files in which any is certified. SD of pairs 2 %, margin 0 " +
			"unless stated.",
		columns: []string{"the head", "certified, %", "called a regression, %", "mean pairs"},
	}
	for _, tt := range []struct {
		label          string
		members        int
		gain, margin   float64
		certified, red bound
	}{
		{"as fast, one metric", 1, 0, 0, atMostPercent(5), atMostPercent(5)},
		{"as fast, 20 metrics", 20, 0, 0, atMostPercent(5), atMostPercent(5)},
		{"3 % faster, and 3 % is the margin", 1, 0.03, 0.03, atMostPercent(5), atMostPercent(5)},
		{"5 % slower", 1, -0.05, 0, atMostPercent(5), bound{}},
		{"2 % faster", 1, 0.02, 0, bound{}, atMostPercent(5)},
		{"3 % faster", 1, 0.03, 0, bound{}, atMostPercent(5)},
		{"5 % faster", 1, 0.05, 0, atLeastPercent(90), atMostPercent(5)},
		{"8 % faster, and 3 % is the margin", 1, 0.08, 0.03, atLeastPercent(90), atMostPercent(5)},
	} {
		sc := looked("expected, "+tt.label, func(s *simulator) gates.Family {
			f := gates.Family{Alpha: 0.05}
			for i := range tt.members {
				f.Comparisons = append(f.Comparisons, expects(s.comparison(i, 12, -math.Log1p(tt.gain), 0.02), tt.margin))
			}
			return f
		})
		c.lines = append(c.lines, line{tt.label, []cell{{sc, isCertified, tt.certified}, {sc, isRed, tt.red}, {sc, nil, bound{}}}})
	}
	again := rerun("expected, up to 5 attempts", 5, func(s *simulator) gates.Comparison {
		return expects(s.comparison(0, 12, 0, 0.02), 0)
	})
	c.lines = append(c.lines, line{"as fast, one metric, in any of 5 attempts", []cell{{again, isCertified, atMostPercent(5)},
		{again, isRed, bound{}}, {again, nil, bound{}}}})
	for _, test := range everyTest[1:] {
		label := fmt.Sprintf("3 %% faster, 5 metrics, and 3 %% is the margin, by %s after 8 pairs", test)
		sc := once("expected, "+label, func(s *simulator) gates.Family {
			f := gates.Family{Alpha: 0.05}
			for i := range 5 {
				c := expects(s.comparison(i, 8, -math.Log1p(0.03), 0.02), 0.03)
				c.Test = test
				f.Comparisons = append(f.Comparisons, c)
			}
			return f
		}).after(8)
		c.lines = append(c.lines, line{label, []cell{{sc, isCertified, atMostPercent(5)}, {sc, isRed, atMostPercent(5)}, {sc, nil, bound{}}}})
	}
	return c
}

// rerun is a file that is measured again until an expected improvement is certified, each time
// as a further attempt.
func rerun(name string, attempts int, draw func(s *simulator) gates.Comparison) *scenario {
	return &scenario{name, func(s *simulator) (ending, error) {
		var e ending
		for k := range attempts {
			f := gates.Family{Alpha: 0.05, PassAlpha: gates.AttemptAlpha(0.05, k+1), Comparisons: []gates.Comparison{draw(s)}}
			p, err := gates.Sequence{Family: f, Looks: fiveLooks}.Judge()
			if err != nil {
				return e, err
			}
			e = ending{Judgement: p.Judgement, pairs: p.Taken[len(p.Taken)-1]}
			if isCertified(e) {
				break
			}
		}
		return e, nil
	}}
}

// after states how many pairs each file of a scenario measures.
func (sc *scenario) after(pairs int) *scenario {
	judge := sc.judge
	return &scenario{sc.name, func(s *simulator) (ending, error) {
		e, err := judge(s)
		e.pairs = pairs
		return e, err
	}}
}
