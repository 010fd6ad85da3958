package jsonscan_test

import (
	"encoding/json"
	"math"
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

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int // -1 for no whole number
	}{
		{"0", 0}, {"12", 12}, {"12.0", 12}, {"8.000", 8}, {"123456789012345", 123456789012345},
		{"1234567890123456", -1}, {"12.5", -1}, {"1.0.0", -1}, {"-3", -1}, {"1e3", 1000}, {"null", -1}, {`"12"`, -1},
	} {
		s := jsonscan.Of([]byte(`{"n":` + tt.text + `}`))
		for range s.Object {
			if n, ok := s.Number(); ok != (tt.want >= 0) || ok && n != tt.want {
				t.Errorf("%s: %d, %v, want %d", tt.text, n, ok, tt.want)
			}
		}
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

// FuzzNumber compares counts with the numbers that encoding/json reads. Only whole numbers from 0 to below 10¹⁵ are counts.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{
		"0", "12", "12.0", "12.50", "-0", "-0.0", "-3", "1e3", "1E+3", "1.25e2", "125e-2", "1200e-2", "1e15", "999999999999999",
		"1000000000000000", "99999999999999999999", "1e400", "-1e400", "0e0", "0.0000001e7", "null", "true", `"12"`, "[1]", "{}",
		"12.", ".5", "+1", "0x10", "1_0", "inf", "NaN", "1e", "--1", " 7 ",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := jsonscan.Of([]byte(text))
		got, ok := s.Number()
		var n *float64
		wrong := json.Unmarshal([]byte(text), &n) != nil
		switch whole := n != nil && *n >= 0 && *n < 1e15 && *n == math.Trunc(*n); {
		case wrong && !json.Valid([]byte(text)): // it does not check the spelling
		case ok != (whole && !wrong), ok && float64(got) != *n:
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	})
}
