package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// gate evaluates one gate of a block and checks it against its benchmark and baseline.
func (e *evaluator) gate(inst instance, b *block) *gate {
	g := &gate{Gate: &config.Gate{Addr: inst.addr, Range: b.header, MarginRange: b.at("margin")}, instance: inst, alphaRange: b.at("alpha")}
	o := e.evaluate([]layer{{b, e.scopeOf(inst)}}, gateArguments(e.prog.tests), false)
	g.Description = o.Text("description")
	g.Benchmark = e.named(o, "benchmark", answersRoot)
	g.Baseline = e.named(o, "baseline")
	complete := e.checkForm(b)
	if b.one("assert") == nil && b.has("metrics") {
		e.metrics(g, b)
	}
	e.terms(g, b, o)
	e.actions(g, b, o)
	bm := e.benchmarks[g.Benchmark]
	if bm == nil || !complete {
		return g // no such benchmark, or one that could not be expanded
	}
	e.where(g, b, bm)
	if b.one("assert") != nil {
		e.limit(g, b, bm)
	} else if base := e.baselines[g.Baseline]; base != nil {
		e.checkBaseline(g, b, base, bm)
	}
	return g
}

// gateValues returns the value of a reference to a gate: one value, or one for each key.
func (e *evaluator) gateValues(ent *entity) (cty.Value, bool) {
	return e.each(ent, cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String}), func(inst instance) cty.Value {
		e.gates[inst.addr] = true
		return named(inst.addr, ent.block)
	})
}

// named returns the value of a block that has only an address and a name.
func named(addr string, b *block) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(addr), "name": cty.StringVal(b.label())})
}

// gateArguments returns the arguments of a gate that are plain values.
func gateArguments(tests gates.Tests) (schema steps.Schema) {
	for _, a := range gateType(tests).schema.Attrs {
		if a.Name != "metrics" && a.Name != "where" && a.Name != metaForEach {
			schema.Attrs = append(schema.Attrs, a)
		}
	}
	return schema
}

func isTrue(o object, name string) bool {
	return o.Known(name) && o.Value(name).True()
}

// named returns the address to which an argument refers. The block must be of the type that the argument is
// named after, or of a type in also.
func (e *evaluator) named(o object, name string, also ...string) string {
	if !o.Has(name) || !o.Value(name).IsKnown() {
		return ""
	}
	id, ok := e.refID(o.Value(name))
	if !ok || rootOf(id) != name && !slices.Contains(also, rootOf(id)) {
		detail := e.listEntities(name)
		if t := o.Value(name).Type(); t.IsTupleType() || t.IsListType() {
			detail = "It takes one, without brackets. " + detail
		}
		e.report(problem(codeReference, o.at(name), fmt.Sprintf("%s must name a %s block", name, name), detail))
		return ""
	}
	return id
}

func (e *evaluator) listEntities(root string) string {
	return listNames(e.prog.names[root], describeRoot(root))
}

// comparisonArguments lists what a gate without an assert needs, with advice if it is missing.
var comparisonArguments = []struct{ name, advice string }{
	{"baseline", "what the cells are compared with, such as baseline.paired.merge_base"},
	{"metrics", "what is compared, such as [metric.ttft.p99]"},
	{"margin", "the smallest change that anyone would act on, such as \"5%\""},
}

