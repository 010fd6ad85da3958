package lang_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
)

// TestAnswersAskThePromptsOfAFile: a benchmark changes the beginnings of prompts, and answers do not.
func TestAnswersAskThePromptsOfAFile(t *testing.T) {
	path := write(t, `
server "vllm" "s" {
  model = "m"
  url   = "http://localhost:8000"
}
dataset "trace" "p" {
  path = "p.jsonl"
}
benchmark "b" {
  target  = server.vllm.s
  dataset = dataset.trace.p
  load {
    rate     = 2
    requests = 20
  }
}
answers "a" {
  target  = server.vllm.s
  dataset = dataset.trace.p
}
`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "p.jsonl"), []byte("{\"prompt\": \"a\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: testRegistry(t)})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, b := range cfg.Benchmarks {
		w := b.Cells[0].Workload
		if w.Dataset.Verbatim != (w.Answers != nil) {
			t.Errorf("%s: verbatim %v", b.Addr, w.Dataset.Verbatim)
		}
	}
	if len(cfg.Benchmarks) != 2 {
		t.Errorf("%d benchmarks", len(cfg.Benchmarks))
	}
}
