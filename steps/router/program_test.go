package router_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/router"
	"github.com/zclconf/go-cty/cty"
)

func TestCommand(t *testing.T) {
	port, decode := steps.RouterVar("port"), steps.RouterVar("decode")
	urls := []string{"http://h:1", "http://h:2"}
	for _, tt := range []struct {
		name        string
		words, want []string
	}{
		{"a word for each server", []string{"r", "--urls", decode, "--x"}, []string{"r", "--urls", "http://h:1", "http://h:2", "--x"}},
		{"within a word", []string{"r", "--urls=" + decode}, []string{"r", "--urls=http://h:1,http://h:2"}},
		{"address", []string{"r", steps.RouterVar("host") + ":" + port, steps.RouterVar("metrics_port")}, []string{"r", "h:7", "8"}},
	} {
		if got := router.Command(tt.words, router.Listening{"h", steps.PortNumber(7), steps.PortNumber(8), urls}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestValidateProgram(t *testing.T) {
	port, decode := steps.RouterVar("port"), steps.RouterVar("decode")
	servers := cty.TupleVal([]cty.Value{cty.EmptyObjectVal})
	words := func(w ...string) cty.Value {
		var list []cty.Value
		for _, word := range w {
			list = append(list, cty.StringVal(word))
		}
		return cty.ListVal(list)
	}
	kinds := router.Kinds()
	program := kinds[slices.IndexFunc(kinds, func(k steps.Kind) bool { return k.Name == "exec" })]
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  []string
	}{
		"whole":      {map[string]cty.Value{"decode": servers, "command": words("r", port, "--urls="+decode)}, nil},
		"no program": {map[string]cty.Value{"decode": servers, "command": words("", port, decode)}, []string{"command"}},
		"no port":    {map[string]cty.Value{"decode": servers, "command": words("r", decode)}, []string{"command"}},
		"no servers": {map[string]cty.Value{"decode": servers, "command": words("r", port)}, []string{"command"}},
		"empty list": {map[string]cty.Value{"decode": cty.EmptyTupleVal, "command": words("r", port, decode)}, []string{"decode"}},
		"prefill":    {map[string]cty.Value{"prefill": servers, "decode": servers, "command": words("r", port, decode)}, []string{"prefill"}},
		"port": {map[string]cty.Value{"decode": servers, "command": words("r", port, decode), "port": cty.NumberIntVal(0)},
			[]string{"port"}},
	} {
		var got []string
		for _, p := range program.Validate(steps.Object{Attrs: tt.attrs}) {
			got = append(got, p.Path...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: problems at %v, want %v", name, got, tt.want)
		}
	}
}
