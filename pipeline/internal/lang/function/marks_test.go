package function_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	ctyfunction "github.com/zclconf/go-cty/cty/function"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/pipeline/internal/lang/function"
)

const mark = "sensitive"

// argument draws a value that suits some function, with secret in places, marked.
func argument(t *rapid.T, secret string) cty.Value {
	marked := cty.StringVal(secret).Mark(mark)
	scalars := []cty.Value{
		marked,
		cty.StringVal("a"), cty.StringVal("5GiB"), cty.StringVal("%s"), cty.StringVal(""),
		cty.NumberIntVal(0), cty.NumberIntVal(2), cty.NumberFloatVal(1.5), cty.NumberIntVal(1).Mark(mark),
		cty.True, cty.False.Mark(mark),
		cty.NullVal(cty.String), cty.NullVal(cty.DynamicPseudoType), cty.NullVal(cty.String).Mark(mark),
		cty.UnknownVal(cty.String), cty.UnknownVal(cty.String).Mark(mark), cty.DynamicVal, cty.DynamicVal.Mark(mark),
	}
	scalar := rapid.SampledFrom(scalars)
	if rapid.Bool().Draw(t, "scalar") {
		return scalar.Draw(t, "value")
	}
	collections := []cty.Value{
		cty.ListVal([]cty.Value{cty.StringVal("a"), marked}),
		cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal(secret)}).Mark(mark),
		cty.ListVal([]cty.Value{cty.True, cty.False.Mark(mark)}),
		cty.ListVal([]cty.Value{cty.Zero, cty.NumberIntVal(4).Mark(mark)}),
		cty.ListVal([]cty.Value{cty.UnknownVal(cty.String), marked}),
		cty.ListValEmpty(cty.String), cty.ListValEmpty(cty.String).Mark(mark),
		cty.SetVal([]cty.Value{cty.StringVal("a"), marked}),
		cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b"), "k": marked}),
		cty.MapVal(map[string]cty.Value{"a": cty.StringVal(secret)}).Mark(mark),
		cty.ObjectVal(map[string]cty.Value{"a": cty.Zero, "k": marked}),
		cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal(secret)}).Mark(mark),
		cty.TupleVal([]cty.Value{cty.Zero, marked}),
		cty.TupleVal([]cty.Value{cty.TupleVal([]cty.Value{marked}), cty.ListVal([]cty.Value{marked})}),
		cty.EmptyTupleVal, cty.EmptyObjectVal.Mark(mark),
		cty.UnknownVal(cty.List(cty.String)).Mark(mark),
		cty.NullVal(cty.Map(cty.String)).Mark(mark),
	}
	return rapid.SampledFrom(collections).Draw(t, "value")
}

// No function panics on marked arguments, lets a secret out unmarked, or quotes one in
// the text of an error.
func TestMarkedArguments(t *testing.T) {
	const secret = "hunter2-XYZZY"
	dir := t.TempDir()
	for name, f := range function.Table(dir, nil, func(string, string) {}) {
		if lazy(f.Params(), f.VarParam()) {
			continue
		}
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			n := len(f.Params())
			if f.VarParam() != nil {
				n += rapid.IntRange(0, 2).Draw(t, "variadic")
			}
			args := make([]cty.Value, n)
			for i := range args {
				args[i] = argument(t, secret)
			}
			v, err := f.Call(args)
			if err != nil {
				text := strings.ToLower(err.Error())
				if strings.Contains(text, "hunter2") || strings.Contains(text, "panic") {
					t.Fatalf("%s: %s", name, err)
				}
				return
			}
			if leaks(v, secret) {
				t.Fatalf("%s(%#v) lets the secret out: %#v", name, args, v)
			}
		}))
	}
}

// A result of which the whole depends on a marked argument is marked as a whole.
func TestMarksAreKept(t *testing.T) {
	secret := cty.StringVal("1").Mark(mark)
	list := cty.ListVal([]cty.Value{secret})
	tests := map[string][]cty.Value{
		"upper": {secret}, "sha256": {secret}, "base64encode": {secret}, "urlencode": {secret},
		"format": {cty.StringVal("%s"), secret}, "join": {cty.StringVal(","), list}, "sort": {list},
		"startswith": {secret, cty.StringVal("1")}, "replace": {secret, cty.StringVal("a"), cty.StringVal("b")},
		"tonumber": {secret}, "parseint": {secret, cty.NumberIntVal(10)}, "jsonencode": {list}, "jsondecode": {secret},
		"length": {secret}, "contains": {list, cty.StringVal("1")}, "index": {list, cty.StringVal("1")},
		"coalesce": {cty.StringVal("a"), secret}, "one": {list}, "sum": {cty.ListVal([]cty.Value{cty.Zero.Mark(mark)})},
		"alltrue": {cty.ListVal([]cty.Value{cty.True.Mark(mark)})}, "basename": {secret},
		"lookup": {cty.MapVal(map[string]cty.Value{"1": cty.Zero}), secret, cty.Zero},
	}
	table := function.Table(t.TempDir(), nil, func(string, string) {})
	for name, args := range tests {
		v, err := table[name].Call(args)
		if err != nil {
			t.Errorf("%s: %s", name, err)
			continue
		}
		if !v.HasMark(mark) {
			t.Errorf("%s lost the mark: %#v", name, v)
		}
	}
	for _, name := range []string{"duration", "bytes", "percent", "file"} {
		_, err := table[name].Call([]cty.Value{cty.StringVal("hunter2").Mark(mark)})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// leaks reports whether secret can be read from an unmarked part of v.
func leaks(v cty.Value, secret string) bool {
	found := false
	needle := strings.ToLower(secret)
	// Walk enters marked values too, so the search stops at them.
	err := cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.IsMarked() {
			return false, nil
		}
		if !v.IsKnown() || v.IsNull() {
			return true, nil
		}
		if v.Type() == cty.String && strings.Contains(strings.ToLower(v.AsString()), needle) {
			found = true
		}
		if v.Type().IsObjectType() {
			for name := range v.Type().AttributeTypes() {
				found = found || strings.Contains(strings.ToLower(name), needle)
			}
		}
		return true, nil
	})
	return found || err != nil
}

func lazy(params []ctyfunction.Parameter, variadic *ctyfunction.Parameter) bool {
	for _, p := range params {
		if p.Type == customdecode.ExpressionClosureType {
			return true
		}
	}
	return variadic != nil && variadic.Type == customdecode.ExpressionClosureType
}
