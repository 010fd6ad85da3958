package function

import (
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// entry is one function of the language. doc and args describe it and its parameters for `schema
// --functions`; a variadic parameter comes last.
type entry struct {
	name string
	f    function.Function
	doc  string
	args []string
	// check rejects arguments whose result would be too large, and returns the steps of the call
	// besides reading them. Arguments may be unknown, null or marked.
	check checker
	// lazy functions take expressions instead of values, and cannot be wrapped.
	lazy bool
}

func (e entry) function(m *meter.Meter) function.Function {
	f := e.f.WithNewDescriptions(e.doc, e.args)
	if e.lazy {
		return f
	}
	return guard(f, e.check, m)
}

// Table returns the functions by name. file only reads below baseDir, and calls read with the name and the text of each
// file. Calls pay to m.
func Table(baseDir string, m *meter.Meter, read func(name, text string)) map[string]function.Function {
	table := make(map[string]function.Function)
	for _, e := range entries(baseDir, m, read) {
		table[e.name] = e.function(m)
	}
	return table
}

func entries(baseDir string, m *meter.Meter, read func(name, text string)) []entry {
	var all []entry
	for _, group := range [][]entry{
		logicEntries(), conversionEntries(), collectionEntries(), stringEntries(),
		numberEntries(), encodingEntries(), unitEntries(), fileEntries(baseDir, m, read),
	} {
		all = append(all, group...)
	}
	return all
}

func logicEntries() []entry {
	return []entry{
		{name: "alltrue", f: allTrue, doc: "True if every element is true; true for an empty list.",
			args: []string{"A list of bools."}},
		{name: "anytrue", f: anyTrue, doc: "True if at least one element is true; false for an empty list.",
			args: []string{"A list of bools."}},
		{name: "can", f: tryfunc.CanFunc, lazy: true, doc: "True if the expression can be evaluated without an error.",
			args: []string{"The expression to try."}},
		{name: "try", f: tryfunc.TryFunc, lazy: true, doc: "The first of the expressions that can be evaluated without an error.",
			args: []string{"The expressions, tried in order."}},
	}
}

func conversionEntries() []entry {
	to := func(name string, ty cty.Type, doc string) entry {
		return entry{name: name, f: stdlib.MakeToFunc(ty), check: checkConversion(ty), doc: doc, args: []string{"The value to convert."}}
	}
	return []entry{
		to("tobool", cty.Bool, "Converts to a bool: true, false, \"true\" or \"false\"."),
		to("tolist", cty.List(cty.DynamicPseudoType), "Converts to a list; the elements get one type."),
		to("tomap", cty.Map(cty.DynamicPseudoType), "Converts to a map; the elements get one type."),
		to("tonumber", cty.Number, "Converts to a number."),
		to("toset", cty.Set(cty.DynamicPseudoType), "Converts to a set: without duplicates and without order."),
		to("tostring", cty.String, "Converts a string, number or bool to a string."),
	}
}

func numberEntries() []entry {
	return []entry{
		{name: "abs", f: stdlib.AbsoluteFunc, doc: "The number without its sign.", args: []string{"A number."}},
		{name: "ceil", f: stdlib.CeilFunc, doc: "The least whole number that is not less.", args: []string{"A number."}},
		{name: "floor", f: stdlib.FloorFunc, doc: "The greatest whole number that is not greater.", args: []string{"A number."}},
		{name: "log", f: stdlib.LogFunc, doc: "The logarithm in a base.", args: []string{"A number.", "The base."}},
		{name: "max", f: stdlib.MaxFunc, doc: "The greatest of the numbers. Expand a list with max(list...).",
			args: []string{"Numbers, at least one."}},
		{name: "min", f: stdlib.MinFunc, doc: "The least of the numbers. Expand a list with min(list...).",
			args: []string{"Numbers, at least one."}},
		{name: "parseint", f: stdlib.ParseIntFunc, check: checkDigits, doc: "The whole number that a string holds in a base.",
			args: []string{"The digits.", "The base, 2 to 62."}},
		{name: "pow", f: stdlib.PowFunc, doc: "A number raised to a power.", args: []string{"The number.", "The power."}},
		{name: "signum", f: stdlib.SignumFunc, doc: "-1, 0 or 1: the sign of a number.", args: []string{"A number."}},
		{name: "sum", f: sum, doc: "The sum of a list of numbers, which must not be empty.", args: []string{"A list of numbers."}},
	}
}

func unitEntries() []entry {
	return []entry{
		{name: "bytes", f: bytesFunc, doc: "The number of bytes of a size: bytes(\"5GiB\") is 5368709120. Units: B, kB, MB, GB, TB (powers of " +
			"1,000), KiB, MiB, GiB, TiB (powers of 1,024).",
			args: []string{"A size with its unit."}},
		{name: "duration", f: durationFunc, doc: "The seconds of a duration: duration(\"800ms\") is 0.8. Units: ns, us, ms, s, m, h, d.",
			args: []string{"A duration with its unit."}},
		{name: "percent", f: percentFunc, doc: "The number of a percentage: percent(\"5%\") is 0.05.",
			args: []string{"A percentage with its sign."}},
	}
}

// Doc describes one function for people and editors.
type Doc struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Returns     string  `json:"returns"` // a type's name, "any" if it depends on the arguments
	Params      []Param `json:"params"`
}

