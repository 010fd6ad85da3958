package lang

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/zclconf/go-cty/cty"
)

// marginOf reads the margin of a gate: a ratio less one, or seconds for metrics that are
// times and can be zero, of which there is no ratio.
func (e *evaluator) marginOf(g *Gate, b *block, o object) {
	if !o.Known("margin") {
		return
	}
	zero := g.Expect == Improvement
	if !e.isTime(g, b) {
		g.Margin = metric.Margin(e.share(o, "margin", zero, 1, "A margin above 100 % would let a server become twice as slow. Write five percent as \"5%\" or 0.05."))
		e.checkMargin(g, b, false)
		return
	}
	if g.Margin = metric.Margin(o.Float("margin")); g.Margin < 0 || g.Margin == 0 && !zero {
		e.report(problem(codeValue, o.at("margin"), "margin must be above zero", fmt.Sprintf("It is %g seconds.", g.Margin)))
	}
	e.checkMargin(g, b, true)
}

// isTime reports whether the margin is written as a time.
func (e *evaluator) isTime(g *Gate, b *block) bool {
	v, ok := e.scopeOf(g.instance).value(b.attrs["margin"].Expr)
	if v, _ = v.Unmark(); !ok || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return false
	}
	_, err := function.Duration(v.AsString())
	return err == nil
}

// checkMargin refuses a margin that is none of the gate's metrics.
func (e *evaluator) checkMargin(g *Gate, b *block, isTime bool) {
	for _, m := range g.Metrics {
		switch at := b.at("margin"); {
		case isTime && !m.ByTime():
			e.report(problem(codeGate, at, fmt.Sprintf("metric.%s is compared by ratio, and the margin is a time", m.ID),
				"Write a percentage such as \"5%\". A time is for metrics that can be zero, such as metric.queue.p99, in a gate of their own."))
			return
		case !isTime && m.ByTime() && g.Margin > 0:
			e.report(problem(codeGate, at, fmt.Sprintf("metric.%s can be zero, so there is no percentage of it", m.ID),
				"Write a time such as margin = \"50ms\", in a gate of its own."))
			return
		}
	}
}
