package kv_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/zclconf/go-cty/cty"
)

func TestKinds(t *testing.T) {
	kinds := append(kv.Connectors().Transfers(), kv.Services()...)
	if _, err := steps.NewRegistry(kinds...); err != nil {
		t.Error(err)
	}
	for _, k := range kinds {
		if k.Doc == "" {
			t.Errorf("%s %q: no doc", k.Block, k.Name)
		}
		for _, a := range k.Schema.Attrs {
			if a.Doc == "" {
				t.Errorf("%s %q: %s has no doc", k.Block, k.Name, a.Name)
			}
		}
		if found := k.Validate(steps.Object{}); len(found) != 0 {
			t.Errorf("%s %q: an empty block has problems: %v", k.Block, k.Name, found)
		}
	}
}

func TestValidateTransfer(t *testing.T) {
	devices := func(names ...string) cty.Value {
		vals := make([]cty.Value, len(names))
		for i, n := range names {
			vals[i] = cty.StringVal(n)
		}
		return cty.ListVal(vals)
	}
	for name, tt := range map[string]struct {
		kind  string
		attrs map[string]cty.Value
		want  []string
	}{
		"rdma": {"mooncake", map[string]cty.Value{"transport": cty.StringVal(kv.RDMA), "devices": devices("mlx5_0", "mlx5_1"),
			"buffer": cty.NumberIntVal(5 << 30)}, nil},
		"unknown": {"mooncake", map[string]cty.Value{"transport": cty.UnknownVal(cty.String),
			"devices": cty.UnknownVal(cty.List(cty.String)), "buffer": cty.UnknownVal(cty.Number)}, nil},
		"no nccl": {"mooncake", map[string]cty.Value{"transport": cty.StringVal(kv.NCCL)}, []string{"transport"}},
		"nccl":    {"p2p_nccl", map[string]cty.Value{"transport": cty.StringVal(kv.NCCL)}, nil},
		"files":   {"example", map[string]cty.Value{"transport": cty.StringVal(kv.TCP)}, []string{"transport"}},
		"device":  {"nixl", map[string]cty.Value{"devices": devices("mlx5_0; rm")}, []string{"devices"}},
		"nvlink": {"nixl", map[string]cty.Value{"transport": cty.StringVal(kv.NVLink), "devices": devices("mlx5_0")},
			[]string{"devices"}},
		"files, device": {"example", map[string]cty.Value{"devices": devices("mlx5_0")}, []string{"devices"}},
		"config":        {"multi", map[string]cty.Value{"config": cty.StringVal("x")}, []string{"config"}},
		"path":          {"example", map[string]cty.Value{"path": cty.StringVal("kv")}, []string{"path"}},
		"env": {"custom", map[string]cty.Value{"env": cty.MapVal(map[string]cty.Value{"A B": cty.StringVal("x")})},
			[]string{"env", "A B"}},
		"empty buffer": {"lmcache", map[string]cty.Value{"buffer": cty.Zero}, []string{"buffer"}},
	} {
		i := slices.IndexFunc(kv.Connectors().Transfers(), func(k steps.Kind) bool { return k.Name == tt.kind })
		var got []string
		for _, p := range kv.Connectors().Transfers()[i].Validate(steps.Object{Attrs: tt.attrs}) {
			got = append(got, p.Path...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: problems at %v, want %v", name, got, tt.want)
		}
	}
}

func TestValidateService(t *testing.T) {
	both := map[string]cty.Value{"image": cty.StringVal("i:1"), "executable": cty.StringVal("e"), "port": cty.NumberIntVal(0)}
	if got := kv.Services()[0].Validate(steps.Object{Attrs: both}); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
