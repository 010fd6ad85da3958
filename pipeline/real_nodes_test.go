package main_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// realNodes spreads one real vLLM that pools over two processes, as over two nodes: what is rendered is taken by its own
// parser, the ranks connect, and requests that generate nothing are answered.
func realNodes(t *testing.T, venv string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	keepLogs(t, out)
	text, code := pipeline(t, ".", "run", filepath.Join("testdata", "vllm-nodes.pipeline.hcl"), "--var", "venv="+venv, "--out", out,
		"--progress", "plain")
	t.Log(text)
	doc, err := store.ReadDocument(out)
	if err != nil {
		t.Fatalf("exit status %d: %v", code, err)
	}
	if code != 0 || doc.Status != result.StatusComplete || len(doc.Launches) != 1 {
		t.Fatalf("exit status %d, the run is %s with %d launches", code, doc.Status, len(doc.Launches))
	}
	roles := map[string]string{}
	for _, m := range doc.Launches[0].Members {
		roles[m.Name] = m.Role
		log, err := os.ReadFile(filepath.Join(out, m.Log))
		rank := map[string]string{"node0": "rank 0 in world size 2", "node1": "rank 1 in world size 2"}[m.Name]
		if err != nil || !strings.Contains(string(log), rank) {
			t.Errorf("%s does not say %q: %v\n%s", m.Name, rank, err, log)
		}
	}
	if roles["node0"] != result.RoleServer || roles["node1"] != result.RoleNode {
		t.Errorf("the members are %v", roles)
	}
	for _, b := range doc.Benchmarks {
		run := b.Cells[0].Runs[0]
		if run.Status != result.RunOK || run.Sent != 3 || run.Failed > 0 || run.Metrics["e2el.p50"] <= 0 {
			t.Errorf("%s is %s: %s, %d sent, %d failed", b.Addr, run.Status, run.Reason, run.Sent, run.Failed)
		}
		input := run.Metrics["input_throughput.mean"] / run.Metrics["request_throughput.mean"]
		if input <= 0 || b.Addr == "benchmark.embeddings" && math.Abs(input-24) > 1e-6 {
			t.Errorf("%s: %g input tokens of a request", b.Addr, input)
		}
	}
}
