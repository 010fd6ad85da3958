package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/zclconf/go-cty/cty"
)

// marginForm is how a margin is written, which determines its quantity.
type marginForm int

const (
	ratioForm  marginForm = iota // "5%"
	numberForm                   // 0.05: of a ratio, or in the metric's unit
	timeForm                     // "50ms"
	pointsForm                   // "1pp"
	tokensForm                   // "0.5 tokens"
	natsForm                     // "0.01 nats"
)

// absoluteForms lists the units of margins that are differences, with the size of each unit.
var absoluteForms = []struct {
	suffix string
	form   marginForm
	size   float64
}{
	{"pp", pointsForm, 0.01},
	{"tokens", tokensForm, 1},
	{"token", tokensForm, 1},
	{"mnat", natsForm, 1e-3},
	{"µnat", natsForm, 1e-6},
	{"nats", natsForm, 1},
	{"nat", natsForm, 1},
}

// absolute reads a margin that has a unit.
func absolute(text string) (x float64, form marginForm, ok bool) {
	for _, f := range absoluteForms {
		number, has := strings.CutSuffix(strings.TrimSpace(text), f.suffix)
		if !has {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		return x * f.size, f.form, err == nil
	}
	return 0, ratioForm, false
}

// inUnit reports whether margins of a metric are plain numbers in its unit.
func inUnit(m metric.Metric) bool {
	return m.Scale == metric.Difference && !m.ByTime() && !slices.Contains([]metric.Unit{metric.Tokens, metric.Nats, metric.Fraction}, m.Unit)
}

// formOf returns how margins of a metric may be written, and an example.
func formOf(m metric.Metric) (forms []marginForm, example string) {
	switch {
	case inUnit(m):
		return []marginForm{numberForm}, ""
	case m.ByTime():
		return []marginForm{timeForm}, "50ms"
	case m.Scale == metric.Difference && m.Unit == metric.Tokens:
		return []marginForm{tokensForm}, "0.5 tokens"
	case m.Unit == metric.Nats:
		return []marginForm{natsForm}, "0.01 nats"
	case m.Scale == metric.Proportion:
		return []marginForm{ratioForm, numberForm, pointsForm}, "5%" // success rates have no margin of their own
	case m.Unit == metric.Fraction:
		return []marginForm{pointsForm}, "1pp"
	}
	return []marginForm{ratioForm, numberForm}, "5%"
}

// marginOf reads the margin of a gate: a ratio less one, or a difference in the metric's unit. Metrics that can
// be zero have no ratio.
func (e *evaluator) marginOf(g *gate, b *block, o object) {
	if !o.Known("margin") {
		return
	}
	zero, form := expectationOf(o) == gates.ExpectImprovement, e.marginForm(g, b)
	if (form == ratioForm || form == numberForm || form == pointsForm) && !slices.ContainsFunc(g.Metrics, inUnit) {
		g.Margin = metric.Margin(e.share(o, "margin", zero, 1,
			"A margin above 100 % would let a server become twice as slow. Write five percent as \"5%\" or 0.05."))
	} else if g.Margin = metric.Margin(o.Float("margin")); g.Margin < 0 || g.Margin == 0 && !zero {
		e.report(problem(codeValue, o.at("margin"), "margin must be above zero", fmt.Sprintf("It is %g.", g.Margin)))
	}
	e.checkMargin(g, b, form)
}

// marginForm returns how the margin is written.
func (e *evaluator) marginForm(g *gate, b *block) marginForm {
	v, ok := e.scopeOf(g.instance).value(b.attrs["margin"].Expr)
	if v, _ = v.Unmark(); !ok || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return numberForm
	}
	if _, err := function.Duration(v.AsString()); err == nil {
		return timeForm
	}
	_, form, _ := absolute(v.AsString())
	return form
}

// checkMargin refuses a margin whose form does not fit all of the gate's metrics.
func (e *evaluator) checkMargin(g *gate, b *block, form marginForm) {
	for _, m := range g.Metrics {
		forms, example := formOf(m)
		at := b.at("margin")
		switch {
		case slices.Contains(forms, form):
			continue
		case (form == ratioForm || form == numberForm) && g.Margin == 0:
			continue // 0 is 0 in any unit
		case m.Informational:
			continue // refused elsewhere
		case inUnit(m):
			e.report(problem(codeGate, at, fmt.Sprintf("metric.%s is compared by difference, so the margin must be a number in its unit", m.ID),
				fmt.Sprintf("Its values can be zero, so a percentage of them is undefined. Write a number without a unit, such as margin = 0.05, "+
					"of %s, in a gate of its own.", m.Unit)))
		case form == timeForm && forms[0] == ratioForm:
			e.report(problem(codeGate, at, fmt.Sprintf("metric.%s is compared by ratio, and the margin is a time", m.ID),
				"Write a percentage such as \"5%\". A time is for metrics that can be zero, such as metric.queue.p99, in a gate of their own."))
		case m.ByTime() && (form == ratioForm || form == numberForm):
			e.report(problem(codeGate, at, fmt.Sprintf("metric.%s can be zero, so a percentage of it is undefined", m.ID),
				"Write a time such as margin = \"50ms\", in a gate of its own."))
		case (form == ratioForm || form == numberForm) && forms[0] == pointsForm:
			e.report(problem(codeGate, at, fmt.Sprintf("metric.%s is a share, and the margin is a ratio", m.ID),
				fmt.Sprintf("1 %% of a share could be 1 %% of its value or one percentage point. Write percentage points, such as margin = %q, in a "+
					"gate of its own.", example)))
		default:
			e.report(problem(codeGate, at, fmt.Sprintf("the margin is in another unit than metric.%s", m.ID),
				fmt.Sprintf("Write it as in margin = %q, in a gate of its own.", example)))
		}
		return
	}
}
