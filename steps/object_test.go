package steps_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

func TestObjectReads(t *testing.T) {
	secret := cty.NewValueMarks("sensitive")
	o := steps.Object{Attrs: map[string]cty.Value{
		"text":    cty.StringVal("x"),
		"number":  cty.NumberFloatVal(2.5),
		"whole":   cty.NumberIntVal(7),
		"yes":     cty.True,
		"null":    cty.NullVal(cty.String),
		"unknown": cty.UnknownVal(cty.String),
		"marked":  cty.StringVal("s3cret").WithMarks(secret),
		"list":    cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")}),
		"mixed":   cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NumberIntVal(2), cty.True}),
		"half":    cty.ListVal([]cty.Value{cty.StringVal("a"), cty.UnknownVal(cty.String)}),
		"object":  cty.ObjectVal(map[string]cty.Value{"b": cty.NumberIntVal(1), "a": cty.StringVal("<")}),
		"time":    cty.NumberIntVal((3 * time.Second).Nanoseconds()),
	}}
	for name, want := range map[string]string{
		"text": "x", "number": "2.5", "whole": "7", "yes": "true", "null": "", "unknown": "", "marked": "s3cret", "none": "", "list": "",
	} {
		if got := o.Text(name); got != want {
			t.Errorf("Text(%q) = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string][]string{
		"text": {"x"}, "list": {"a", "b"}, "mixed": {"a", "2", "true"}, "half": nil, "null": nil, "none": nil,
	} {
		got, err := o.Texts(name)
		if err != nil {
			t.Errorf("Texts(%q): %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Texts(%q):\n%s", name, diff)
		}
	}
	if _, err := o.Texts("object"); err == nil {
		t.Error("Texts of an object gave no error")
	}
	if o.Has("null") || o.Has("none") || !o.Has("unknown") {
		t.Error("Has: null and missing arguments are not set, unknown ones are")
	}
	if o.Known("half") || o.Known("unknown") || !o.Known("list") {
		t.Error("Known must look at every element")
	}
	if got := o.Duration("time"); got != 3*time.Second {
		t.Errorf("Duration = %s", got)
	}
	if o.Int("whole") != 7 || o.Float("number") != 2.5 || o.Int("text") != 0 {
		t.Error("Int and Float read numbers and nothing else")
	}
	if got, err := o.JSON("object"); err != nil || string(got) != `{"a":"\u003c","b":1}` && string(got) != `{"a":"<","b":1}` {
		t.Errorf("JSON = %s, %v", got, err)
	}
}

func TestObjectEnv(t *testing.T) {
	secret := cty.NewValueMarks("sensitive")
	o := steps.Object{Attrs: map[string]cty.Value{
		"env": cty.MapVal(map[string]cty.Value{
			"B": cty.StringVal("2"),
			"A": cty.StringVal("1").WithMarks(secret),
			"C": cty.NullVal(cty.String),
		}),
		"all": cty.MapVal(map[string]cty.Value{"X": cty.StringVal("1")}).WithMarks(secret),
		"bad": cty.StringVal("x"),
	}}
	got, err := o.Env("env")
	if err != nil {
		t.Fatal(err)
	}
	want := []steps.EnvVar{{Name: "A", Value: "1", Secret: true}, {Name: "B", Value: "2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := o.Env("all"); err != nil || len(got) != 1 || !got[0].Secret {
		t.Errorf("a mark on the whole map makes every value secret: %v, %v", got, err)
	}
	if _, err := o.Env("bad"); err == nil {
		t.Error("a string is no environment")
	}
	if got, err := o.Env("none"); got != nil || err != nil {
		t.Errorf("a missing argument is empty: %v, %v", got, err)
	}
}
