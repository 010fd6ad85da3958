package lang

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
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
func (e *evaluator) limit(g *Gate, b *block, bm *Benchmark) {
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
	g.Assert = &Assert{Condition: a.attrs["condition"].Expr, ErrorMessage: a.attrs["error_message"].Expr}
	s := e.assertScope(g, cty.ObjectVal(e.prog.selfValues(nil, nil)))
	for n, i := range g.Cells {
		cell := cellScope(s, bm.Cells[i])
		e.checkResult(cell, g.Assert.Condition, "condition", cty.Bool)
		if v, ok := cell.value(g.Assert.Condition); ok {
			e.checkDecides(v, g.Assert.Condition)
			e.adviseUnits(cell, g.Assert.Condition)
		}
		if n < checkedMessages {
			e.checkResult(cell, g.Assert.ErrorMessage, "error_message", cty.String)
		}
		e.adviseAssert(g, bm.Cells[i])
	}
}

// checkedMessages is the number of cells for which an error_message is evaluated before the run. Printing a
// number takes longer than everything else done for a cell. A message that fails after a run is replaced by a
// default.
const checkedMessages = 100

// assertScope returns the scope of an assert's expressions, without the cell.
func (e *evaluator) assertScope(g *Gate, self cty.Value) *scope {
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
func (e *evaluator) adviseAssert(g *Gate, c Cell) {
	for _, t := range g.Assert.Condition.Variables() {
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

// AssertInput holds what was measured in one cell, for the condition of a gate.
type AssertInput struct {
	Metrics map[string]float64 // by ID, in their stored units (times in seconds)
	// Requests counts the requests sent, Errors those that failed.
	Requests, Errors int
}

// EvalAssert evaluates the condition of a gate on one cell. It returns the limits that make up the condition,
// which all hold if the condition does. If it does not hold, it returns a message that explains why. A
// condition that depends on a metric without a value does not hold.
func (c *Config) EvalAssert(g *Gate, cell Cell, in AssertInput) (limits []Limit, message string, diags hcl.Diagnostics) {
	if message, diags = c.broken(g, cell, in); diags.HasErrors() {
		return nil, "", diags
	}
	s := c.assertedCell(g, cell, in) // its diagnostics repeat those of broken
	for _, part := range conjuncts(g.Assert.Condition) {
		limits = append(limits, c.assertLimit(s, part))
	}
	return limits, message, diags
}

// assertedCell returns the scope of the condition of a gate on one cell.
func (c *Config) assertedCell(g *Gate, cell Cell, in AssertInput) *scope {
	self := c.prog.selfValues(in.Metrics, map[string]int{selfErrors: in.Errors, selfRequests: in.Requests})
	return cellScope(c.evaluator(nil).assertScope(g, cty.ObjectVal(self)), cell)
}

// broken returns why the condition of a gate does not hold, "" if it holds.
func (c *Config) broken(g *Gate, cell Cell, in AssertInput) (message string, diags hcl.Diagnostics) {
	s := c.assertedCell(g, cell, in)
	v, good := s.value(g.Assert.Condition)
	if !good {
		return "", s.eval.diags
	}
	if !v.IsKnown() {
		return fmt.Sprintf("the condition cannot be evaluated: %s has no value",
			humanize.List(c.prog.missingMetrics(g.Assert.Condition, in.Metrics))), nil
	}
	held, err := convert.Convert(v, cty.Bool)
	if err != nil || held.IsNull() {
		return "", hcl.Diagnostics{problem(codeType, g.Assert.Condition.Range(), "condition must be true or false", "")}
	}
	if held.True() {
		return "", nil
	}
	return s.message(g.Assert.ErrorMessage, in.Metrics), s.eval.diags
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

// Limit is one comparison of an assert's condition, with its numbers on one cell. A
// condition is the conjunction of its limits.
type Limit struct {
	// Metric is the ID of the limited metric, "" for a count or arithmetic.
	Metric string
	// Text is the limited side as the file writes it.
	Text string
	// Op is "<", "<=", ">", ">=", "==" or "!=", with the limited side on the left. It is "" for a part of the
	// condition that does not compare numbers. Such a part has neither Value nor Limit.
	Op           string
	Value, Limit float64
	// Known is false if the limited side has no value.
	Known bool
	Holds bool
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

func (c *Config) assertLimit(s *scope, expr hcl.Expression) Limit {
	out := Limit{Text: c.Sources.Text(expr.Range())}
	if v, ok := s.value(expr); ok && v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool {
		out.Holds = v.True()
	}
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
