package function

import (
	"fmt"
	"path"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// templateFunc renders a file below baseDir. The template pays to the meter of the call.
func templateFunc(baseDir string, m *meter.Meter) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "path", Type: cty.String},
			{Name: "vars", Type: cty.DynamicPseudoType},
		},
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			vars := args[1]
			if !vars.Type().IsMapType() && !vars.Type().IsObjectType() {
				return cty.NilVal, function.NewArgErrorf(1, "a map of names is needed, not %s", vars.Type().FriendlyName())
			}
			return render(baseDir, args[0].AsString(), vars.AsValueMap(), m)
		},
	})
}

// render evaluates a template. It can read no further file, so that templates form no
// cycle.
func render(baseDir, name string, vars map[string]cty.Value, m *meter.Meter) (cty.Value, error) {
	src, err := readBelow(baseDir, name)
	if err != nil {
		return cty.NilVal, function.NewArgError(0, err)
	}
	expr, diags := syntax.Template([]byte(src), path.Base(name))
	if diags.HasErrors() {
		return cty.NilVal, function.NewArgError(0, told(diags))
	}
	functions := map[string]function.Function{}
	for _, e := range entries(baseDir, nil) {
		if e.name != "file" && e.name != "templatefile" {
			functions[e.name] = e.function(m)
		}
	}
	inner := m
	if inner == nil {
		inner = meter.New(meter.Default())
	}
	v, diags := inner.Expression(expr).Value(&hcl.EvalContext{Variables: vars, Functions: functions})
	if diags.HasErrors() {
		return cty.NilVal, function.NewArgError(0, told(diags))
	}
	if !v.IsKnown() || v.IsNull() {
		return cty.UnknownVal(cty.String), nil
	}
	return convert.Convert(v, cty.String)
}

// told is the first problem of a template, with its place in it.
func told(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return fmt.Errorf("%s:%d: %s; %s", d.Subject.Filename, d.Subject.Start.Line, d.Summary, d.Detail)
		}
	}
	return diags
}
