package result

import (
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// fieldOf is a field of a type of the document as its JSON has it.
type fieldOf struct {
	index []int
	name  string
	goes  reflect.StructField
	// optional fields are left out where they are zero.
	optional  bool
	bounded   bool
	low, high float64
}

// fieldsOf are the fields of a type of the document, in their order. The tag bounds holds
// the smallest and the largest value of a number, whole or not: "0,1", or "0," without an upper one.
func fieldsOf(t reflect.Type) iter.Seq[fieldOf] {
	return func(yield func(fieldOf) bool) {
		for field := range t.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			f := fieldOf{index: field.Index, name: name, goes: field, optional: options != "", low: math.Inf(-1), high: math.Inf(1)}
			if bounds, ok := field.Tag.Lookup("bounds"); ok {
				low, high, _ := strings.Cut(bounds, ",")
				f.bounded, f.low, f.high = true, bound(low, f.low), bound(high, f.high)
			}
			if !yield(f) {
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
