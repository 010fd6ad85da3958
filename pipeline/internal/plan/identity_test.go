package plan

import (
	"testing"

	"github.com/servegate/pipeline/steps"
)

// TestHashTakesTheContentOfADataset: a file that moves is the same cell, one that changes
// another, and one whose content is not known goes by its name.
func TestHashTakesTheContentOfADataset(t *testing.T) {
	cell := func(path, sum string) [2]string {
		w := steps.Workload{Endpoint: "completions", Load: steps.Load{Arrival: "poisson", Rate: 4, Requests: 200}}
		w.Dataset.Kind, w.Dataset.Path, w.Dataset.Sum = "trace", path, sum
		return [2]string{Hash("b", nil, w), workKey("b", w)}
	}
	if cell("a.jsonl", "01") != cell("b/c.jsonl", "01") {
		t.Error("a moved file is another cell")
	}
	for name, other := range map[string][2]string{"content": cell("a.jsonl", "02"), "unknown content": cell("a.jsonl", "")} {
		if base := cell("a.jsonl", "01"); other[0] == base[0] || other[1] == base[1] {
			t.Errorf("%s: the same cell", name)
		}
	}
	if cell("a.jsonl", "") == cell("b.jsonl", "") {
		t.Error("two files of unknown content are one cell")
	}
}
