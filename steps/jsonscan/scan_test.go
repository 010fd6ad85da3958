package jsonscan_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps/jsonscan"
)

func TestScan(t *testing.T) {
	s := jsonscan.Of([]byte(` {"a" : [1, {"b":"]"}, "c"], "n":12, "t":"x\"y", "e":[ ], "z":null} `))
	var names, elements []string
	var number int
	var text []byte
	filled := true
	for name := range s.Object {
		names = append(names, string(name))
		switch string(name) {
		case "a":
			for range s.Array {
				elements = append(elements, string(s.Skip()))
			}
		case "n":
			number, _ = s.Number()
		case "t":
			text, _ = s.Text()
		case "e":
			filled = s.Filled()
		default:
			s.Skip()
		}
	}
	if !s.Done() || !slices.Equal(names, []string{"a", "n", "t", "e", "z"}) || !slices.Equal(elements, []string{"1", `{"b":"]"}`, `"c"`}) ||
		number != 12 || string(text) != `x\"y` || filled {
		t.Errorf("done %v, %q, %q, %d, %s, %v", s.Done(), names, elements, number, text, filled)
	}
}

// FuzzScan holds that all objects of encoding/json are objects here, with the same names.
func FuzzScan(f *testing.F) {
	f.Add(`{"a":[1,{}],"b":"\\\""}`)
	f.Add(`{"a":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]json.RawMessage
		valid := json.Unmarshal([]byte(text), &want) == nil && want != nil
		s, n := jsonscan.Of([]byte(text)), 0
		for range s.Object {
			s.Skip()
			n++
		}
		if valid && (!s.Done() || n < len(want)) {
			t.Errorf("%q: %d of %d fields", text, n, len(want))
		}
	})
}
