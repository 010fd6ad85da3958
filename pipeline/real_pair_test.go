package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
)

// TestRealVLLMPair runs the pairs of examples/vllm-cpu-pd beside one server: real KV
// caches move, by files and by NIXL over TCP, every run proves it, and the whole is judged.
func TestRealVLLMPair(t *testing.T) {
	venv := realVLLM(t)
	if out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-c", "import nixl._api").CombinedOutput(); err != nil {
		skipOrFail(t, "vllm", "NIXL is not in "+venv+", run examples/vllm-cpu-pd/setup.sh "+venv+": "+string(out))
	}
	out := filepath.Join(t.TempDir(), "run")
	file := filepath.Join("..", "examples", "vllm-cpu-pd", "vllm-cpu-pd.pipeline.hcl")
	text, code := pipeline(t, ".", "run", file, "--out", out, "--progress", "plain",
		"--only", "side=deployment.files", "--only", "side=deployment.nixl",
		"--var", "venv="+venv, "--var", "folder="+t.TempDir(), "--var", "repeats=2", "--var", "requests=20")
	t.Log(text)
	doc, err := session.ReadDocument(out)
	if err != nil {
		t.Fatalf("exit status %d: %v", code, err)
	}
	if code != 0 || doc.Status != result.StatusComplete {
		t.Errorf("exit status %d, the run is %s, want 0 and complete", code, doc.Status)
	}
	for target, want := range map[string]string{
		"server.vllm.one":  "",
		"deployment.files": "of the prompt tokens reached decode as KV, through files in a shared folder",
		"deployment.nixl":  "100 % of the prompt tokens reached decode as KV, over TCP",
	} {
		checkMoved(t, doc, target, want)
	}
	judged := map[string]bool{}
	for _, d := range doc.Gates[0].Decisions {
		judged[d.Head+" "+d.Metric] = d.Verdict != result.Missing && d.Verdict != result.Invalid
	}
	for _, want := range []string{"deployment.files ttft.mean", "deployment.files e2el.mean", "deployment.nixl ttft.mean", "deployment.nixl e2el.mean"} {
		if !judged[want] {
			t.Errorf("%s is not judged: %v", want, judged)
		}
	}
}

// checkMoved holds the runs of a target to what they have to prove, "" for nothing.
func checkMoved(t *testing.T, doc *result.Document, target, want string) {
	t.Helper()
	valid := 0
	for _, c := range doc.Benchmarks[0].Cells {
		for _, r := range c.Runs {
			if c.Target != target || r.Status != result.RunOK {
				continue
			}
			valid++
			switch p := r.Transport; {
			case want == "" && p == nil:
			case want == "" || p == nil:
				t.Errorf("%s: transport %+v", target, p)
			case p.Status != "proved" || !strings.Contains(p.Reason, want):
				t.Errorf("%s: %s, %s; want proved, %s\n%s", target, p.Status, p.Reason, want, strings.Join(p.Evidence, "\n"))
			case r.Server["decode/external_prefix_hits"] <= 0:
				t.Errorf("%s: decode counts no token from elsewhere: %v", target, r.Server)
			}
		}
	}
	if valid < 2 {
		t.Errorf("%s has %d valid runs, want 2", target, valid)
	}
}
