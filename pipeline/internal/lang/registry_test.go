package lang_test

import (
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

// testRegistry has a few kinds of each block, described here: the language must not
// depend on what the real ones say.
func testRegistry(tb testing.TB) *steps.Registry {
	tb.Helper()
	kinds := []steps.Kind{
		serverKind("vllm"), serverKind("sglang"),
		{Block: "step", Name: "exec", Doc: "Runs a command.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "command", Type: cty.List(cty.String), Required: true, Late: true, Doc: "Words."},
			{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Late: true, Doc: "Environment."},
			{Name: "timeout", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Longest time."},
			{Name: "outputs", Type: cty.Set(cty.String), Doc: "Names of outputs."},
		}}},
		{Block: "dataset", Name: "random", Doc: "Random tokens.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "input_len", Type: cty.DynamicPseudoType, Doc: "Tokens in."},
			{Name: "output_len", Type: cty.DynamicPseudoType, Doc: "Tokens out."},
			{Name: "prefix_len", Type: cty.Number, Doc: "Shared tokens."},
		}}},
		{Block: "dataset", Name: "trace", Doc: "A file.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "path", Type: cty.String, Required: true, Doc: "File."},
			{Name: "time_scale", Type: cty.Number, Doc: "Factor on times."},
		}}},
		{Block: "service", Name: "etcd", Doc: "Metadata.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "port", Type: cty.Number, Doc: "Port."},
		}}},
		{Block: "kv_transfer", Name: "mooncake", Doc: "A transfer.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "transport", Type: cty.String, Enum: enum.Of("tcp", "rdma"), Doc: "What carries it."},
			{Name: "devices", Type: cty.List(cty.String), Doc: "Devices."},
			{Name: "buffer", Type: cty.Number, Unit: steps.UnitBytes, Doc: "Size."},
		}}},
		{Block: "report", Name: "github", Doc: "A comment.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "comment", Type: cty.String, Enum: enum.Of("update", "hide-and-new", "delete-and-new", "new", "never"), Doc: "Mode."},
			{Name: "key", Type: cty.String, Doc: "Name."},
			{Name: "check", Type: cty.String, Blank: true, Doc: "Name of the check run."},
			{Name: "status", Type: cty.String, Blank: true, Doc: "Context of the status."},
		}}},
		{Block: "router", Name: "round_robin", Doc: "A router.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "prefill", Type: cty.DynamicPseudoType, Doc: "Servers."},
			{Name: "decode", Type: cty.DynamicPseudoType, Required: true, Doc: "Servers."},
		}}},
	}
	r, err := steps.NewRegistry(kinds...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func serverKind(name string) steps.Kind {
	return steps.Kind{
		Block: "server", Name: name, Doc: "A server.", Schema: serverblock.Schema(),
		Validate: serverblock.Check,
	}
}
