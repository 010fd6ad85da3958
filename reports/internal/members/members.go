// Package members lists the members of documents in JSON by the types that they are written from.
package members

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Member is a field of a type as the JSON of its document has it.
type Member struct {
	Index []int
	Name  string
	Field reflect.StructField
	// Owner is the type that has the field: another one where it is embedded.
	Owner reflect.Type
	// Optional members are left out where they are zero.
	Optional  bool
	Bounded   bool
	Low, High float64
}

// Of returns the members of a type, in their order. The tag bounds holds the smallest and the
// largest value of a number, whole or not: "0,1", or "0," without an upper one. The members of an embedded
// type without a name of its own are among them.
func Of(t reflect.Type) []Member {
	if list, ok := known.Load(t); ok {
		return list.([]Member)
	}
	list := read(t)
	known.Store(t, list)
	return list
}

// known holds what read returns, as lists of Member by reflect.Type: a document asks for the members of each of its values.
var known sync.Map

// read reads the members of a type from its fields and their tags.
func read(t reflect.Type) (list []Member) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			for _, m := range Of(field.Type) {
				m.Index = append(slices.Clone(field.Index), m.Index...)
				list = append(list, m)
			}
		}
		if name == "" {
			continue
		}
		m := Member{Index: field.Index, Name: name, Field: field, Owner: t, Optional: options != "", Low: math.Inf(-1), High: math.Inf(1)}
		if bounds, ok := field.Tag.Lookup("bounds"); ok {
			low, high, _ := strings.Cut(bounds, ",")
			m.Bounded, m.Low, m.High = true, bound(low, m.Low), bound(high, m.High)
		}
		list = append(list, m)
	}
	return list
}

func bound(text string, unset float64) float64 {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	return unset
}
