package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// realPair runs a pair of examples/vllm-cpu-pd whose real KV caches move by files, and every run proves it. A pair over
// NIXL is started by TestRealVLLMPairInContainers; with -full also here, as processes.
func realPair(t *testing.T, venv string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-c",
		"import nixl._api").CombinedOutput(); err != nil {
		skipOrFail(t, "vllm", "NIXL is not in "+venv+", run examples/vllm-cpu-pd/setup.sh "+venv+": "+string(out))
	}
	out := filepath.Join(t.TempDir(), "run")
	keepLogs(t, out)
	file := ungated(t, "vllm-cpu-pd")
	args := []string{"run", file, "--out", out, "--progress", "plain", "--only", "side=deployment.files",
		"--var", "venv=" + venv, "--var", "folder=" + t.TempDir(), "--var", "repeats=1", "--var", "requests=20"}
	moved := map[string]string{"deployment.files": "of the prompt tokens reached decode as KV, through files in a shared folder"}
	if *full {
		args = append(args, "--only", "side=deployment.nixl")
		moved["deployment.nixl"] = "100 % of the prompt tokens reached decode as KV, over TCP"
	}
	text, code := pipeline(t, ".", args...)
	t.Log(text)
	doc, err := store.ReadDocument(out)
	if err != nil {
		t.Fatalf("exit status %d: %v", code, err)
	}
	if code != 0 || doc.Status != result.StatusComplete {
		t.Errorf("exit status %d, the run is %s, want 0 and complete", code, doc.Status)
	}
	for target, want := range moved {
		checkMoved(t, doc, target, want, 1)
	}
}

// TestRealVLLMPairInContainers runs a real pair over NIXL as containers. Their image is
// empty, and they read vLLM, Python and the libraries from the machine.
func TestRealVLLMPairInContainers(t *testing.T) {
	const need = "vllm-docker"
	venv := os.Getenv("PIPELINE_VLLM_CPU")
	if !slices.Contains(required(), need) || venv == "" {
		t.Skipf("needs %s in PIPELINE_TEST_REQUIRE, a Docker daemon, and PIPELINE_VLLM_CPU as examples/vllm-cpu-pd/setup.sh filled it", need)
	}
	python, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), "-c", "import sys; print(sys.base_prefix)").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := os.ReadFile(filepath.Join("testdata", "vllm-containers.pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f.hcl"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	text, code := marked(t, dir, "run", "f.hcl", "--allow-host-mounts", "--out", "out", "--progress", "plain",
		"--var", "image="+emptyImage(t), "--var", "venv="+venv, "--var", "python="+strings.TrimSpace(string(python)))
	t.Log(text)
	doc, err := store.ReadDocument(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatalf("exit status %d: %v", code, err)
	}
	if code != 0 || doc.Status != result.StatusComplete {
		t.Errorf("exit status %d, the run is %s, want 0 and complete", code, doc.Status)
	}
	checkMoved(t, doc, "deployment.nixl", "100 % of the prompt tokens reached decode as KV, over TCP", 1)
	nothingLeft(t, dir)
}

// checkMoved holds the valid runs of a target to what they have to prove, "" for nothing, and to their number.
func checkMoved(t *testing.T, doc *result.Document, target, want string, runs int) {
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
	if valid != runs {
		t.Errorf("%s has %d valid runs, want %d", target, valid, runs)
	}
}
