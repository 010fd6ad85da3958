package lang

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// The counts that self holds beside the metrics.
const (
	selfErrors   = "errors"
	selfRequests = "requests"
)

// limit evaluates and checks a gate with an assert, as far as possible before the run.
func (e *evaluator) limit(g *gate, b *block, bm *config.Benchmark) {
	a := b.one("assert")
	ok := true
	for _, name := range []string{"condition", "error_message"} {
		if !a.has(name) {
			e.report(problem(codeMissing, a.header, fmt.Sprintf("%s is missing", name), "An assert needs both condition and error_message."))
			ok = false
		}
	}
	if !ok {
		return
	}
	g.condition, g.message = a.attrs["condition"].Expr, a.attrs["error_message"].Expr
	g.Condition = e.prog.sources.Text(g.condition.Range())
	s := e.assertScope(g, cty.ObjectVal(e.prog.selfValues(nil, nil)))
	for n, i := range g.Cells {
		cell := cellScope(s, bm.Cells[i])
		e.checkResult(cell, g.condition, "condition", cty.Bool)
		if v, ok := cell.value(g.condition); ok {
			e.checkDecides(v, g.condition)
			e.adviseUnits(cell, g.condition)
		}
		if n < checkedMessages {
			e.checkResult(cell, g.message, "error_message", cty.String)
		}
		e.adviseAssert(g, bm.Cells[i])
	}
}

// checkedMessages is the number of cells for which an error_message is evaluated before the run. Printing a
// number takes longer than everything else done for a cell. A message that fails after a run is replaced by a
// default.
const checkedMessages = 100

// assertScope returns the scope of an assert's expressions, without the cell.
func (e *evaluator) assertScope(g *gate, self cty.Value) *scope {
	s := e.scopeOf(g.instance).with("self", self)
	s.check = e.prog.checkSelf
	return s
}

// checkResult checks the type of an expression whose value is known only after a run.
func (e *evaluator) checkResult(s *scope, expr hcl.Expression, name string, want cty.Type) {
	v, ok := s.value(expr)
	if !ok {
		return
	}
	if v.ContainsMarked() {
		e.report(secretHere(expr.Range(), name, ""))
		return
	}
	if _, err := convert.Convert(v, want); err != nil || v.IsNull() {
		e.report(problem(codeType, expr.Range(), fmt.Sprintf("%s must be %s", name, typeName(want)),
			fmt.Sprintf("It is %s.", typeName(v.Type()))))
	}
}

// adviseAssert warns of percentiles over too few requests.
func (e *evaluator) adviseAssert(g *gate, c config.Cell) {
	for _, t := range g.condition.Variables() {
		m, ok := e.prog.metricAt(t, "self")
		if n := e.prog.requestsOf(c.Workload.Load); ok && m.Quantile > 0 && 0 < n && n < m.MinRequests {
			e.report(warning(codeRefused, t.SourceRange(), fmt.Sprintf("self.%s is taken over few requests", m.ID),
				fmt.Sprintf("A run has %d; with fewer than %d it is mostly luck.", n, m.MinRequests)))
		}
	}
}

