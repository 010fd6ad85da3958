// Package members lists the members of documents in JSON by the types that they are written from.
package members

import (
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
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
func Of(t reflect.Type) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for field := range t.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" && field.Anonymous {
				for m := range Of(field.Type) {
					if m.Index = append(slices.Clone(field.Index), m.Index...); !yield(m) {
						return
					}
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
			if !yield(m) {
				return
			}
		}
	}
}

func bound(text string, unset float64) float64 {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	return unset
}
