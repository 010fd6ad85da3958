package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// defaultMaxCells is the largest matrix that is expanded.
const defaultMaxCells = 10_000

// maxTotal limits the cells of a pipeline, in multiples of the largest matrix.
const maxTotal = 10

// axis is an evaluated axis.
type axis struct {
	config.Axis
	values []cty.Value
}

// matrix evaluates the axes of a benchmark, in source order. ok is false if they cannot be expanded.
func (e *evaluator) matrix(b *block) (axes []axis, ok bool) {
	m := b.one("matrix")
	if m == nil {
		return nil, !slices.Contains(b.mistaken, "matrix")
	}
	s := e.newScope()
	s.absent = map[string]string{"matrix": "An axis cannot refer to another axis."}
	ok = true
	for _, src := range m.sorted() {
		a, good := e.axis(src, s)
		ok = ok && good
		axes = append(axes, a)
	}
	for _, x := range m.nested("exclude") {
		if !x.has("when") && !x.hasUnknown {
			e.report(problem(codeMissing, x.header, "exclude has no condition",
				"Add when = …, a condition that is true for the cells to leave out."))
		}
	}
	return axes, ok && e.checkSize(m, axes)
}

// axis evaluates one axis.
func (e *evaluator) axis(src *hclsyntax.Attribute, s *scope) (axis, bool) {
	a := axis{Axis: config.Axis{Name: src.Name, Range: src.NameRange}}
	v, ok := s.value(src.Expr)
	if !ok {
		return a, false
	}
	if d := e.checkAxis(src, v); d != nil {
		e.report(d)
		return a, false
	}
	seen := map[string]bool{}
	for it := v.ElementIterator(); it.Next(); {
		i, elem := it.Element()
		text, d := e.cellText(src, elem)
		if d == nil && seen[text] {
			d = problem(codeMatrix, elementRange(src.Expr, i), fmt.Sprintf("axis %s has the value %s twice", src.Name, text),
				"Each value makes cells of its own, and two equal ones could not be distinguished. To measure more often, raise repeat.")
		}
		if d != nil {
			e.report(d)
			ok = false
			continue
		}
		seen[text] = true
		a.Values = append(a.Values, text)
		a.values = append(a.values, elem)
	}
	return a, ok
}

// checkAxis returns why a value cannot be a list of axis values, nil if it can.
func (e *evaluator) checkAxis(src *hclsyntax.Attribute, v cty.Value) *hcl.Diagnostic {
	at := src.Expr.Range()
	bare, marks := v.Unmark()
	ty := bare.Type()
	switch {
	case len(marks) > 0:
		return problem(codeSensitive, at, fmt.Sprintf("secret in axis %s", src.Name), "The values of axes are shown in every report.")
	case bare.IsKnown() && !bare.IsNull() && (ty.IsTupleType() || ty.IsListType()) && bare.LengthInt() > 0:
		if !e.knownEnough(v) {
			return e.notYet(src.Expr, "matrix axis", "the number of cells cannot be planned")
		}
		return nil
	case !bare.IsKnown():
		return e.notYet(src.Expr, "matrix axis", "the number of cells cannot be planned")
	case bare.IsNull() || (ty.IsTupleType() || ty.IsListType()):
		return problem(codeMatrix, at, fmt.Sprintf("axis %s has no value", src.Name),
			"Without a value the matrix has no cell. Remove the axis, or give it one value.")
	case ty.IsSetType():
		return problem(codeMatrix, at, fmt.Sprintf("axis %s is a set", src.Name),
			"A set has no order, and the order of values is that of the report. Write tolist(...) to sort it, or a list.")
	case isMap(bare):
		return problem(codeMatrix, at, fmt.Sprintf("axis %s is a map", src.Name), "An axis is a list. Write keys(...) or values(...).")
	}
	return problem(codeMatrix, at, fmt.Sprintf("axis %s must be a list", src.Name),
		fmt.Sprintf("It is %s. Write %s = [ … ].", typeName(ty), src.Name))
}

// cellText returns the text of one value on an axis.
func (e *evaluator) cellText(src *hclsyntax.Attribute, v cty.Value) (string, *hcl.Diagnostic) {
	at := src.Expr.Range()
	if v.ContainsMarked() {
		return "", problem(codeSensitive, at, fmt.Sprintf("secret in axis %s", src.Name), "The values of axes are shown in every report.")
	}
	if text, ok := e.valueText(v); ok {
		if d := checkNumbers(at, "axis "+src.Name, v); d != nil {
			return "", d
		}
		return text, nil
	}
	return "", problem(codeMatrix, at, fmt.Sprintf("axis %s holds %s", src.Name, typeName(v.Type())),
		"Values are strings, numbers, bools, servers and deployments, or objects with a name.")
}

