package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
)

// TestRealClients runs examples/drivers: five load generators measure one launch of a real
// vLLM. Each file is imported as it is, all see the same work, and those whose definitions
// are alike agree with the server and with each other.
func TestRealClients(t *testing.T) {
	venv := realVLLM(t)
	for _, client := range []string{"clients/bin/guidellm", "aiperf/bin/aiperf"} {
		if _, err := os.Stat(filepath.Join(venv, client)); err != nil {
			skipOrFail(t, "clients", "examples/drivers/setup.sh "+venv+" has not installed "+client)
		}
	}
	out := filepath.Join(t.TempDir(), "run")
	file := filepath.Join("..", "examples", "drivers", "drivers.pipeline.hcl")
	text, code := pipeline(t, ".", "run", file, "--var", "venv="+venv, "--var", "repeats=1", "--out", out, "--progress", "plain")
	t.Log(text)
	if code != 0 {
		t.Fatalf("exit status %d", code)
	}
	doc, err := session.ReadDocument(out)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]result.Run{}
	for _, b := range doc.Benchmarks {
		name := strings.TrimPrefix(b.Addr, "benchmark.")
		run := b.Cells[0].Runs[0]
		runs[name] = run
		if run.Status != result.RunOK || run.Sent != 50 || run.Failed != 0 {
			t.Errorf("%s: %s, %d sent, %d failed: %s", name, run.Status, run.Sent, run.Failed, run.Reason)
		}
		if w, _ := run.Audit["import_warnings"].(string); strings.Contains(w, "by the requests") {
			t.Errorf("%s: figures recomputed from the requests differ from the file's own: %s", name, w)
		}
	}
	alike(t, runs, map[string][]string{
		"vllm": {"ttft.p50", "tpot.p50", "e2el.p50", "itl.mean"}, "sglang": {"ttft.p50", "itl.mean"}, "aiperf": {"ttft.p50", "e2el.p50"},
	})
	for name, metrics := range map[string][]string{
		"sglang": {"sglang_e2el.p50", "sglang_tpot.p50"}, "guidellm": {"guidellm_ttft.p50", "guidellm_itl.mean"}, "aiperf": {"aiperf_itl.p50"},
	} {
		for _, id := range metrics {
			if v := runs[name].Metrics[id]; v <= 0 || v > 10 {
				t.Errorf("%s: %s = %v", name, id, v)
			}
		}
	}
	comparedFiles(t, out, runs)
}

// alike holds clients to ours in the figures that they define as we do. They measured one
// after the other on a machine that is shared, so only the order of size can agree.
func alike(t *testing.T, runs map[string]result.Run, metrics map[string][]string) {
	t.Helper()
	for name, ids := range metrics {
		for _, id := range ids {
			a, b := runs[name].Metrics[id], runs["ours"].Metrics[id]
			if a <= 0 || b <= 0 || math.Abs(math.Log(a/b)) > math.Log(8) {
				t.Errorf("%s: %s is %g s, by our client %g s", name, id, a, b)
			}
		}
	}
	for name, run := range runs {
		if tokens, ok := run.Audit["output_tokens"].(float64); ok && tokens != 800 {
			t.Errorf("%s counts %v output tokens, want 50 × 16", name, tokens)
		}
	}
}

// comparedFiles sets the files that the clients wrote beside each other, and vLLM's beside
// our own run.
func comparedFiles(t *testing.T, out string, runs map[string]result.Run) {
	t.Helper()
	path, err := exec.LookPath("pipeline")
	if err != nil {
		t.Fatal(err)
	}
	source := func(name string) string {
		at, _ := runs[name].Audit["source"].(string)
		file, _, _ := strings.Cut(at, ":")
		return filepath.Join(out, file)
	}
	text, err := exec.CommandContext(t.Context(), path, "compare", "--by", "num_prompts",
		"name=vLLM,num_prompts=50:"+source("vllm"), "name=SGLang,num_prompts=50:"+source("sglang"), "name=aiperf,num_prompts=50:"+source("aiperf")).CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TTFT p50", "e2el is not compared: vLLM has e2el", "SGLang has sglang_e2el", "no significance is possible"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the comparison does not say %q", want)
		}
	}
}
