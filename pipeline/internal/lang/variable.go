package lang

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// envPrefix is the prefix of the environment variables that set variables.
const envPrefix = "PIPELINE_VAR_"

// declaration is a decoded variable block.
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

// given is a value for a variable from outside the file.
type given struct {
	text string // raw text, to be parsed by the declared type
	// value is set instead of text if the value comes from a file. at is its range, if the file is HCL.
	value  cty.Value
	at     *hcl.Range
	origin string
}

// resolveVariables determines the value of every variable: the last one from the environment, --var-file and
// --var, else the default.
func (e *evaluator) resolveVariables(opt Options) []config.Variable {
	declared := e.declarations()
	values := e.collectGiven(opt, declared)
	var out []config.Variable
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
		out = append(out, config.Variable{Name: d.name, Value: v, Origin: origin, Sensitive: d.sensitive})
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

// misfit explains an error of accept. It leaves out the value of a sensitive variable.
func (d declaration) misfit(err error) string {
	want := typeexpr.TypeString(d.typ.WithoutOptionalAttributesDeep())
	if d.sensitive {
		return fmt.Sprintf("It must be of type %s. The value is not shown, because the variable is sensitive.", want)
	}
	return fmt.Sprintf("It must be of type %s: %s.", want, err)
}

// resolve determines the value of one variable.
func (e *evaluator) resolve(d declaration, values []given) (v cty.Value, origin string, ok bool) {
	if d.hasErrors {
		return cty.DynamicVal, "", false
	}
	if len(values) == 0 {
		if d.def == cty.NilVal {
			e.report(problem(codeVariableMissing, d.block.header, fmt.Sprintf("var.%s has no value", d.name),
				fmt.Sprintf(
					"It has no default, so it must be set: with --var %s=VALUE, in a file of --var-file FILE, or in the environment variable %s%s.%s",
					d.name, envPrefix, d.name, d.about())))
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
		e.report(problem(codeVariableValue, *at, fmt.Sprintf("value of var.%s from %s does not fit its type", d.name, last.origin),
			d.misfit(err)))
		return cty.DynamicVal, "", false
	}
	return v, last.origin, true
}

// about returns the description, for the end of a message.
func (d declaration) about() string {
	if d.description == "" {
		return ""
	}
	return " It is described as: " + d.description
}

// parse converts a given value to the variable's type.
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

// likeDefault converts a text given to a variable without a type. It returns a value of the default's kind if the text can
// be converted, else the text. A file thus reads a given value as it reads its own.
func (d declaration) likeDefault(text string) cty.Value {
	v := cty.StringVal(text)
	if d.def == cty.NilVal || d.def.IsNull() {
		return v
	}
	switch want := d.def.Type(); {
	case want == cty.Number, want == cty.Bool:
		if like, err := convert.Convert(v, want); err == nil {
			return like
		}
	case want.IsTupleType(), want.IsObjectType():
		like, err := parseValue(text)
		if err == nil && (want.IsTupleType() && like.Type().IsTupleType() || want.IsObjectType() && like.Type().IsObjectType()) {
			return like
		}
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

// refused returns the problem of a value that a validation does not allow.
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

// collectGiven gathers the values from outside by name, in ascending precedence: the environment, then files,
// then arguments. An unknown name is an error in files and arguments. It is ignored in the environment, which
// other pipelines share.
func (e *evaluator) collectGiven(opt Options, declared []declaration) map[string][]given {
	out := map[string][]given{}
	var names []string
	for _, d := range declared {
		names = append(names, d.name)
	}
	if opt.Env != nil {
		for _, entry := range opt.Env() {
			name, text, ok := strings.Cut(strings.TrimPrefix(entry, envPrefix), "=")
			if ok && strings.HasPrefix(entry, envPrefix) {
				out[name] = append(out[name], given{text: text, origin: envPrefix + name})
			}
		}
	}
	for _, path := range opt.VarFiles {
		for _, a := range e.readVarFile(path) {
			e.checkGivenName(a.name, names, a.given)
			out[a.name] = append(out[a.name], a.given)
		}
	}
	for _, v := range opt.Vars {
		g := given{text: v.Text, origin: v.Origin}
		e.checkGivenName(v.Name, names, g)
		out[v.Name] = append(out[v.Name], g)
	}
	return out
}

// checkGivenName reports a value for a variable that does not exist.
func (e *evaluator) checkGivenName(name string, names []string, g given) {
	if slices.Contains(names, name) {
		return
	}
	d := &hcl.Diagnostic{
		Severity: hcl.DiagError, Extra: codeVariableUnknown, Subject: g.at,
		Summary: fmt.Sprintf("%s sets var.%s, which no file declares", g.origin, name),
		Detail:  didYouMean(name, names, "variables"),
	}
	e.report(d)
}

// assignment is one line of a file of variables.
type assignment struct {
	name string
	given
}

// readVarFile reads a file of variables: HCL arguments, or one JSON object.
func (e *evaluator) readVarFile(path string) []assignment {
	if strings.HasSuffix(path, ".json") {
		return e.readJSONVars(path)
	}
	origin := "--var-file " + path
	src, diags := syntax.Load([]string{path}, strings.NewReader(""))
	e.report(diags...)
	var out []assignment
	for _, f := range src.Files {
		body, ok := f.HCL.Body.(*hclsyntax.Body)
		if !ok || diags.HasErrors() {
			continue
		}
		for _, b := range body.Blocks {
			e.report(problem(codeBlock, headerOf(b), fmt.Sprintf("%s holds a block", origin),
				"A file of variables holds lines name = value only. Is it a pipeline file?"))
		}
		for _, a := range (&block{attrs: body.Attributes}).sorted() {
			v, valueDiags := e.meter.Value(e.meter.Expression(a.Expr), nil)
			if valueDiags.HasErrors() {
				e.report(problem(codeVariableValue, a.Expr.Range(), fmt.Sprintf("value of %s is not a constant", a.Name),
					"A file of variables holds literal values: no references and no functions."))
				continue
			}
			at := a.Expr.Range()
			out = append(out, assignment{a.Name, given{value: v, at: &at, origin: origin}})
		}
	}
	return out
}

// readJSONVars reads a JSON object of variables, in the order of their names.
func (e *evaluator) readJSONVars(path string) []assignment {
	origin := "--var-file " + path
	fields, err := readJSONObject(path)
	if err != nil {
		e.report(&hcl.Diagnostic{Severity: hcl.DiagError, Extra: codeVariableValue, Summary: origin + " cannot be read",
			Detail: diag.Sentence(err)})
		return nil
	}
	var out []assignment
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var v ctyjson.SimpleJSONValue
		if err := v.UnmarshalJSON(fields[name]); err != nil {
			e.report(&hcl.Diagnostic{Severity: hcl.DiagError, Extra: codeVariableValue, Summary: fmt.Sprintf("value of %s in %s cannot be read",
				name, origin), Detail: "It is not a JSON value that the language has."})
			continue
		}
		out = append(out, assignment{name, given{value: v.Value, origin: origin}})
	}
	return out
}

func readJSONObject(path string) (map[string]json.RawMessage, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, syntax.MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > syntax.MaxFileSize {
		return nil, fmt.Errorf("%s has more than %d bytes", path, syntax.MaxFileSize)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("%s is not a JSON object of names and values: %w", path, err)
	}
	return fields, nil
}

// parseValue parses a value from a command line or the environment. It is written as in a file: HCL, which
// includes JSON. References and functions are not allowed.
func parseValue(text string) (cty.Value, error) {
	errNotValue := errors.New(`it is not a value; write it as in a file, for example 5, true, ["a", "b"] or {"a": 1}`)
	src, diags := syntax.Load([]string{"-"}, strings.NewReader("value = "+text+"\n"))
	if diags.HasErrors() || len(src.Files) != 1 {
		return cty.NilVal, errNotValue
	}
	body, ok := src.Files[0].HCL.Body.(*hclsyntax.Body)
	if !ok || len(body.Blocks) > 0 || len(body.Attributes) != 1 || body.Attributes["value"] == nil {
		return cty.NilVal, errNotValue
	}
	m := meter.New(meter.Default())
	v, diags := m.Value(m.Expression(body.Attributes["value"].Expr), nil)
	if diags.HasErrors() {
		return cty.NilVal, errNotValue
	}
	return v, nil
}
