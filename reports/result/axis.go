package result

import (
	"fmt"
	"strings"
)

// String returns "rate=4".
func (v AxisValue) String() string { return v.Name + "=" + v.Value }

// Coordinates returns the values of some axes on one line, joined by a separator.
func Coordinates(values []AxisValue, sep string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = v.String()
	}
	return strings.Join(parts, sep)
}

// SplitAxis returns the value on one axis, "" if there is none, and the other coordinates in order.
// Cells with the same other coordinates are the sides of a comparison along that axis.
func SplitAxis(values []AxisValue, axis string) (value string, rest []AxisValue) {
	rest = make([]AxisValue, 0, len(values)) // not nil: documents contain a list
	for _, v := range values {
		if v.Name == axis {
			value = v.Value
			continue
		}
		rest = append(rest, v)
	}
	return value, rest
}

// CoordinatesKey returns a map key. Different coordinates have different keys, whatever characters
// names and values contain.
func CoordinatesKey(values []AxisValue) string {
	var key strings.Builder
	for _, v := range values {
		fmt.Fprintf(&key, "%q=%q ", v.Name, v.Value)
	}
	return key.String()
}
