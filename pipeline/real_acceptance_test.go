package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRealAcceptance rehearses examples/gpu-acceptance without a GPU, so that its first minute on one is not its first run.
func TestRealAcceptance(t *testing.T) {
	venv := realVLLM(t) // its Python has torch and transformers
	stand, err := filepath.Abs(filepath.Join("testdata", "gpu-acceptance"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("pipeline")
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"transformers", "llamacpp"} {
		t.Run(engine, func(t *testing.T) { rehearseAcceptance(t, engine, venv, stand, program) })
	}
}

func rehearseAcceptance(t *testing.T, engine, venv, stand, program string) {
	t.Helper()
	llama := filepath.Join(os.Getenv("PIPELINE_LLAMACPP"), "bin", "llama-server")
	if _, err := os.Stat(llama); err != nil && engine == "llamacpp" {
		skipOrFail(t, "llamacpp", "PIPELINE_LLAMACPP does not name a folder that examples/llamacpp/setup.sh filled")
	}
	out := t.TempDir()
	keepLogs(t, out)
	cmd := exec.CommandContext(t.Context(), filepath.Join("..", "examples", "gpu-acceptance", "run.sh"), out)
	cmd.Env = append(os.Environ(), "PYTHON="+filepath.Join(venv, "bin", "python"), "PIPELINE="+program, "ACCEPTANCE_REHEARSAL=1",
		"ENGINE="+engine, "LLAMA_SERVER="+llama,
		"PATH="+stand+":"+os.Getenv("PATH"), "OMP_NUM_THREADS=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var document struct {
		Checks []struct{ Check, Status, Saw string }
	}
	data, err := os.ReadFile(filepath.Join(out, "acceptance.json"))
	if err == nil {
		err = json.Unmarshal(data, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range document.Checks {
		seen[c.Check] = c.Status
	}
	for _, check := range []string{"machine", "killed", "resumed", "foreign", "throttled", "capacity"} {
		if seen[check] != "ok" {
			t.Errorf("%s: %q\n%s", check, seen[check], text)
		}
	}
}
