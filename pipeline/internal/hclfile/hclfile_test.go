package hclfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

func TestBytes(t *testing.T) {
	var f hclfile.Body
	f.Comment("Two images of a server.\n\n  pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10% " +
		"--out a-long-folder-that-stays-as-it-is\n" +
		"* " + strings.Repeat("word ", 40))
	base := f.Block("variable", "base")
	base.Set("default", "vllm/vllm-openai:v0.10.2")
	f.Comment("The server of both sides.")
	sut := f.Block("server", "vllm", "sut")
	sut.Set("for_each", hclfile.Map{{Name: "base", Value: hclfile.Expr("var.base")}, {Name: "head", Value: hclfile.Expr("var.head")}})
	sut.Set("image", hclfile.Expr("each.value"))
	sut.SetWithComment("gpus", 2, "tensor_parallel_size")
	sut.Set("args", hclfile.Map{
		{Name: "tensor_parallel_size", Value: 2},
		{Name: "compilation_config.mode", Value: json.Number("3")},
		{Name: "kv_transfer_config", Value: map[string]any{"kv_role": "kv_both", "kv_connector": "NixlConnector"}},
		{Name: "chat_template", Value: "${not} a %{template}", Comment: "a name, not a\ntemplate"},
		{Name: "gpu_memory_utilization", Value: 0.92},
		{Name: "seed", Value: nil},
	})
	sut.Comment("Nothing real reads this.")
	sut.Block("simulate").Set("slowdown", "10%")
	sut.Block("ready")
	d := f.Block("dataset", "random", "chat")
	d.Set("input_len", 512)
	d.Comment("In tokens.")
	d.Set("output_len", 64)
	d.Gap()
	d.Set("tall", hclfile.Tall{{Name: "a", Value: 1}})
	d.Set("long", []string{strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)})
	f.Comment("The end.")
	golden.Equal(t, "testdata/file.hcl", f.Bytes())
}

// TestStringsStayThemselves parses what was written: no text breaks out of its quotes, its line or its comment.
func TestStringsStayThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.String().Draw(t, "text"), "")
		var f hclfile.Body
		f.Comment(text)
		f.Set("value", text)
		f.Set("map", hclfile.Map{{Name: text, Value: []any{text, true}, Comment: text}})
		src := f.Bytes()
		file, diags := hclsyntax.ParseConfig(src, "f.hcl", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags, src)
		}
		attrs, _ := file.Body.JustAttributes()
		if len(attrs) != 2 {
			t.Fatalf("%d attributes in\n%s", len(attrs), src)
		}
		v, diags := attrs["value"].Expr.Value(nil)
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags, src)
		}
		if got, want := v.AsString(), text; got != cty.StringVal(want).AsString() {
			t.Fatalf("got %q, want %q", got, want)
		}
		if again := hclwrite.Format(src); string(again) != string(src) {
			t.Fatalf("is not in the format of fmt:\n%s", src)
		}
	})
}
