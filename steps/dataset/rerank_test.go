package dataset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// TestQueries: documents have the lengths that are asked for, the same in each repeat, and other words.
func TestQueries(t *testing.T) {
	d := steps.Dataset{Kind: "rerank", InputMin: 20, InputMax: 60, Options: map[string]any{"query_len": 10.0, "documents": 4.0}}
	src := source(t, d, dataset.Corpus{TokensPerByte: 0.25, Rerank: true})
	for i := range 20 {
		p, again, other := src.Prompt(i, dataset.Seeds{1, 1}), src.Prompt(i, dataset.Seeds{1, 1}), src.Prompt(i, dataset.Seeds{1, 2})
		if len(p.Documents) != 4 || p.Input < 4*(10+20) || p.Input > 4*(10+60) || p.Input != other.Input {
			t.Fatalf("%+v", p)
		}
		if p.Text != again.Text || !slices.Equal(p.Documents, again.Documents) || p.Text == other.Text || p.Documents[0] == other.Documents[0] {
			t.Errorf("%q and %q", p.Text, other.Text)
		}
		if n := len(p.Text); n < 40 || n > 60 {
			t.Errorf("a query of %d bytes, want about 40", n)
		}
		if hashOf([]dataset.Prompt{p}) != hashOf([]dataset.Prompt{again}) ||
			hashOf([]dataset.Prompt{p}) == hashOf([]dataset.Prompt{{Text: p.Text, Input: p.Input, Output: p.Output}}) {
			t.Error("documents are no part of the work")
		}
	}
	for name, tt := range map[string]struct {
		line, want string
	}{
		"no documents": {`{"query":"a"}`, "a query needs documents"},
		"no query":     {`{"documents":["a"]}`, "a query needs documents"},
		"two prompts":  {`{"query":"a","documents":["b"],"prompt":"c"}`, "needs exactly one"},
	} {
		if _, err := readKind(t, "file", strings.NewReader(tt.line)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
