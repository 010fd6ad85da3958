package reports_test

import (
	"bytes"
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
	for name, render := range map[string]func(*bytes.Buffer) error{
		"markdown": func(w *bytes.Buffer) error { return reports.Markdown(w, doc, reports.Options{}) },
		"text":     func(w *bytes.Buffer) error { return reports.Text(w, doc, reports.Options{Width: 200}) },
		"html":     func(w *bytes.Buffer) error { return reports.HTML(w, doc, reports.HTMLOptions{}) },
	} {
		var out bytes.Buffer
		if err := render(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"image", "vllm", "a server is compared with itself"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s does not say %q:\n%s", name, want, out.String())
			}
		}
	}
}
