package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// attribute evaluates one argument by its schema. The value has the schema's type, and is unknown if ok is
// false. A null value means that the argument is not set.
func (s *scope) attribute(src *hclsyntax.Attribute, a steps.Attr) (v cty.Value, ok bool) {
	raw, ok := s.value(src.Expr)
	if !ok {
		return cty.UnknownVal(a.Type), false
	}
	v, d := s.convert(src.Expr, a, raw)
	if d != nil {
		d.Detail += s.noteFor(src.Expr)
		if d.Expression == nil {
			d.Expression, d.EvalContext = src.Expr, s.contextOf(src.Expr)
		}
		s.eval.report(d)
		return cty.UnknownVal(a.Type), false
	}
	if a.Sensitive {
		secretTexts(v, false, s.eval.secrets)
		namedSecrets(a.Name, v, s.eval.secrets)
	} else {
		s.eval.argumentSecrets(v)
	}
	if !s.eval.keep(src.Expr.Range(), "", v) {
		return cty.UnknownVal(a.Type), false
	}
	return v, true
}

// meta evaluates an argument of the language itself. It returns null if the argument is not set, or not known
// now.
func (s *scope) meta(b *block, name string) cty.Value {
	if src := b.attrs[name]; src != nil {
		a, _ := b.typ.schema.Attr(name)
		if v, ok := s.attribute(src, a); ok && v.IsKnown() {
			return v
		}
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// contextOf returns the context in which an expression was evaluated, for the values that a diagnostic shows.
func (s *scope) contextOf(expr hcl.Expression) *hcl.EvalContext {
	p := s.prepared[expr]
	if p == nil || p.ctx == nil {
		return nil
	}
	ctx := p.ctx.NewChild()
	ctx.Variables = s.locals
	return ctx
}

// convert converts a raw value as the schema requires, and checks it.
func (s *scope) convert(expr hcl.Expression, a steps.Attr, v cty.Value) (cty.Value, *hcl.Diagnostic) {
	at := expr.Range()
	if part, marked := markedPart(v); marked && !a.Sensitive {
		return v, secretHere(keyRangeOf(expr, part), a.Name, part)
	} else if !a.Sensitive && v.ContainsMarked() {
		return v, secretHere(at, a.Name, "")
	}
	if v.IsNull() {
		return cty.NullVal(a.Type), nil
	}
	out, d := convertType(at, a, v)
	if d != nil {
		return v, d
	}
	if !s.eval.knownEnough(out) {
		return out, s.checkLate(expr, a)
	}
	if d := checkNumbers(at, a.Name, out); d != nil {
		return out, d
	}
	if d := checkBlank(expr, a, out); d != nil {
		return out, d
	}
	return out, checkEnum(expr, a, out)
}

// checkBlank refuses an empty text, and a list that begins with one, unless the schema allows it. A secret may
// be empty, as it is in pull requests of forks.
func checkBlank(expr hcl.Expression, a steps.Attr, v cty.Value) *hcl.Diagnostic {
	if a.Blank || a.Sensitive || len(a.Enum) > 0 {
		return nil
	}
	at := expr.Range()
	if isList(v) && v.LengthInt() > 0 {
		first := cty.NumberIntVal(0)
		v = v.Index(first)
		at = elementRange(expr, first)
	}
	if v.IsMarked() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String || strings.TrimSpace(v.AsString()) != "" {
		return nil
	}
	return problem(codeValue, at, fmt.Sprintf("%s is empty", a.Name),
		"Write a value, or null to leave it out. If it comes from a variable, that has no value here.")
}

// checkEnum reports a string that is not one of the allowed values, in a list or alone.
func checkEnum(expr hcl.Expression, a steps.Attr, v cty.Value) *hcl.Diagnostic {
	if len(a.Enum) == 0 || v.ContainsMarked() {
		return nil
	}
	if !isList(v) {
		return checkName(expr.Range(), a, v)
	}
	for it := v.ElementIterator(); it.Next(); {
		i, elem := it.Element()
		if d := checkName(elementRange(expr, i), a, elem); d != nil {
			return d
		}
	}
	return nil
}

func checkName(at hcl.Range, a steps.Attr, v cty.Value) *hcl.Diagnostic {
	if v.IsNull() || a.Enum.Has(v.AsString()) {
		return nil
	}
	detail := fmt.Sprintf("It is %q.", v.AsString())
	if near := enum.Nearest(v.AsString(), a.Enum.Names()); near != "" {
		detail += fmt.Sprintf(" Did you mean %s?", near)
	}
	return problem(codeValue, at, fmt.Sprintf("%s must be one of %s", a.Name, a.Enum), detail)
}

// checkLate reports an argument that must not be unknown now. It allows a late argument that waits only for
// outputs of steps.
func (s *scope) checkLate(expr hcl.Expression, a steps.Attr) *hcl.Diagnostic {
	sources := s.eval.lateSources(expr)
	started := func(l lateSource) bool { return !l.step }
	if a.Late && len(sources) > 0 && !slices.ContainsFunc(sources, started) {
		return nil
	}
	return s.eval.notYet(expr, a.Name, "")
}

// axes are the arguments of load that other tools read lists for.
var axes = []string{"rate", "max_concurrency", "burstiness", "requests"}

// convertType converts a value to the type of an argument, through its unit if it has one.
func convertType(at hcl.Range, a steps.Attr, v cty.Value) (cty.Value, *hcl.Diagnostic) {
	if a.Unit != "" {
		return convertUnit(at, a, v)
	}
	err := meter.CheckConversion(v, a.Type)
	out := v
	if err == nil {
		out, err = convert.Convert(v, a.Type)
	}
	if err != nil && a.Type == cty.Number && v.CanIterateElements() && slices.Contains(axes, a.Name) {
		return v, problem(codeType, at, fmt.Sprintf("%s must be %s", a.Name, typeName(a.Type)), fmt.Sprintf(
			"To measure several, make them an axis of the benchmark: write matrix { %[1]s = [1, 2] }, and here %[1]s = matrix.%[1]s.", a.Name))
	}
	if err != nil && a.Type.Equals(cty.Map(cty.String)) {
		return v, problem(codeType, at, a.Name+" must be a map of strings", fmt.Sprintf(`Write %s = { NAME = "value" }.`, a.Name))
	}
	if err != nil {
		return v, problem(codeType, at, fmt.Sprintf("%s must be %s", a.Name, typeName(a.Type)),
			fmt.Sprintf("The value is %s: %s.", typeName(v.Type()), err))
	}
	return out, nil
}

// typeName returns a type with its article, for a sentence.
func typeName(t cty.Type) string {
	switch {
	case t == cty.DynamicPseudoType:
		return "a value"
	case strings.HasPrefix(t.FriendlyName(), "a") || strings.HasPrefix(t.FriendlyName(), "o"):
		return "an " + t.FriendlyName()
	}
	return "a " + t.FriendlyName()
}

// units defines how texts are parsed as quantities.
var units = map[steps.Unit]struct {
	name, example string
	parse         func(string) (cty.Value, error)
}{
	steps.UnitDuration: {"duration", `"800ms" or "10m"`, func(text string) (cty.Value, error) {
		d, err := function.Duration(text)
		return cty.NumberIntVal(int64(d)), err
	}},
	steps.UnitBytes: {"size", `"5GiB"`, func(text string) (cty.Value, error) {
		n, err := function.Bytes(text)
		return cty.NumberIntVal(n), err
	}},
	steps.UnitPercent: {"percentage", `"5%"`, percentage},
	steps.UnitMargin: {"percentage", `"5%"`, func(text string) (cty.Value, error) {
		if d, err := function.Duration(text); err == nil {
			return cty.NumberFloatVal(d.Seconds()), nil
		}
		if x, _, ok := absolute(text); ok {
			return cty.NumberFloatVal(x), nil
		}
		return percentage(text)
	}},
}

func percentage(text string) (cty.Value, error) {
	f, err := function.Percent(text)
	return cty.NumberFloatVal(f), err
}

// convertUnit converts a quantity to a number: nanoseconds, bytes or a fraction.
func convertUnit(at hcl.Range, a steps.Attr, v cty.Value) (cty.Value, *hcl.Diagnostic) {
	bare, marks := v.Unmark()
	unit := units[a.Unit]
	switch {
	case bare.Type() == cty.Number && a.Unit != steps.UnitDuration:
		return v, nil
	case !bare.IsKnown() && (bare.Type() == cty.String || bare.Type() == cty.DynamicPseudoType):
		return cty.UnknownVal(cty.Number).WithMarks(marks), nil
	case bare.Type() != cty.String:
		return v, problem(codeUnit, at, fmt.Sprintf("%s must be a quantity with its unit", a.Name),
			fmt.Sprintf("Write a string such as %s.", unit.example))
	}
	n, err := unit.parse(bare.AsString())
	if err != nil {
		return v, problem(codeUnit, at, fmt.Sprintf("%s is not a %s", a.Name, unit.name), diag.Sentence(err))
	}
	return n.WithMarks(marks), nil
}

// checkNumbers refuses numbers beyond float64. Later stages compute in float64 and write JSON, which has no
// infinity.
func checkNumbers(at hcl.Range, name string, v cty.Value) *hcl.Diagnostic {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case v.Type() == cty.Number:
		if f, _ := v.AsBigFloat().Float64(); f-f != 0 {
			advice := "Numbers go up to about 1.8e308."
			if slices.Contains(axes, name) {
				advice += " " + here("inf", inRoot)
			}
			return problem(codeValue, at, fmt.Sprintf("%s holds a number that is too large", name), advice)
		}
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			if d := checkNumbers(at, name, elem); d != nil {
				return d
			}
		}
	}
	return nil
}