// checkSelf reports references below self that name no metric.
func (p *program) checkSelf(t hcl.Traversal) *hcl.Diagnostic {
	if t.RootName() != "self" || len(t) < 2 {
		return nil
	}
	group, ok := stepName(t[1])
	if !ok || group == selfErrors || group == selfRequests {
		return nil
	}
	if group == metric.DeclaredGroup && len(p.of(measureRoot)) > 0 {
		if name, ok := lastName(t[2:]); ok {
			if _, there := p.lookup(group + "." + name); !there {
				return p.undeclared(t, name)
			}
			return nil
		}
	}
	if !metricGroup(group) {
		names := append(metricGroups(), selfErrors, selfRequests)
		for i := range names {
			names[i] = "self." + names[i]
		}
		detail := didYouMean("self."+group, names, "values of self")
		if near := suggestMetric(group); near != "" && enum.Nearest("self."+group, names) == "" {
			detail = fmt.Sprintf("Did you mean self.%s?", near)
		}
		return problem(codeReference, t[:2].SourceRange(), fmt.Sprintf("unknown reference self.%s", group), detail)
	}
	if len(t) == 2 {
		return problem(codeReference, t.SourceRange(), fmt.Sprintf("self.%s is a group of metrics", group),
			fmt.Sprintf("Write one of them, such as self.%s.%s. %s", group, usualStat(statsOf(group)),
				listNames(statsOf(group), "statistics of "+group)))
	}
	stat, ok := stepName(t[2])
	if _, exists := metric.Lookup(group + "." + stat); !ok || exists {
		return nil
	}
	detail := listNames(metricGroups(), "groups of metrics")
	if near := suggestMetric(group + "." + stat); near != "" {
		detail = fmt.Sprintf("Did you mean self.%s?", near)
	}
	return problem(codeReference, t[:3].SourceRange(), fmt.Sprintf("unknown reference self.%s.%s", group, stat), detail)
}

// selfValues returns the attributes of self. A metric or count without a value is unknown, as all are at plan
// time.
func (p *program) selfValues(metrics map[string]float64, counts map[string]int) map[string]cty.Value {
	self := map[string]cty.Value{}
	for _, name := range []string{selfErrors, selfRequests} {
		self[name] = cty.UnknownVal(cty.Number).RefineNotNull()
		if n, ok := counts[name]; ok {
			self[name] = cty.NumberIntVal(int64(n))
		}
	}
	for _, g := range p.groups() {
		stats := map[string]cty.Value{}
		for _, m := range g.Metrics {
			stats[m.Stat] = cty.UnknownVal(cty.Number).RefineNotNull()
			if x, ok := metrics[m.ID]; ok && x-x == 0 {
				stats[m.Stat] = cty.NumberFloatVal(x)
			}
		}
		if median, ok := stats["p50"]; ok {
			stats["median"] = median
		}
		self[g.Name] = cty.ObjectVal(stats)
	}
	return self
}

// EvalAssert implements [config.Late].
func (c *Config) EvalAssert(addr string, values []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
	g, cell := c.asserted(addr, values)
	if g == nil {
		return nil, "", fmt.Errorf("no cell %s for %s in the file", result.Coordinates(values, " "), addr)
	}
	self := c.prog.selfValues(in.Metrics, map[string]int{selfErrors: in.Errors, selfRequests: in.Requests})
	s := cellScope(c.evaluator(nil).assertScope(g, cty.ObjectVal(self)), cell)
	var limits []config.Limit
	var failed hcl.Diagnostics
	holds := cty.True
	for _, part := range conjuncts(g.condition) {
		v, ok := s.value(part)
		held, err := convert.Convert(v, cty.Bool)
		switch {
		case !ok:
			held = cty.UnknownVal(cty.Bool)
			if holds.IsKnown() { // a part that has no value yet hides the errors of later ones, as in HCL
				failed = s.eval.diags
			}
		case err != nil || held.IsNull():
			return nil, "", hcl.Diagnostics{problem(codeType, part.Range(), "condition must be true or false", "")}
		}
		limits = append(limits, c.assertLimit(s, part, held.RawEquals(cty.True)))
		holds = holds.And(held)
	}
	switch {
	case holds.RawEquals(cty.False): // whatever the other parts are
		return limits, s.message(g.message, in.Metrics), nil
	case failed.HasErrors():
		return nil, "", failed
	case !holds.IsKnown():
		return limits, fmt.Sprintf("the condition cannot be evaluated: %s has no value",
			humanize.List(c.prog.missingMetrics(g.condition, in.Metrics))), nil
	}
	return limits, "", nil
}

