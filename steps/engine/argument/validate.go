package argument

import (
	"fmt"
	"iter"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// CheckModel finds a server that would be started without a model.
func CheckModel(o steps.Object, engine string) []steps.Problem {
	if o.Has("model") && (!o.Known("model") || o.Text("model") != "") || o.Has("url") {
		return nil
	}
	return []steps.Problem{{
		Summary: "model is missing",
		Detail:  fmt.Sprintf("%s serves one model: set model to its name or folder, or url to a server that already runs.", engine),
	}}
}

// Args returns the arguments of a server block by name, in order. It returns none while they are
// unknown, or if they are not a map, which [steps.CheckServer] reports. Values may be unknown.
func Args(o steps.Object) iter.Seq2[string, cty.Value] {
	return func(yield func(string, cty.Value) bool) {
		if !o.Has("args") {
			return
		}
		v := o.Value("args")
		if !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
			return
		}
		for name, value := range v.Elements() {
			if !yield(name.AsString(), value) {
				return
			}
		}
	}
}

// CheckArgs finds arguments with invalid names, and those that must be set in another way. Values
// may be unknown.
func CheckArgs(o steps.Object, style FlagStyle) []steps.Problem {
	var found []steps.Problem
	for name := range Args(o) {
		if err := CheckArg(name, style); err != nil {
			found = append(found, steps.Problem{Path: []string{"args", name}, Summary: err.Error()})
		}
	}
	return found
}
