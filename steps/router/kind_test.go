package router_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/router"
	"github.com/zclconf/go-cty/cty"
)

func TestKinds(t *testing.T) {
	if _, err := steps.NewRegistry(router.Kinds()...); err != nil {
		t.Error(err)
	}
	for _, k := range router.Kinds() {
		if k.Block != "router" || k.Doc == "" {
			t.Errorf("%s %q: no doc", k.Block, k.Name)
		}
		for _, a := range k.Schema.Attrs {
			if a.Doc == "" {
				t.Errorf("%q: %s has no doc", k.Name, a.Name)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	servers := cty.TupleVal([]cty.Value{cty.EmptyObjectVal})
	for name, tt := range map[string]struct {
		kind  string
		attrs map[string]cty.Value
		want  []string
	}{
		"pair":       {"nixl", map[string]cty.Value{"prefill": servers, "decode": servers}, nil},
		"not known":  {"nixl", map[string]cty.Value{"prefill": cty.DynamicVal, "decode": cty.DynamicVal}, nil},
		"colocated":  {"round_robin", map[string]cty.Value{"decode": servers}, nil},
		"prefill":    {"round_robin", map[string]cty.Value{"prefill": servers, "decode": servers}, []string{"prefill"}},
		"no prefill": {"nixl", map[string]cty.Value{"decode": servers}, []string{"prefill"}},
		"empty":      {"round_robin", map[string]cty.Value{"decode": cty.EmptyTupleVal}, []string{"decode"}},
		"not a list": {"round_robin", map[string]cty.Value{"decode": cty.StringVal("x")}, []string{"decode"}},
		"port":       {"round_robin", map[string]cty.Value{"decode": servers, "port": cty.NumberIntVal(-1)}, []string{"port"}},
	} {
		i := slices.IndexFunc(router.Kinds(), func(k steps.Kind) bool { return k.Name == tt.kind })
		var got []string
		for _, p := range router.Kinds()[i].Validate(steps.Object{Attrs: tt.attrs}) {
			got = append(got, p.Path...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: problems at %v, want %v", name, got, tt.want)
		}
	}
}
