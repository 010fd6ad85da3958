package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// Every report of a comparison says what its sides differ in, and that they differ in nothing
// where that is so.
func TestSidesAreShown(t *testing.T) {
	doc := &result.Document{
		Schema: result.Schema, Status: result.StatusComplete,
		Sides: []result.Sides{
			{Axis: "side", Base: "base", Head: "head", Differences: []result.SideDifference{{What: "image", Base: "vllm:1", Head: "vllm:2"}}},
			{Axis: "side", Base: "base", Head: "again", Identical: true},
		},
	}
	for _, name := range []string{"markdown", "text", "html"} {
		out := string(written(t, name, doc, reports.Options{Width: 200}))
		for _, want := range []string{"image", "vllm", "a server is compared with itself"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, out)
			}
		}
	}
}
