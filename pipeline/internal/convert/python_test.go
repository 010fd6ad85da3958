package convert

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestPythonJSON: what Python writes becomes JSON, in whatever parts it is read, and nothing in
// it makes a parser hold more than the limits allow.
func TestPythonJSON(t *testing.T) {
	long := strings.Repeat("7", maxWord+1)
	for _, tt := range []struct{ in, want, err string }{
		{`{"a": NaN, "b": [Infinity,-Infinity,-1e-3]}`, `{"a": "NaN", "b": ["Infinity","-Infinity",-1e-3]}`, ""},
		{`{"NaN": true, "b": "Infinity"}`, `{"NaN": true, "b": "Infinity"}`, ""},
		{"[1 ,\n\n\t 2]\n", "[1 ,\n2]\n", ""},
		{`["12345678", "123456789", "é1234567"]`, `["12345678", "12345678", "é123456"]`, ""},
		{`["123456\n\"", "1234567\u00e99", "1234567\\\u00e9"]`, `["123456\n\"", "1234567\u00e9", "1234567\\"]`, ""},
		{`NaN`, `"NaN"`, ""},
		{`[[[[1]]]]`, "", "nesting deeper than 3"},
		{`[[[1]],[[2]]]`, `[[[1]],[[2]]]`, ""},
		{`[` + long + `]`, "", "a number of more than"},
	} {
		for part, reader := range map[string]io.Reader{"whole": strings.NewReader(tt.in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(tt.in))} {
			p := &pythonJSON{r: bufio.NewReader(reader), lim: Limits{Depth: 3, String: 8}, line: 1}
			got, err := io.ReadAll(p)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%s, %s: %v, want %q", tt.in, part, err, tt.err)
				}
			} else if err != nil || string(got) != tt.want {
				t.Errorf("%s, %s: %s, %v, want %s", tt.in, part, got, err, tt.want)
			}
		}
	}
}

// TestLinesOfValues: every value knows its line, however the text before it was folded.
func TestLinesOfValues(t *testing.T) {
	const text = "\n{\"a\": 1,\n\n\n \"b\": [\n2,\n\n3],\r\n\"c\": {\"d\":\n\nNaN}}\n"
	j := newJSONReader(bufio.NewReader(iotest.HalfReader(strings.NewReader(text))), "x.json", Limits{}.withDefaults())
	v, err := j.tree("", func(string) (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"a": 2, "b": 5, "b/0": 6, "c": 9, "c/d": 11} {
		if got := v.at(path); got == nil || got.line != want {
			t.Errorf("%s: %+v, want line %d", path, got, want)
		}
	}
	if _, err := j.tree("", nil); !errors.Is(err, errEnd) {
		t.Errorf("behind the value: %v", err)
	}
}
