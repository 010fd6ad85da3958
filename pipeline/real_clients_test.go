package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// realClients runs examples/drivers: five load generators measure one launch of a real
// vLLM. Our own is not held to its schedule, since the machine may have other work. Each file is
// imported as it is, agrees with itself and with the server's own counters, and is compared with
// the others as far as their definitions go. Of the launch, the result holds what vLLM reported.
func realClients(t *testing.T, venv string) {
	t.Helper()
	for _, client := range []string{"clients/bin/guidellm", "aiperf/bin/aiperf"} {
		if _, err := os.Stat(filepath.Join(venv, client)); err != nil {
			skipOrFail(t, "clients", "examples/drivers/setup.sh "+venv+" has not installed "+client)
		}
	}
	out := filepath.Join(t.TempDir(), "run")
	keepLogs(t, out)
	file := filepath.Join("..", "examples", "drivers", "drivers.pipeline.hcl")
	text, code := pipeline(t, ".", "run", file, "--var", "venv="+venv, "--var", "repeats=1", "--var", "busy=true", "--out", out,
		"--progress", "plain")
	t.Log(text)
	if code != 0 {
		t.Fatalf("exit status %d", code)
	}
	doc, err := store.ReadDocument(out)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]result.Run{}
	for _, b := range doc.Benchmarks {
		name := strings.TrimPrefix(b.Addr, "benchmark.")
		measured := b.Cells[0].Current() // a run that the client was late in is measured again
		run := measured[len(measured)-1]
		runs[name] = run
		if run.Status != result.RunOK || run.Sent != 50 || run.Failed != 0 {
			t.Errorf("%s: %s, %d sent, %d failed: %s", name, run.Status, run.Sent, run.Failed, run.Reason)
		}
		if w, _ := run.Audit["import_warnings"].(string); strings.Contains(w, "by the requests") {
			t.Errorf("%s: figures recomputed from the requests differ from the file's own: %s", name, w)
		}
	}
	for name, ids := range map[string][]string{
		"ours": {"ttft.p50", "tpot.p50", "itl.mean", "e2el.p50"}, "vllm": {"ttft.p50", "tpot.p50", "itl.mean", "e2el.p50"},
		"sglang": {"ttft.p50", "itl.mean", "e2el.p50", "sglang_e2el.p50"}, "guidellm": {"guidellm_ttft.p50", "guidellm_itl.mean",
			"guidellm_e2el.p50"},
		"aiperf": {"ttft.p50", "aiperf_itl.p50", "e2el.p50"},
	} {
		plausible(t, name, runs[name], ids)
	}
	comparedFiles(t, out, runs)
	checkLaunches(t, doc)
	checkObserved(t, runs["ours"], 16)
}

// plausible holds a client to what any must see of this server, on a machine as busy as it
// may be: the first token before the last, all tokens, and as many as the server counted. A server
// that does not get a processor sends all tokens of an answer at once. Where too many answers came
// so, there is no time between tokens, and the run says how many there were.
func plausible(t *testing.T, name string, run result.Run, ids []string) {
	t.Helper()
	for _, id := range ids {
		v, has := run.Metrics[id]
		if m, ok := metric.Lookup(id); ok && m.BetweenTokens() && !has && run.Audit[result.OnePiece] != nil {
			t.Logf("%s: %v answers came in one piece, and %s is not measured", name, run.Audit[result.OnePiece], id)
			continue
		}
		if v <= 0 || v > 60 {
			t.Errorf("%s: %s is %v s", name, id, v)
		}
	}
	first, last := ids[0], ids[len(ids)-1]
	if run.Metrics[first] >= run.Metrics[last] {
		t.Errorf("%s: %s is %v s and %s %v s", name, first, run.Metrics[first], last, run.Metrics[last])
	}
	if tokens, ok := run.Audit["output_tokens"].(float64); ok && tokens != 800 || run.Server["generation_tokens"] < 800 {
		t.Errorf("%s counts %v output tokens and the server %v, want 50 × 16 and not less", name, run.Audit["output_tokens"],
			run.Server["generation_tokens"])
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
		"name=vLLM,num_prompts=50:"+source("vllm"), "name=SGLang,num_prompts=50:"+source("sglang"), "name=aiperf,num_prompts=50:"+
			source("aiperf")).CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TTFT p50", "ttft is of two tools: SGLang's client", "itl is not compared: vLLM has itl",
		"no significance is possible"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the comparison does not say %q", want)
		}
	}
}
