package lang

import (
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// unprovenTransport is the argument for a KV transfer that no counter and no log proves. It has no verdict.
const unprovenTransport = "on_unproven_transport"

// actionArgument returns the name of the argument for a verdict.
func actionArgument(v result.Verdict) string { return "on_" + string(v) }

// actionAttrs returns the arguments that set a gate's action for each verdict.
func actionAttrs() []steps.Attr {
	action := func(name string, otherwise result.Action, doc string) steps.Attr {
		return steps.Attr{Name: name, Type: cty.String, Enum: enum.Of(result.Fail, result.Warn, result.Ignore),
			Default: cty.StringVal(string(otherwise)), Doc: doc}
	}
	return []steps.Attr{
		action(actionArgument(result.Regression), result.Fail, "What a regression does."),
		action(actionArgument(result.Inconclusive), result.Warn, "What a comparison that could not be decided does."),
		action(actionArgument(result.Missing), result.Fail, "What a side without results does."),
		action(actionArgument(result.Invalid), result.Fail, "What runs that were measured wrongly do."),
		action(unprovenTransport, result.Warn, "What a transport does that no counter and no log proves."),
	}
}

// actions reads a gate's action for each verdict. It runs after terms.
func (e *evaluator) actions(g *gate, b *block, o object) {
	for _, v := range result.ActedOn() {
		*g.At(v) = result.Action(o.Text(actionArgument(v)))
	}
	if g.Expect == gates.ExpectImprovement && !b.has(actionArgument(result.Inconclusive)) {
		g.OnInconclusive = result.Fail // an improvement that was not shown fails
	}
	g.OnUnprovenTransport = result.Action(o.Text(unprovenTransport))
}

// ActionSettings lists a gate's action for each verdict.
func ActionSettings(g *config.Gate) (list []Setting) {
	for _, v := range result.ActedOn() {
		list = append(list, Setting{actionArgument(v), string(*g.At(v))})
	}
	return append(list, Setting{unprovenTransport, string(g.OnUnprovenTransport)})
}