// Param describes one parameter.
type Param struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Variadic    bool   `json:"variadic,omitempty"` // any number of them, including none
}

// Signature returns the form of a call: "format(string format, any args...) string".
func (d Doc) Signature() string {
	params := make([]string, len(d.Params))
	for i, p := range d.Params {
		params[i] = p.Type + " " + p.Name
		if p.Variadic {
			params[i] += "..."
		}
	}
	return d.Name + "(" + strings.Join(params, ", ") + ") " + d.Returns
}

// Docs describes all functions, sorted by name.
func Docs() []Doc {
	all := entries(".", nil, nil)
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	docs := make([]Doc, 0, len(all))
	for _, e := range all {
		docs = append(docs, e.describe())
	}
	return docs
}

func (e entry) describe() Doc {
	f := e.f.WithNewDescriptions(e.doc, e.args)
	doc := Doc{Name: e.name, Description: f.Description(), Returns: e.returns()}
	params := f.Params()
	if p := f.VarParam(); p != nil {
		params = append(params, *p)
	}
	for i, p := range params {
		doc.Params = append(doc.Params, Param{Name: p.Name, Type: e.typeName(p.Type), Description: p.Description, Variadic: i == len(f.Params())})
	}
	return doc
}

// returns returns the type of the result if it is the same for all arguments.
func (e entry) returns() string {
	if e.name == "can" {
		return "bool"
	}
	if e.lazy {
		return "any"
	}
	var types []cty.Type
	for _, p := range e.f.Params() {
		types = append(types, p.Type)
	}
	if p := e.f.VarParam(); p != nil {
		types = append(types, p.Type)
	}
	ty, err := e.f.ReturnType(types)
	if err != nil {
		return "any"
	}
	return e.typeName(ty)
}

func (e entry) typeName(ty cty.Type) string {
	switch {
	case e.lazy:
		return "expression"
	case ty == cty.DynamicPseudoType:
		return "any"
	}
	return ty.FriendlyNameForConstraint()
}

// pure returns a function of known values whose result has one type and is never null.
func pure(returns cty.Type, impl func([]cty.Value) (cty.Value, error), params ...function.Parameter) function.Function {
	return function.New(&function.Spec{
		Params: params, Type: function.StaticReturnType(returns), RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return impl(args) },
	})
}

func param(name string, ty cty.Type) function.Parameter {
	return function.Parameter{Name: name, Type: ty}
}

func notNull(b *cty.RefinementBuilder) *cty.RefinementBuilder { return b.NotNull() }
