package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// gate evaluates one gate of a block and checks it against its benchmark and baseline.
func (e *evaluator) gate(inst instance, b *block) *Gate {
	g := &Gate{Addr: inst.addr, Range: b.header, MarginRange: b.at("margin"), MetricRange: b.at("metrics"), instance: inst}
	o := e.evaluate([]layer{{b, e.scopeOf(inst)}}, gateArguments(e.prog.tests), false)
	g.Description, g.Test = o.Text("description"), o.Text("test")
	g.Strict, g.AllowOverload = isTrue(o, "strict"), isTrue(o, "allow_overload")
	g.OnRegression, g.OnInconclusive = result.Action(o.Text("on_regression")), result.Action(o.Text("on_inconclusive"))
	g.OnMissing, g.OnInvalid = result.Action(o.Text("on_missing")), result.Action(o.Text("on_invalid"))
	g.OnUnprovenTransport = result.Action(o.Text("on_unproven_transport"))
	g.Benchmark = e.named(o, "benchmark")
	g.Baseline = e.named(o, "baseline")
	complete := e.checkForm(b)
	if b.one("assert") == nil {
		e.comparison(g, b, o)
	}
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

// gateValues is what a reference to a gate stands for: one, or one for each key.
func (e *evaluator) gateValues(ent *entity) (cty.Value, bool) {
	list, ok := e.instances(ent.block, ent.addr)
	if !ok {
		return cty.DynamicVal, false
	}
	values := make([]cty.Value, len(list))
	for i, inst := range list {
		e.gates[inst.addr] = true
		values[i] = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(inst.addr), "name": cty.StringVal(ent.block.label())})
	}
	return gather(list, values, cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String})), true
}

// gateArguments are the arguments of a gate that are plain values.
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

// named is the address that an argument refers to, which must be a block of the type
// that the argument is named after.
func (e *evaluator) named(o object, name string) string {
	if !o.Has(name) || !o.Value(name).IsKnown() {
		return ""
	}
	id, ok := e.refID(o.Value(name))
	if !ok || rootOf(id) != name {
		e.report(problem(codeReference, o.at([]string{name}), fmt.Sprintf("%s must name a %s block", name, name), e.listEntities(name)))
		return ""
	}
	return id
}

func (e *evaluator) listEntities(root string) string {
	return listNames(e.prog.names[root], describeRoot(root))
}

// checkForm finds gates that are neither a comparison nor a limit, or both.
func (e *evaluator) checkForm(b *block) bool {
	assert := b.one("assert")
	if assert != nil {
		for _, name := range []string{"baseline", "metrics", "margin", "suite_margin", "alpha", "test", "strict"} {
			if a := b.attrs[name]; a != nil {
				e.report(problem(codeGate, a.NameRange, fmt.Sprintf("%s has no meaning beside assert", name),
					"An assert is an absolute limit, not a comparison. Make two gates of it."))
				return false
			}
		}
		return true
	}
	var missing []string
	for _, name := range []string{"baseline", "metrics", "margin"} {
		if !b.has(name) {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) == 0:
		return true
	case len(missing) == 3:
		e.report(problem(codeGate, b.header, "gate says neither what to compare nor what to assert",
			"Set baseline, metrics and margin to compare with a baseline, or add an assert block for an absolute limit."))
	default:
		e.report(problem(codeGate, b.header, fmt.Sprintf("gate has no %s", humanize.List(missing)),
			"A comparison needs all of baseline, metrics and margin: "+e.missingAdvice(missing)))
	}
	return false
}

func (e *evaluator) missingAdvice(missing []string) string {
	var advice []string
	for _, name := range missing {
		switch name {
		case "baseline":
			advice = append(advice, "what the cells are compared with, such as baseline.paired.merge_base")
		case "metrics":
			advice = append(advice, "what is compared, such as [metric.ttft.p99]")
		case "margin":
			advice = append(advice, "the smallest change that anyone would act on, such as \"5%\"")
		}
	}
	return strings.Join(advice, "; ") + "."
}

// where chooses the cells that the gate is about.
func (e *evaluator) where(g *Gate, b *block, bm *Benchmark) {
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

// cellScope is the scope of a gate's expressions on a cell.
func cellScope(s *scope, c Cell) *scope {
	if len(c.Values) == 0 {
		return s
	}
	return s.inCell(c.Values)
}

// comparison evaluates what a gate with a baseline says by itself.
func (e *evaluator) comparison(g *Gate, b *block, o object) {
	g.SuiteMargin = metric.Margin(e.share(o, "suite_margin", 1, "Write two percent as \"2%\" or 0.02."))
	g.Alpha = e.share(o, "alpha", 0.5, "It is a chance of a false alarm, such as 0.01.")
	e.checkAlpha(g.Alpha, o.at([]string{"alpha"}))
	if b.has("metrics") {
		e.metrics(g, b)
	}
	e.marginOf(g, b, o)
}

// against checks a gate with a baseline against its benchmark.
func (e *evaluator) checkBaseline(g *Gate, b *block, base *Baseline, bm *Benchmark) {
	if base.Kind == result.BaselinePaired {
		e.pairing(g, b, base, bm)
	}
	e.suite(g, b, base)
	e.refuse(g, b, base, bm)
	e.checkLaunchMetrics(g, b, base, bm)
}

// share reads a fraction above 0 and up to most; 0 if it is not set.
func (e *evaluator) share(o object, name string, most float64, advice string) float64 {
	if !o.Known(name) {
		return 0
	}
	x := o.Float(name)
	if x <= 0 {
		e.report(problem(codeValue, o.at([]string{name}), fmt.Sprintf("%s must be above zero", name), fmt.Sprintf("It is %g.", x)))
	} else if x > most {
		e.report(problem(codeValue, o.at([]string{name}), fmt.Sprintf("%s is too large", name), fmt.Sprintf("It is %g. %s", x, advice)))
	}
	return x
}

// metrics reads the list of metrics.
func (e *evaluator) metrics(g *Gate, b *block) {
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
		m, ok := metricOf(elem)
		switch {
		case !ok:
			e.report(notMetric(elem, at))
		case slices.ContainsFunc(g.Metrics, func(x metric.Metric) bool { return x.ID == m.ID }):
			e.report(problem(codeDuplicate, at, fmt.Sprintf("metric.%s is listed twice", m.ID), "Each metric of a gate is one test. Remove one of them."))
		default:
			g.Metrics = append(g.Metrics, m)
			e.checkMetric(m, at)
		}
	}
}

// metricOf is the metric that a value stands for.
func metricOf(v cty.Value) (metric.Metric, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute("id") {
		return metric.Metric{}, false
	}
	id := v.GetAttr("id")
	if id.IsNull() || !id.IsKnown() || id.Type() != cty.String {
		return metric.Metric{}, false
	}
	text, ok := strings.CutPrefix(id.AsString(), "metric.")
	if !ok {
		return metric.Metric{}, false
	}
	return metric.Lookup(text)
}

// checkMetric refuses metrics that no gate can be about.
func (e *evaluator) checkMetric(m metric.Metric, at hcl.Range) {
	if m.Informational {
		e.report(problem(codeRefused, at, fmt.Sprintf("metric.%s is shown, not judged", m.ID),
			"Neither more nor less of it is better, so a gate on it says nothing. Choose a metric of what users feel, such as metric.ttft.p99."))
	}
}
