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
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// collectGiven gathers the values from outside by name, in the order of their
// precedence: the environment, then files, then arguments. A name that no variable has
// is an error where somebody wrote it for this pipeline, and nothing in the environment,
// which other pipelines share.
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
			e.report(problem(codeBlock, headerOf(b), fmt.Sprintf("%s holds a block", origin), "A file of variables holds lines name = value only. Is it a pipeline file?"))
		}
		for _, a := range (&block{attrs: body.Attributes}).sorted() {
			v, valueDiags := e.meter.Value(e.meter.Expression(a.Expr), nil)
			if valueDiags.HasErrors() {
				e.report(problem(codeVariableValue, a.Expr.Range(), fmt.Sprintf("value of %s is not a constant", a.Name), "A file of variables holds literal values: no references and no functions."))
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
		e.report(&hcl.Diagnostic{Severity: hcl.DiagError, Extra: codeVariableValue, Summary: origin + " cannot be read", Detail: diag.Sentence(err)})
		return nil
	}
	var out []assignment
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var v ctyjson.SimpleJSONValue
		if err := v.UnmarshalJSON(fields[name]); err != nil {
			e.report(&hcl.Diagnostic{Severity: hcl.DiagError, Extra: codeVariableValue, Summary: fmt.Sprintf("value of %s in %s cannot be read", name, origin), Detail: "It is not a JSON value that the language has."})
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

// parseValue parses a value as it is written in a file, from a command line or the
// environment: HCL, which takes JSON too. References and functions are not allowed.
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
