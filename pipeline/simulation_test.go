package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// simulatedWorkload is what every file of TestSimulationsTouchNothingReal measures.
const simulatedWorkload = `
dataset "random" "d" {
  input_len  = 32
  output_len = 4
}

benchmark "b" {
  target  = %s
  dataset = dataset.random.d

  load {
    rate     = 50
    requests = 20
  }

  repeat {
    min = 2
    max = 2
  }
}
`

// drivenWorkload is measured by a command.
const drivenWorkload = `
server "vllm" "sut" {
  executable = "vllm"
  model      = "m"
}

benchmark "b" {
  target = server.vllm.sut

  driver "exec" {
    command = ["curl", %s]
  }

  repeat {
    max = 2
  }
}
`

// TestSimulationsTouchNothingReal holds a real server against every kind of simulation: not
// one request reaches it, and what cannot be replaced is refused with its place.
func TestSimulationsTouchNothingReal(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	real := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer real.Close()
	attached := func(kind string) string {
		return fmt.Sprintf("server %q \"sut\" {\n  url   = %q\n  model = \"m\"\n}\n", kind, real.URL)
	}
	served := `"${driver.base_url}/v1/completions"`
	for name, tt := range map[string]struct {
		file string
		// refused is part of the reason, "" where the run goes on without the real part.
		refused string
	}{
		"a vLLM server at a url":    {attached("vllm") + fmt.Sprintf(simulatedWorkload, "server.vllm.sut"), "loads no real one"},
		"an SGLang server at a url": {attached("sglang") + fmt.Sprintf(simulatedWorkload, "server.sglang.sut"), "loads no real one"},
		"an openai server at a url": {attached("openai") + fmt.Sprintf(simulatedWorkload, "server.openai.sut"), "loads no real one"},
		"an openai server with a program": {"server \"openai\" \"sut\" {\n  executable = \"serve\"\n  model      = \"m\"\n}\n" +
			fmt.Sprintf(simulatedWorkload, "server.openai.sut"), "which engine it is"},
		"a driver with an address of its own":   {fmt.Sprintf(drivenWorkload, fmt.Sprintf("%q, %s", real.URL, served)), "an address of its own"},
		"a driver without the server's address": {fmt.Sprintf(drivenWorkload, `"localhost"`), "not given the server's address"},
		"an http step": {fmt.Sprintf("step \"http\" \"warm\" {\n  url = %q\n}\n", real.URL) +
			"server \"vllm\" \"sut\" {\n  executable = \"vllm\"\n  model      = \"m\"\n  depends_on = [step.http.warm]\n}\n" +
			fmt.Sprintf(simulatedWorkload, "server.vllm.sut"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "f.pipeline.hcl"), []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			commands := [][]string{{"plan", "--simulate"}, {"plan", "--simulate=virtual"}, {"run", "--simulate=virtual", "--progress",
				"quiet", "--out", "r"}}
			if tt.refused != "" {
				commands = append(commands, []string{"run", "--simulate", "--out", "r"}, []string{"run", "--simulate=container", "--out", "r"},
					[]string{"calibrate", "--simulate", "--out", "r"})
			}
			for _, args := range commands {
				out, code := pipeline(t, dir, append(args, "f.pipeline.hcl")...)
				if tt.refused == "" {
					if code != 0 {
						t.Errorf("%v: exit status %d:\n%s", args, code, out)
					}
					continue
				}
				if code != 3 || !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "), tt.refused) ||
					!strings.Contains(out, "f.pipeline.hcl line ") {
					t.Errorf("%v: exit status %d, want 3 with the place and %q:\n%s", args, code, tt.refused, out)
				}
				if _, err := os.Stat(filepath.Join(dir, "r")); err == nil {
					t.Errorf("%v: a run directory was made", args)
				}
			}
		})
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("the real server was asked %d times", n)
	}
}
