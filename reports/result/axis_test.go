package result_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/reports/result"
	"pgregory.net/rapid"
)

func TestSplitAxis(t *testing.T) {
	side, rate, length := result.AxisValue{Name: "side", Value: "head"}, result.AxisValue{Name: "rate", Value: "4"},
		result.AxisValue{Name: "input", Value: "1024"}
	for name, tt := range map[string]struct {
		values []result.AxisValue
		value  string
		rest   []result.AxisValue
	}{
		"first":        {[]result.AxisValue{side, rate, length}, "head", []result.AxisValue{rate, length}},
		"in between":   {[]result.AxisValue{rate, side, length}, "head", []result.AxisValue{rate, length}},
		"alone":        {[]result.AxisValue{side}, "head", []result.AxisValue{}},
		"another axis": {[]result.AxisValue{rate}, "", []result.AxisValue{rate}},
		"no axis":      {nil, "", []result.AxisValue{}},
	} {
		before := slices.Clone(tt.values)
		value, rest := result.SplitAxis(tt.values, "side")
		if value != tt.value {
			t.Errorf("%s: the value is %q", name, value)
		}
		if diff := cmp.Diff(tt.rest, rest); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(before, tt.values); diff != "" {
			t.Errorf("%s changed its argument: %s", name, diff)
		}
		if text, err := json.Marshal(rest); err != nil || text[0] != '[' {
			t.Errorf("%s: a document has %s, %v", name, text, err)
		}
	}
}

// Keys are the same for the same coordinates alone, whatever stands in names and values.
func TestCoordinatesKeyKeepsCellsApart(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]rune("a= \"\\\x00é")), 0, 4)
	value := rapid.Custom(func(t *rapid.T) result.AxisValue {
		return result.AxisValue{Name: string(text.Draw(t, "name")), Value: string(text.Draw(t, "value"))}
	})
	cells := rapid.SliceOfN(value, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := cells.Draw(t, "a"), cells.Draw(t, "b")
		if same := result.CoordinatesKey(a) == result.CoordinatesKey(b); same != slices.Equal(a, b) {
			t.Fatalf("%q and %q have the keys %q and %q", a, b, result.CoordinatesKey(a), result.CoordinatesKey(b))
		}
		if result.CoordinatesKey(a) != result.CoordinatesKey(slices.Clone(a)) {
			t.Fatalf("%q has two keys", a)
		}
	})
}
