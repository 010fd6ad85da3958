package main_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// TestTwoNodes rehearses examples/ray-two-nodes, whose axis is the place of a server: at
// equal room for the KV cache TPOT is about three times higher between two nodes than
// within one, as published, by the model of the network between them alone.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	file := filepath.Join("..", "examples", "ray-two-nodes", "ray-two-nodes.pipeline.hcl")
	text, code := pipeline(t, ".", "run", file, "--simulate=virtual", "--var", "quick=true", "--out", out, "--progress", "plain")
	doc, err := store.ReadDocument(out)
	if err != nil || code != 0 {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	found := 0
	for _, g := range doc.Gates {
		for _, d := range g.Decisions {
			if d.Head != "two_nodes" || d.Metric != "tpot.mean" {
				continue
			}
			found++
			if d.Verdict != result.Regression || math.Abs(*d.Change-2.3) > 0.7 {
				t.Errorf("%s: TPOT changes by %+.0f %%: %s", d.Cell, 100**d.Change, d.Verdict)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d comparisons of TPOT between two nodes and one, want 2\n%s", found, text)
	}
}
