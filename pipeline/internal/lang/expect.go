package lang

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/result"
)

// expectation refuses a gate that cannot show an improvement.
func (e *evaluator) expectation(g *gate, b *block, base *config.Baseline) {
	if g.Expect != gates.ExpectImprovement {
		return
	}
	if base.Kind != result.BaselinePaired {
		e.report(problem(codeGate, b.at("expect"), "an improvement is shown against a paired baseline only",
			fmt.Sprintf("%s is of kind %s: what differs between sessions is not the change alone. Measure both sides in one session, by a "+
				"baseline of kind paired.", base.Addr, base.Kind)))
	}
	for _, name := range []string{"suite_margin", "strict"} {
		if b.has(name) {
			e.report(problem(codeGate, b.attrs[name].NameRange, fmt.Sprintf("%s has no meaning where an improvement is expected", name),
				"Each comparison of the gate has to show that the head is better by more than the margin. Leave it out, or put it into a gate of "+
					"its own."))
		}
	}
	for _, m := range g.Metrics {
		var why string
		switch {
		case m.Scale == metric.Proportion:
			why = "A share of requests that succeed says whether the head fails, not how fast it is. Every gate compares it anyway."
		case m.Mutual:
			why = "It says how far the head's answers are from the base's, which nothing is better at than the base itself."
		default:
			continue
		}
		e.report(problem(codeGate, e.rangeOfMetric(b, m), fmt.Sprintf("no improvement of metric.%s can be expected", m.ID), why))
	}
}
