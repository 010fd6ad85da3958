package router

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEdit(t *testing.T) {
	set := []edit{{key: "max_tokens", value: one}, {key: "min_tokens", remove: true}, {key: "maybe", value: nullJSON, ifPresent: true}}
	for name, tt := range map[string]struct{ in, want string }{
		"empty": {` { } `, `{"max_tokens":1}`},
		"numbers stay": {`{"a":1.10,"b":1e400,"c":-0,"d":18446744073709551616}`,
			`{"a":1.10,"b":1e400,"c":-0,"d":18446744073709551616,"max_tokens":1}`},
		"spelling stays": {`{"k\u0065y" : [ 1 , {"max_tokens":9} ], "s":"\u00e9\"}"}`,
			`{"k\u0065y":[ 1 , {"max_tokens":9} ],"s":"\u00e9\"}","max_tokens":1}`},
		"replaced":        {`{"max_tokens":64,"min_tokens":64,"maybe":3}`, `{"max_tokens":1,"maybe":null}`},
		"twice":           {`{"max_tokens":64,"a":1,"max_tokens":65}`, `{"a":1,"max_tokens":1}`},
		"spelled by code": {`{"max\u005ftokens":64,"a":1}`, `{"a":1,"max_tokens":1}`},
		"words":           {"{\"a\":NaN,\n\"b\":true}\n", `{"a":NaN,"b":true,"max_tokens":1}`},
	} {
		o, err := parseObject([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(o.edit(set...)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestNotAnObject(t *testing.T) {
	for _, in := range []string{
		``, `[]`, `null`, `"a"`, `{`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":"x}`, `{"a":[1}`,
		`{} {}`, `{"a":1}x`, `{"\x":1}`,
		`{"a\`,
	} {
		if o, err := parseObject([]byte(in)); err == nil {
			t.Errorf("%q is taken as %v", in, o)
		}
	}
}

func TestBatch(t *testing.T) {
	for in, want := range map[string]struct {
		n     int
		batch bool
	}{
		`{"prompt":"a"}`:                   {},
		`{"prompt":[1,2,3]}`:               {},
		`{"prompt":["a"]}`:                 {1, true},
		`{"prompt":[ [1,2] , [3] ]}`:       {2, true},
		`{"text":["a","b","c"]}`:           {3, true},
		`{"text":null,"input_ids":[[1]]}`:  {1, true},
		`{"input_ids":[1]}`:                {},
		`{"messages":[{"content":["a"]}]}`: {},
	} {
		o, err := parseObject([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		n, batch, err := o.batch()
		if n != want.n || batch != want.batch || err != nil {
			t.Errorf("%s: %d %v %v, want %v", in, n, batch, err, want)
		}
	}
	for _, in := range []string{`{"prompt":["a" "b"]}`, `{"prompt":["a",]}`, `{"prompt":[` + strings.Repeat(`"",`, maxBatch) + `""]}`} {
		o, err := parseObject([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := o.batch(); err == nil {
			t.Errorf("%.40s is taken", in)
		}
	}
}

// TestEditMeans holds the rewriting to what decoding, changing and encoding means.
func TestEditMeans(t *testing.T) {
	value := rapid.SampledFrom([]string{`1`, `-0.10e+5`, `"a\"}\\"`, `[1, [2], {"x":"]"}]`, `{ "y" : null }`, `12345678901234567890`, `"é"`})
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOf(rapid.String(), value).Draw(t, "fields")
		var b bytes.Buffer
		b.WriteByte('{')
		for k, v := range fields {
			if b.Len() > 1 {
				b.WriteString(rapid.SampledFrom([]string{",", " ,\n"}).Draw(t, "comma"))
			}
			b.Write(toJSON(k))
			b.WriteString(rapid.SampledFrom([]string{":", " : "}).Draw(t, "colon") + v)
		}
		b.WriteByte('}')
		key := rapid.OneOf(rapid.String(), rapid.Just("max_tokens")).Draw(t, "key")
		o, err := parseObject(b.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", b.Bytes(), err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(o.edit(edit{key: key, value: one}), &got); err != nil {
			t.Fatalf("%s: %v", o.edit(edit{key: key, value: one}), err)
		}
		want := map[string]json.RawMessage{}
		if err := json.Unmarshal(b.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		var k string
		if err := json.Unmarshal(toJSON(key), &k); err != nil {
			t.Fatal(err)
		}
		want[k] = one
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzEdit wants that any object comes out as an object with the same bytes in every
// field that was not edited.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1.0,"max_tokens":[{}]}`, `{"prompt":[1,2],"s":"\\\""}`, `{"a":[}`, `{"\ud800":1}`,
		`{"prompt":["a",["b"]]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		o, err := parseObject(in)
		var want map[string]json.RawMessage
		valid := json.Unmarshal(in, &want) == nil && want != nil
		if err != nil {
			if valid {
				t.Fatalf("%q is an object: %v", in, err)
			}
			return
		}
		_, _, _ = o.batch()
		out := o.edit(edit{key: "max_tokens", value: one})
		if _, err := parseObject(out); err != nil {
			t.Fatalf("%q became %q", in, out)
		}
		if !valid {
			return
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q became %q: %v", in, out, err)
		}
		want["max_tokens"] = one
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