// valueText returns a value of an axis as text for people: a server's address, an object's name.
func (e *evaluator) valueText(v cty.Value) (string, bool) {
	switch {
	case v.IsNull() || !v.IsKnown():
		return "", false
	case v.Type() == cty.String:
		return v.AsString(), true
	case v.Type() == cty.Bool:
		return fmt.Sprint(v.True()), true
	case v.Type() == cty.Number:
		return steps.NumberText(v.AsBigFloat()), true
	}
	if id, ok := e.refID(v); ok {
		return id, true
	}
	if v.Type().IsObjectType() && v.Type().HasAttribute("name") {
		return e.valueText(v.GetAttr("name"))
	}
	return "", false
}

// elementRange returns the range of an element of a list expression, or else of the expression.
func elementRange(expr hcl.Expression, index cty.Value) hcl.Range {
	if t, ok := expr.(*hclsyntax.TupleConsExpr); ok {
		if i, _ := index.AsBigFloat().Int64(); int(i) < len(t.Exprs) {
			return t.Exprs[i].Range()
		}
	}
	return expr.Range()
}

// checkSize refuses a product of axes that is too large, without expanding it.
func (e *evaluator) checkSize(m *block, axes []axis) bool {
	product, sizes := 1.0, make([]string, len(axes))
	for i, a := range axes {
		product *= float64(max(1, len(a.values)))
		sizes[i] = fmt.Sprintf("%s has %d", a.Name, len(a.values))
	}
	if product <= float64(e.prog.maxCells) {
		e.cells += int(product)
		if total := maxTotal * e.prog.maxCells; e.cells > total {
			e.report(problem(codeCells, m.header, "pipeline has too many cells",
				fmt.Sprintf("All of its benchmarks together have at most %d. Make several pipelines of it.", total)))
			return false
		}
		return true
	}
	e.report(problem(codeCells, m.header, "matrix has too many cells",
		fmt.Sprintf("Its axes make %.15g cells (%s), and at most %d are expanded. Excluded cells count. Make several benchmarks of it, or "+
			"leave out values.",
			product, humanize.List(sizes), e.prog.maxCells)))
	return false
}

// combinations expands axes into cells that have only coordinates. The last axis changes fastest.
func combinations(axes []axis) []config.Cell {
	out := []config.Cell{{Values: []result.AxisValue{}}}
	for _, a := range axes {
		next := make([]config.Cell, 0, len(out)*len(a.values))
		for _, c := range out {
			for i, v := range a.values {
				next = append(next, config.Cell{
					Values: slices.Concat(c.Values, []result.AxisValue{{Name: a.Name, Value: a.Values[i]}}),
					Typed:  slices.Concat(c.Typed, []cty.Value{v}),
				})
			}
		}
		out = next
	}
	return out
}

// cellScope returns the scope of the expressions on a cell, with the object matrix if it has one.
func cellScope(s *scope, c config.Cell) *scope {
	if len(c.Typed) == 0 {
		return s
	}
	attrs := make(map[string]cty.Value, len(c.Typed))
	for i, v := range c.Values {
		attrs[v.Name] = c.Typed[i]
	}
	out := s.with("matrix", cty.ObjectVal(attrs))
	out.cell = result.Coordinates(c.Values, " ")
	return out
}

// holds evaluates a condition on a cell. ok is false if it could not be evaluated.
func (e *evaluator) holds(s *scope, expr hcl.Expression, name string) (yes, ok bool) {
	v, ok := s.value(expr)
	if !ok {
		return false, false
	}
	bare, marks := v.Unmark()
	var d *hcl.Diagnostic
	switch {
	case len(marks) > 0:
		d = problem(codeSensitive, expr.Range(), fmt.Sprintf("secret in %s", name),
			"Which cells there are is shown in every report, and would reveal the secret.")
	case !bare.IsKnown():
		d = e.notYet(expr, name, "the cells cannot be planned")
	case bare.IsNull() || bare.Type() != cty.Bool:
		d = problem(codeType, expr.Range(), fmt.Sprintf("%s must be true or false", name),
			"It is a condition on each cell, such as matrix.rate > 8."+s.noteFor(expr))
	default:
		return bare.True(), true
	}
	e.report(d)
	return false, false
}
