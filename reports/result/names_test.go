package result_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// TestNames: sides are called by what differs, and by their roles only where nothing of that differs or is too long.
func TestNames(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	digest := func(c string) string { return "@sha256:" + strings.Repeat(c, 64) }
	differ := func(what, base, head string) []result.SideDifference {
		return []result.SideDifference{{What: what, Base: base, Head: head}}
	}
	targets := []result.Target{
		{Addr: "old", Engine: "vllm", Describe: map[string]string{"version": "0.10.2"}},
		{Addr: "new", Engine: "vllm", Describe: map[string]string{"version": "0.11.0"}},
	}
	for name, tt := range map[string]struct {
		sides      result.Sides
		head, base string
	}{
		"tags": {
			result.Sides{Differences: differ("image", "vllm/vllm-openai:v0.10.2", "vllm/vllm-openai:v0.11.0")}, "v0.11.0", "v0.10.2",
		},
		"registry's port": {result.Sides{Differences: differ("image", "host:5000/vllm", "host:5000/vllm:new")}, "new", "latest"},
		"repositories":    {result.Sides{Differences: differ("image", "a/vllm:v1", "b/sglang:v2")}, "sglang:v2", "vllm:v1"},
		"one tag, two":    {result.Sides{Differences: differ("image", "a/vllm:v1", "b/vllm:v1")}, "b/vllm:v1", "a/vllm:v1"},
		"commits as tags": {result.Sides{Differences: differ("image", "a:v1", "a:"+commit)}, "01234567", "v1"},
		"digests": {
			result.Sides{Differences: differ("image", "a"+digest("1"), "a"+digest("2"))},
			strings.Repeat("2", 12), strings.Repeat("1", 12),
		},
		"values that tell": {result.Sides{Axis: "transport", Base: "tcp", Head: "rdma", Differences: differ("args.x", "1", "2")}, "rdma", "tcp"},
		"values that do not": {
			result.Sides{Axis: "chunked", Base: "off", Head: "on", Differences: differ("args.x", "1", "2")}, "chunked=on", "chunked=off",
		},
		"versions of servers": {
			result.Sides{Axis: "side", Base: "base", Head: "head", BaseTarget: "old", HeadTarget: "new"},
			"vllm 0.11.0", "vllm 0.10.2",
		},
		"digests and versions": {
			result.Sides{BaseTarget: "old", HeadTarget: "new", Differences: differ("image", "a"+digest("1"), "a"+digest("2"))},
			"vllm 0.11.0", "vllm 0.10.2",
		},
		"models": {
			result.Sides{Base: "base", Head: "head", Differences: differ("model", "Qwen/Qwen2.5-7B", "/models/Qwen3-8B")},
			"Qwen3-8B", "Qwen2.5-7B",
		},
		"argument": {
			result.Sides{Axis: "side", Base: "base", Head: "head", Differences: differ("args.max_num_seqs", "", "512")},
			"max_num_seqs=512", "max_num_seqs=unset",
		},
		"arguments": {
			result.Sides{Base: "base", Head: "head", Differences: []result.SideDifference{
				{What: "args.max_num_seqs", Base: "256", Head: "512"}, {What: "env.VLLM_ATTENTION_BACKEND", Base: "FLASHINFER", Head: "FLASH_ATTN"},
			}}, "head", "base",
		},
		"simulated": {
			result.Sides{Base: "base", Head: "head", Differences: []result.SideDifference{
				{What: "args.block_size", Base: "16", Head: "32"}, {What: "simulate.slowdown", Base: "0", Head: "0.1"},
			}}, "block_size=32", "block_size=16",
		},
		"too long": {
			result.Sides{Base: "base", Head: "head", Differences: differ("args.compilation_config", strings.Repeat("x", 50), "y")}, "head", "base",
		},
		"addresses": {result.Sides{Base: "server.vllm.one", Head: "deployment.nixl"}, "nixl", "one"},
		"one image of a deployment": {
			result.Sides{Base: "base", Head: "head", Differences: []result.SideDifference{
				{What: "decode.image", Base: "a:v1", Head: "a:v2"}, {What: "prefill.image", Base: "a:v1", Head: "a:v2"},
			}}, "v2", "v1",
		},
		"a variable that names the side": {
			result.Sides{Base: "base", Head: "head", Differences: differ("env.SIDE", "base", "head")}, "head", "base",
		},
		"images of a deployment": {
			result.Sides{Base: "base", Head: "head", Differences: differ("image", "a:1, b:1", "a:2, b:2")}, "head", "base",
		},
		"secrets": {result.Sides{Base: "base", Head: "head", Differences: differ("env.TOKEN", "(secret)", "(secret)")}, "head", "base"},
		"nothing": {result.Sides{Axis: "side", Base: "base", Head: "head", Identical: true}, "head", "base"},
	} {
		if got, want := tt.sides.Names(targets), (result.Names{Head: tt.head, Base: tt.base}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestNamesOfDocument: decisions find their sides, and two heads never have one name.
func TestNamesOfDocument(t *testing.T) {
	side := func(head, image string) result.Sides {
		return result.Sides{Baseline: "baseline.paired.p", Axis: "side", Base: "base", Head: head,
			Differences: []result.SideDifference{{What: "image", Base: "v:1", Head: image}}}
	}
	g := result.Gate{Addr: "gate.g", Baseline: "baseline.paired.p", BaselineKind: result.BaselinePaired, Decisions: []result.Decision{
		{Base: "base", Head: "new"}, {Base: "base", Head: "test"},
	}}
	doc := &result.Document{Sides: []result.Sides{side("new", "v:2"), side("test", "v:3")}, Gates: []result.Gate{g}}
	for i, want := range []string{"2 against 1", "3 against 1"} {
		if got := doc.Names(&g, &g.Decisions[i]).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for value, want := range map[string]string{"base": "1", "new": "2", "test": "3", "else": ""} {
		if got := doc.NameOf("side", value); got != want {
			t.Errorf("side=%s is called %q, want %q", value, got, want)
		}
	}
	doc.Sides[1] = side("test", "v:2")
	if got := doc.Names(&g, &g.Decisions[0]).Head; got != "new" {
		t.Errorf("one of two heads with one image is called %q", got)
	}
	stored := result.Gate{Baseline: "baseline.history.main", BaselineKind: result.BaselineStored}
	if got := doc.Names(&stored, &result.Decision{}).String(); got != "head against main" {
		t.Errorf("a stored baseline: %q", got)
	}
}
