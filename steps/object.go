package steps

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Value returns the argument called name without marks, and cty.NilVal if the block has
// no such argument. It can be null or unknown.
func (o Object) Value(name string) cty.Value {
	v, ok := o.Attrs[name]
	if !ok || v == cty.NilVal {
		return cty.NilVal
	}
	v, _ = v.UnmarkDeep()
	return v
}

// Has reports whether the argument is set: present and not null. An unknown value is set.
func (o Object) Has(name string) bool {
	v := o.Value(name)
	return v != cty.NilVal && !v.IsNull()
}

// Known reports whether the argument is set and known down to its last element.
func (o Object) Known(name string) bool {
	return o.Has(name) && o.Value(name).IsWhollyKnown()
}

// Text returns a string, number or bool as text, "" if it is not set or not known.
func (o Object) Text(name string) string {
	if !o.Known(name) {
		return ""
	}
	s, err := scalarText(o.Value(name))
	if err != nil {
		return ""
	}
	return s
}

// Texts returns a list, set or tuple of scalars; a lone scalar counts as a list of one.
func (o Object) Texts(name string) ([]string, error) {
	if !o.Known(name) {
		return nil, nil
	}
	v := o.Value(name)
	if !v.CanIterateElements() || v.Type().IsMapType() || v.Type().IsObjectType() {
		s, err := scalarText(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return []string{s}, nil
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		s, err := scalarText(e)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", name, len(out), err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Env returns a map of scalars as environment variables sorted by name. A value is
// secret when it, or the whole map, carries a mark. Null values are left out.
func (o Object) Env(name string) ([]EnvVar, error) {
	if !o.Has(name) {
		return nil, nil
	}
	v, all := o.Attrs[name].Unmark()
	if !v.IsKnown() || !v.CanIterateElements() {
		return nil, fmt.Errorf("%s: not a known map", name)
	}
	var env []EnvVar
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		k, keyMarks := k.Unmark()
		e, marks := e.UnmarkDeep()
		if e.IsNull() {
			continue
		}
		s, err := scalarText(e)
		if err != nil {
			return nil, fmt.Errorf("%s[%q]: %w", name, k.AsString(), err)
		}
		secret := len(all)+len(keyMarks)+len(marks) > 0
		env = append(env, EnvVar{Name: k.AsString(), Value: s, Secret: secret})
	}
	slices.SortFunc(env, func(a, b EnvVar) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return env, nil
}

// Int returns a whole number, 0 if it is not set, not known or not a number.
func (o Object) Int(name string) int {
	f, ok := o.number(name)
	if !ok {
		return 0
	}
	i, _ := f.Int64()
	return int(i)
}

// Float returns a number, 0 if it is not set, not known or not a number.
func (o Object) Float(name string) float64 {
	f, ok := o.number(name)
	if !ok {
		return 0
	}
	x, _ := f.Float64()
	return x
}

// Duration returns an argument of [UnitDuration], 0 if it is not set or not known.
func (o Object) Duration(name string) time.Duration {
	f, ok := o.number(name)
	if !ok {
		return 0
	}
	i, _ := f.Int64()
	return time.Duration(i)
}

// JSON returns any known value as compact JSON.
func (o Object) JSON(name string) ([]byte, error) {
	if !o.Known(name) {
		return nil, fmt.Errorf("%s: not set or not known", name)
	}
	v := o.Value(name)
	data, err := json.Marshal(ctyjson.SimpleJSONValue{Value: v})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

func (o Object) number(name string) (*big.Float, bool) {
	if !o.Known(name) || o.Value(name).Type() != cty.Number {
		return nil, false
	}
	return o.Value(name).AsBigFloat(), true
}

// scalarText writes a scalar as the language would convert it to a string.
func scalarText(v cty.Value) (string, error) {
	switch {
	case v.IsNull():
		return "", fmt.Errorf("is null; leave it out instead")
	case !v.IsKnown():
		return "", fmt.Errorf("is not known yet")
	case v.Type() == cty.String:
		return v.AsString(), nil
	case v.Type() == cty.Bool:
		if v.True() {
			return "true", nil
		}
		return "false", nil
	case v.Type() == cty.Number:
		return NumberText(v.AsBigFloat()), nil
	}
	return "", fmt.Errorf("is %s; it must be a string, a number or a bool", v.Type().FriendlyName())
}
