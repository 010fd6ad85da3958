package engine

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// CheckModel finds a server that is to be started without a model.
func CheckModel(o steps.Object, engine string) []steps.Problem {
	if o.Has("model") && (!o.Known("model") || o.Text("model") != "") || o.Has("url") {
		return nil
	}
	return []steps.Problem{{
		Summary: "model is missing",
		Detail:  fmt.Sprintf("%s serves one model: set model to its name or folder, or url to a server that already runs.", engine),
	}}
}

// CheckArgs finds arguments whose names no command line can have, and those that are set
// in another way. Values may be unknown.
func CheckArgs(o steps.Object, style FlagStyle) []steps.Problem {
	if !o.Has("args") {
		return nil
	}
	v := o.Value("args")
	if !v.IsKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil
	}
	var found []steps.Problem
	for it := v.ElementIterator(); it.Next(); {
		k, _ := it.Element()
		if err := CheckArg(k.AsString(), style); err != nil {
			found = append(found, steps.Problem{Path: []string{"args", k.AsString()}, Summary: err.Error()})
		}
	}
	return found
}
