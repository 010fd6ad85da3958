package dataset_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/zclconf/go-cty/cty"
)

func TestKinds(t *testing.T) {
	if _, err := steps.NewRegistry(dataset.All().Blocks()...); err != nil {
		t.Error(err)
	}
	for _, k := range dataset.All() {
		if k.Doc == "" {
			t.Errorf("%q has no doc", k.Name)
		}
		for _, a := range k.Attrs {
			if a.Doc == "" {
				t.Errorf("%q: %s has no doc", k.Name, a.Name)
			}
		}
		d := steps.Dataset{Kind: k.Name, InputMin: 8, InputMax: 8, OutputMin: 1, OutputMax: 1, Path: "f"}
		if err := (*dataset.Files)(nil).Check(d); err != nil {
			t.Errorf("%q: %v", k.Name, err)
		}
	}
}

func TestValidateKind(t *testing.T) {
	span := func(low, high int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"min": cty.NumberIntVal(low), "max": cty.NumberIntVal(high)})
	}
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  []string
	}{
		"numbers":     {map[string]cty.Value{"input_len": cty.NumberIntVal(256), "output_len": cty.NumberIntVal(1), "prefix_len": cty.Zero}, nil},
		"spans":       {map[string]cty.Value{"input_len": span(1, 9), "output_len": span(3, 3)}, nil},
		"not known":   {map[string]cty.Value{"input_len": cty.DynamicVal, "output_len": cty.UnknownVal(cty.Number)}, nil},
		"zero":        {map[string]cty.Value{"input_len": cty.Zero}, []string{"input_len"}},
		"half":        {map[string]cty.Value{"output_len": cty.NumberFloatVal(1.5)}, []string{"output_len"}},
		"text":        {map[string]cty.Value{"input_len": cty.StringVal("long")}, []string{"input_len"}},
		"wrong order": {map[string]cty.Value{"input_len": span(9, 1)}, []string{"input_len"}},
		"min of zero": {map[string]cty.Value{"input_len": span(0, 1)}, []string{"input_len"}},
		"no max": {map[string]cty.Value{"input_len": cty.ObjectVal(map[string]cty.Value{"min": cty.NumberIntVal(1)})},
			[]string{"input_len"}},
		"more than min and max": {map[string]cty.Value{"input_len": cty.ObjectVal(map[string]cty.Value{
			"min": cty.NumberIntVal(1), "max": cty.NumberIntVal(1), "mean": cty.NumberIntVal(1)})}, []string{"input_len"}},
		"counts": {map[string]cty.Value{"prefix_len": cty.NumberIntVal(-1), "num_prefixes": cty.Zero, "time_scale": cty.Zero},
			[]string{"prefix_len", "num_prefixes", "time_scale"}},
	} {
		var got []string
		for _, p := range dataset.All().Blocks()[0].Validate(steps.Object{Attrs: tt.attrs}) {
			got = append(got, p.Path...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: problems at %v, want %v", name, got, tt.want)
		}
	}
}