// asserted returns a gate with an assert and the cell of its benchmark that has these values, nil if there is
// none.
func (c *Config) asserted(addr string, values []result.AxisValue) (*gate, config.Cell) {
	for _, g := range c.gates {
		bm := c.BenchmarkAt(g.Benchmark)
		if g.Addr != addr || g.condition == nil || bm == nil {
			continue
		}
		if i := slices.IndexFunc(bm.Cells, func(c config.Cell) bool { return slices.Equal(c.Values, values) }); i >= 0 {
			return g, bm.Cells[i]
		}
	}
	return nil, config.Cell{}
}

// message evaluates an error_message. If it has no value, message returns a default text.
func (s *scope) message(expr hcl.Expression, metrics map[string]float64) string {
	v, ok := s.value(expr)
	if !ok {
		return "the limit is not kept (its error_message cannot be evaluated)"
	}
	if text, err := convert.Convert(v, cty.String); err == nil && text.IsKnown() && !text.IsNull() && !text.IsMarked() {
		return text.AsString()
	}
	return fmt.Sprintf("the limit is not kept, and %s has no value", humanize.List(s.eval.prog.missingMetrics(expr, metrics)))
}

// missingMetrics lists the metrics that an expression refers to and that have no value.
func (p *program) missingMetrics(expr hcl.Expression, metrics map[string]float64) []string {
	missing := map[string]bool{}
	for _, t := range expr.Variables() {
		if m, ok := p.metricAt(t, "self"); ok {
			if x, there := metrics[m.ID]; !there || x-x != 0 {
				missing["self."+m.ID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

// comparisons maps the operators of a limit to their text as written and with the sides swapped.
var comparisons = map[*hclsyntax.Operation][2]string{
	hclsyntax.OpLessThan: {"<", ">"}, hclsyntax.OpLessThanOrEqual: {"<=", ">="},
	hclsyntax.OpGreaterThan: {">", "<"}, hclsyntax.OpGreaterThanOrEqual: {">=", "<="},
	hclsyntax.OpEqual: {"==", "=="}, hclsyntax.OpNotEqual: {"!=", "!="},
}

// conjuncts returns the parts of an expression that must all hold.
func conjuncts(expr hcl.Expression) []hcl.Expression {
	switch x := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return conjuncts(x.Expression)
	case *hclsyntax.BinaryOpExpr:
		if x.Op == hclsyntax.OpLogicalAnd {
			return append(conjuncts(x.LHS), conjuncts(x.RHS)...)
		}
	}
	return []hcl.Expression{expr}
}

// assertLimit returns a part of a condition as a limit.
func (c *Config) assertLimit(s *scope, expr hcl.Expression, holds bool) config.Limit {
	out := config.Limit{Text: c.Sources.Text(expr.Range()), Holds: holds}
	x, ok := expr.(*hclsyntax.BinaryOpExpr)
	if !ok {
		return out
	}
	ops, ok := comparisons[x.Op]
	if !ok {
		return out
	}
	left, right, op := hcl.Expression(x.LHS), hcl.Expression(x.RHS), ops[0]
	if !refersToSelf(left) && refersToSelf(right) {
		left, right, op = right, left, ops[1]
	}
	limit, ok := numberOf(s, right)
	if !ok {
		return out
	}
	if m, ok := c.prog.selfMetric(left); ok {
		out.Metric = m.ID
	}
	out.Text, out.Op, out.Limit = c.Sources.Text(left.Range()), op, limit
	out.Value, out.Known = numberOf(s, left)
	return out
}

// numberOf returns the value of an expression if it is a finite number.
func numberOf(s *scope, expr hcl.Expression) (float64, bool) {
	v, ok := s.value(expr)
	if !ok || v.ContainsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.Number {
		return 0, false
	}
	f, _ := v.AsBigFloat().Float64()
	return f, !math.IsInf(f, 0)
}

func refersToSelf(expr hcl.Expression) bool {
	for _, t := range expr.Variables() {
		if t.RootName() == "self" {
			return true
		}
	}
	return false
}
