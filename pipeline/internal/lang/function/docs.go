package function

import (
	"sort"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Doc describes one function for people and editors.
type Doc struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Returns     string  `json:"returns"` // a type's name, "any" where it follows the arguments
	Params      []Param `json:"params"`
}

// Param describes one parameter.
type Param struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Variadic    bool   `json:"variadic,omitempty"` // any number of them, none included
}

// Signature is how a call is written: "format(string format, any args...) string".
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
	all := entries(".", nil)
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
	for _, p := range f.Params() {
		doc.Params = append(doc.Params, e.param(p, false))
	}
	if p := f.VarParam(); p != nil {
		doc.Params = append(doc.Params, e.param(*p, true))
	}
	return doc
}

func (e entry) param(p function.Parameter, variadic bool) Param {
	return Param{Name: p.Name, Type: e.typeName(p.Type), Description: p.Description, Variadic: variadic}
}

// returns is the type of the result where it is the same for all arguments.
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
