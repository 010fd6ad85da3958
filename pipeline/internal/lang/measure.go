package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
)

// measureRoot is the type of the blocks that declare metrics.
const measureRoot = metric.DeclaredGroup

func measureType() *blockType {
	return &blockType{
		name: measureRoot, labels: []string{"name"},
		doc: "A metric of a series that servers, a router or an exporter of the machine show in Prometheus' text format. Referred to as " +
			"metric.measure.NAME.",
		schema: measureSchema(),
	}
}

// measures evaluates the measure blocks, once.
func (e *evaluator) measures() []steps.Measure {
	if e.measured {
		return e.measureList
	}
	e.measured = true
	for _, ent := range e.prog.of(measureRoot) {
		o := e.evaluate([]layer{{ent.block, e.newScope()}}, ent.block.typ.schema, false)
		if !o.ok {
			continue
		}
		m, found := readMeasure(ent.block.label(), o.Object)
		for _, p := range found {
			e.report(problem(codeCheck, o.at(p.Path...), p.Summary, p.Detail))
		}
		if len(found) == 0 {
			e.measureList = append(e.measureList, m)
		}
	}
	return e.measureList
}

// declared returns the metrics of the file's measures.
func (e *evaluator) declared() metric.Declared {
	var out metric.Declared
	for _, m := range e.measures() {
		out = append(out, m.Metric())
	}
	return out
}

// groups returns the groups of the registry, of other load generators, and of the file's measures. Measures
// have only names, because they may not be evaluated yet.
func (p *program) groups() []metric.Group {
	groups := slices.Concat(metric.Groups(), metric.Foreign())
	g := metric.Group{Name: metric.DeclaredGroup}
	for _, ent := range p.of(measureRoot) {
		name := ent.block.label()
		g.Metrics = append(g.Metrics, metric.Metric{ID: metric.DeclaredGroup + "." + name, Group: metric.DeclaredGroup, Stat: name})
	}
	if len(g.Metrics) > 0 {
		groups = append(groups, g)
	}
	return groups
}

// lookup returns a metric of the registry or of another load generator, or a measure with its name alone.
func (p *program) lookup(id string) (metric.Metric, bool) {
	if m, ok := metric.Lookup(id); ok {
		return m, true
	}
	for _, ent := range p.of(measureRoot) {
		if m := (steps.Measure{Name: ent.block.label()}); m.ID() == id {
			return m.Metric(), true
		}
	}
	return metric.Metric{}, false
}

// undeclared returns the problem of a reference to a measure that the file does not have.
func (p *program) undeclared(t hcl.Traversal, name string) *hcl.Diagnostic {
	var names []string
	for _, ent := range p.of(measureRoot) {
		names = append(names, ent.block.label())
	}
	return problem(codeReference, t.SourceRange(), fmt.Sprintf("unknown measure %q", name),
		didYouMean(name, names, "measures of the file"))
}