// checkForm reports gates that are neither a comparison nor a limit, or both.
func (e *evaluator) checkForm(b *block) bool {
	if b.one("assert") != nil {
		for _, name := range e.comparisonOnly() {
			if a := b.attrs[name]; a != nil {
				e.report(problem(codeGate, a.NameRange, fmt.Sprintf("%s has no meaning beside assert", name),
					"An assert is an absolute limit, not a comparison. Make two gates of it."))
				return false
			}
		}
		return true
	}
	var missing, advice []string
	for _, a := range comparisonArguments {
		if !b.has(a.name) {
			missing, advice = append(missing, a.name), append(advice, a.advice)
		}
	}
	switch len(missing) {
	case 0:
		return true
	case len(comparisonArguments):
		e.report(problem(codeGate, b.header, "gate says neither what to compare nor what to assert",
			"Set baseline, metrics and margin to compare with a baseline, or add an assert block for an absolute limit."))
	default:
		e.report(problem(codeGate, b.header, fmt.Sprintf("gate has no %s", humanize.List(missing)),
			"A comparison needs all of baseline, metrics and margin: "+strings.Join(advice, "; ")+"."))
	}
	return false
}

// where selects the cells of the gate.
func (e *evaluator) where(g *gate, b *block, bm *config.Benchmark) {
	src := b.attrs["where"]
	scope := e.scopeOf(g.instance)
	decided := true
	for i, c := range bm.Cells {
		if src != nil {
			yes, ok := e.holds(cellScope(scope, c), src.Expr, "where")
			decided = decided && ok
			if !yes {
				continue
			}
		}
		g.Cells = append(g.Cells, i)
	}
	if len(g.Cells) == 0 && len(bm.Cells) > 0 && decided {
		e.report(problem(codeGate, b.at("where"), "gate has no cell",
			fmt.Sprintf("where is true for none of the %s of %s, so the gate could never fail.", humanize.Count(len(bm.Cells), "cell"), bm.Addr)))
	}
}

// checkBaseline checks a gate with a baseline against its benchmark.
func (e *evaluator) checkBaseline(g *gate, b *block, base *config.Baseline, bm *config.Benchmark) {
	if base.Kind == result.BaselinePaired {
		e.pairing(g, b, base, bm)
	}
	e.suite(g, b, base)
	e.expectation(g, b, base)
	e.refuse(g, b, base, bm)
	e.checkLaunchMetrics(g, b, base, bm)
	e.checkAnswers(g, b, base, bm)
}

// share reads a fraction up to most, and above 0 unless zero is set. It returns 0 if the argument is not set.
func (e *evaluator) share(o object, name string, zero bool, most float64, advice string) float64 {
	if !o.Known(name) {
		return 0
	}
	x := o.Float(name)
	if x < 0 || x == 0 && !zero {
		e.report(problem(codeValue, o.at(name), fmt.Sprintf("%s must be above zero", name), fmt.Sprintf("It is %g.", x)))
	} else if x > most {
		e.report(problem(codeValue, o.at(name), fmt.Sprintf("%s is too large", name), fmt.Sprintf("It is %g. %s", x, advice)))
	}
	return x
}

// metrics reads the list of metrics.
func (e *evaluator) metrics(g *gate, b *block) {
	src := b.attrs["metrics"]
	v, ok := e.scopeOf(g.instance).value(src.Expr)
	if !ok {
		return
	}
	v, _ = v.UnmarkDeep()
	if !isList(v) || v.LengthInt() == 0 {
		e.report(problem(codeType, src.Expr.Range(), "metrics must be a list of metrics", "Write metrics = [metric.ttft.p99]."))
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		i, elem := it.Element()
		at := elementRange(src.Expr, i)
		m, ok := e.metricOf(elem)
		switch {
		case !elem.IsKnown(): // the problem of its reference has been reported
		case !ok:
			e.report(e.notMetric(elem, at))
		case slices.ContainsFunc(g.Metrics, func(x metric.Metric) bool { return x.ID == m.ID }):
			e.report(problem(codeDuplicate, at, fmt.Sprintf("metric.%s is listed twice", m.ID),
				"Each metric of a gate is one test. Remove one of them."))
		default:
			g.Metrics = append(g.Metrics, m)
			if m.Informational {
				e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s is shown, not judged", m.ID),
					"Neither more nor less of it is better, so a gate on it says nothing. Choose a metric of what users feel, such as metric.ttft.p99."))
			}
		}
	}
}
