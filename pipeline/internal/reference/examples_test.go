package reference_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/reference"
)

// TestFindExamples takes the shortest line of each argument, without its alignment, with the kind of its block and without.
func TestFindExamples(t *testing.T) {
	got, err := reference.FindExamples(fstest.MapFS{
		"a/a.pipeline.hcl": {Data: []byte("server \"vllm\" \"x\" {\n  model   = \"long-name\"\n  args = {\n    a = 1\n  }\n  container {\n    user = \"0\"\n  }\n}\n")},
		"b/b.pipeline.hcl": {Data: []byte("server \"sglang\" \"x\" {\n  model = \"m\"\n}\n")},
		"b/README.md":      {Data: []byte("server {")},
		"c/c.pipeline.hcl": {Data: []byte("locals {\n  text = \"" + strings.Repeat("x", 80) + "\"\n}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := reference.Examples{
		"server.vllm model": `model = "long-name"`, "server.sglang model": `model = "m"`, "server model": `model = "m"`,
		"server.vllm.container user": `user = "0"`, "server.container user": `user = "0"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := reference.FindExamples(fstest.MapFS{"a.pipeline.hcl": {Data: []byte("server {")}}); err == nil ||
		!strings.Contains(err.Error(), "a.pipeline.hcl:1") {
		t.Errorf("%v, want an error with its place", err)
	}
}
