package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
)

// envPrefix of the environment variables that set variables.
const envPrefix = "PIPELINE_VAR_"

// declaration is a variable block, decoded.
type declaration struct {
	name      string
	block     *block
	typ       cty.Type
	defaults  *typeexpr.Defaults
	def       cty.Value // NilVal without a default
	sensitive bool
	nullable  bool
	hasErrors bool

	description string
}

// given is a value from outside the file for a variable.
type given struct {
	text string // raw text, to be parsed by the declared type
	// value and at are set instead of text where the value comes from a file.
	value  cty.Value
	at     *hcl.Range
	origin string
}

// resolveVariables decides the value of every variable: the last of the environment,
// --var-file and --var, else the default.
func (e *evaluator) resolveVariables(opt Options) []Variable {
	declared := e.declarations()
	values := e.collectGiven(opt, declared)
	var out []Variable
	for _, d := range declared {
		v, origin, ok := e.resolve(d, values[d.name])
		if !ok || !e.keep(d.block.header, "var."+d.name+": ", v) {
			continue
		}
		if d.sensitive {
			secretTexts(v, true, e.secrets)
			e.warnOfShort(d, v)
			v = v.Mark(sensitive)
		} else {
			namedSecrets(d.name, v, e.secrets)
		}
		e.vars["var."+d.name] = v
		out = append(out, Variable{Name: d.name, Value: v, Origin: origin, Sensitive: d.sensitive, Range: d.block.header})
	}
	for _, d := range declared {
		e.validate(d)
	}
	return out
}

// declarations decodes the variable blocks.
func (e *evaluator) declarations() []declaration {
	var out []declaration
	for _, b := range e.prog.variables {
		d := declaration{name: b.label(), block: b, typ: cty.DynamicPseudoType, nullable: true, hasErrors: b.hasErrors}
		e.decodeVariable(&d)
		out = append(out, d)
	}
	return out
}

func (e *evaluator) decodeVariable(d *declaration) {
	constant := e.newScope()
	constant.only, constant.onlyWhy = "nothing", "A variable is decided before anything else: its block holds constants."
	if src := d.block.attrs["type"]; src != nil {
		t, defaults, diags := typeexpr.TypeConstraintWithDefaults(src.Expr)
		e.report(diag.WithCode(diags, codeType)...)
		d.typ, d.defaults, d.hasErrors = t, defaults, d.hasErrors || diags.HasErrors()
	}
	for _, a := range variableType().schema.Attrs {
		src := d.block.attrs[a.Name]
		if src == nil || a.Name == "type" || a.Name == "default" {
			continue
		}
		v, ok := constant.attribute(src, a)
		d.hasErrors = d.hasErrors || !ok
		if !ok || v.IsNull() {
			continue
		}
		switch a.Name {
		case "sensitive":
			d.sensitive = v.True()
		case "nullable":
			d.nullable = v.True()
		case "description":
			d.description = v.AsString()
		}
	}
	if src := d.block.attrs["default"]; src != nil && !d.hasErrors {
		v, ok := constant.value(src.Expr)
		if !ok {
			d.hasErrors = true
			return
		}
		if v, err := d.accept(v); err == nil {
			d.def = v
		} else {
			d.hasErrors = true
			e.report(problem(codeVariableValue, src.Expr.Range(), fmt.Sprintf("default of var.%s does not fit its type", d.name), d.misfit(err)))
		}
	}
}

// accept converts a value to the type of the variable.
func (d declaration) accept(v cty.Value) (cty.Value, error) {
	if v.IsNull() {
		switch {
		case d.nullable:
			return cty.NullVal(d.typ), nil
		case d.def != cty.NilVal:
			return d.def, nil
		}
		return v, fmt.Errorf("null is not allowed")
	}
	if err := meter.CheckConversion(v, d.typ); err != nil {
		return v, err
	}
	if d.defaults != nil {
		v = d.defaults.Apply(v)
	}
	return convert.Convert(v, d.typ)
}

// misfit explains an error of accept, without the value where that is a secret.
func (d declaration) misfit(err error) string {
	want := typeexpr.TypeString(d.typ.WithoutOptionalAttributesDeep())
	if d.sensitive {
		return fmt.Sprintf("It must be of type %s. The value is not shown, because the variable is sensitive.", want)
	}
	return fmt.Sprintf("It must be of type %s: %s.", want, err)
}

// resolve decides the value of one variable.
func (e *evaluator) resolve(d declaration, values []given) (v cty.Value, origin string, ok bool) {
	if d.hasErrors {
		return cty.DynamicVal, "", false
	}
	if len(values) == 0 {
		if d.def == cty.NilVal {
			e.report(problem(codeVariableMissing, d.block.header, fmt.Sprintf("var.%s has no value", d.name),
				fmt.Sprintf("It has no default, so it must be set: with --var %s=VALUE, in a file of --var-file FILE, or in the environment variable %s%s.%s", d.name, envPrefix, d.name, d.about())))
			return cty.DynamicVal, "", false
		}
		return d.def, "default", true
	}
	last := values[len(values)-1]
	v, err := d.parse(last)
	if err != nil {
		at := last.at
		if at == nil {
			at = &d.block.header
		}
		e.report(problem(codeVariableValue, *at, fmt.Sprintf("value of var.%s from %s does not fit its type", d.name, last.origin), d.misfit(err)))
		return cty.DynamicVal, "", false
	}
	return v, last.origin, true
}

// about is the description at the end of a message.
func (d declaration) about() string {
	if d.description == "" {
		return ""
	}
	return " It is described as: " + d.description
}

// parse turns a given value into one of the variable's type.
func (d declaration) parse(g given) (cty.Value, error) {
	if g.value != cty.NilVal {
		return d.accept(g.value)
	}
	if d.typ == cty.DynamicPseudoType {
		return d.accept(d.likeDefault(g.text))
	}
	if d.typ == cty.String {
		return d.accept(cty.StringVal(g.text))
	}
	v, err := parseValue(g.text)
	if err != nil {
		return v, err
	}
	return d.accept(v)
}

// likeDefault is a text given to a variable without a type: a number or a bool where the
// default is one and the text can be, so that a file reads a value that was given as it
// reads its own.
func (d declaration) likeDefault(text string) cty.Value {
	v := cty.StringVal(text)
	if d.def == cty.NilVal || d.def.IsNull() || d.def.Type() != cty.Number && d.def.Type() != cty.Bool {
		return v
	}
	if like, err := convert.Convert(v, d.def.Type()); err == nil {
		return like
	}
	return v
}

// validate checks the validation blocks of a variable.
func (e *evaluator) validate(d declaration) {
	own := "var." + d.name
	for _, b := range d.block.nested("validation") {
		s := e.newScope()
		s.only, s.onlyWhy = "var", "A validation is checked before anything else is evaluated: it may refer to variables only."
		cond, message := b.attrs["condition"], b.attrs["error_message"]
		if cond == nil || message == nil {
			e.report(problem(codeMissing, b.header, "validation is not complete", "It needs both condition and error_message."))
			continue
		}
		if _, ok := e.vars[own]; !ok {
			continue
		}
		v, ok := s.value(cond.Expr)
		if !ok {
			continue
		}
		v, _ = v.Unmark()
		if v, err := convert.Convert(v, cty.Bool); err != nil || v.IsNull() || !v.IsKnown() {
			e.report(problem(codeType, cond.Expr.Range(), "condition must be true or false", "It says which values are allowed."))
		} else if v.False() {
			e.report(e.refused(s, d, cond.Expr, message.Expr))
		}
	}
}

// refused is the problem of a value that a validation does not allow.
func (e *evaluator) refused(s *scope, d declaration, cond, message hcl.Expression) *hcl.Diagnostic {
	text := "The value is not allowed."
	if v, ok := s.value(message); ok {
		if v, err := convert.Convert(v, cty.String); err == nil && !v.IsMarked() && v.IsKnown() && !v.IsNull() {
			text = strings.TrimSpace(v.AsString())
		}
	}
	p := problem(codeValidation, d.block.header, fmt.Sprintf("var.%s is not allowed", d.name),
		fmt.Sprintf("%s (checked at %s)", text, place(cond.Range())))
	p.Expression, p.EvalContext = cond, s.contextOf(cond)
	return p
}
