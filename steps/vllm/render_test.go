package vllm_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/vllm"
)

// cases are rendered into testdata/render.golden.
func cases() []steps.ServerSpec {
	const model = "Qwen/Qwen2.5-7B-Instruct"
	args := []steps.Arg{
		{Name: "max_model_len", Value: int64(8192)},
		{Name: "enable_chunked_prefill", Value: false},
		{Name: "enable_prefix_caching", Value: false},
		{Name: "disable_log_stats", Value: false},
		{Name: "enforce_eager", Value: true},
		{Name: "gpu_memory_utilization", Value: 0.85},
		{Name: "quantization", Value: nil},
		{Name: "allowed_origins", Value: []any{"*"}},
		{Name: "lora_modules", Value: []any{"a=/a", "b=/b"}},
		{Name: "kv_transfer_config", Value: map[string]any{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}},
	}
	return []steps.ServerSpec{
		{Addr: "default", Model: model},
		{Addr: "current", Model: model, Args: args},
		{Addr: "old", Model: model, Version: "0.6.4.post1", Args: args},
		{Addr: "named", Model: model, ServedName: "sut"},
		{Addr: "same name", Model: model, ServedName: model},
		{Addr: "one word", Executable: []string{"/opt/venv/bin/vllm"}, Model: model},
		{Addr: "wrapper script", Executable: []string{"./my-vllm.sh"}, Model: model},
		{Addr: "pinned", Executable: []string{"numactl", "-N0", "vllm"}, Model: model},
		{Addr: "with serve", Executable: []string{"uv", "run", "vllm", "serve"}, Model: model},
		{Addr: "module", Executable: []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}, Model: model},
		{Addr: "env", Model: model, Env: []steps.EnvVar{{Name: "VLLM_SERVER_DEV_MODE", Value: "0"},
			{Name: "HF_TOKEN", Value: "s", Secret: true}}},
		{Addr: "key", Model: model, APIKey: "k", Dir: "sub"},
		{Addr: "image", Image: "vllm/vllm-openai:v0.11.0", Version: "0.11.0", Model: model, GPUs: 1, Args: args},
		{
			Addr: "image on the machine's network", Image: "vllm/vllm-openai:v0.11.0", Model: model, GPUs: 2,
			Container: &steps.ContainerSpec{Network: steps.NetworkHost, IPC: "host", GPUs: &steps.GPURequest{IDs: []string{"0", "1"}}},
		},
		{
			Addr: "image with its own program", Image: "registry.example/vllm:nightly", Model: model,
			Container: &steps.ContainerSpec{Entrypoint: []string{"numactl", "-N0", "/opt/venv/bin/vllm"}},
		},
	}
}

func TestRenderGolden(t *testing.T) {
	var b strings.Builder
	for _, spec := range cases() {
		p, err := vllm.New().Render(spec, spec.ListenHost(), steps.PortNumber(20000))
		if err != nil {
			t.Fatalf("%s: %v", spec.Addr, err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", p.Name, strings.Join(p.Argv, " "))
		for _, e := range p.Env {
			value := e.Value
			if e.Secret {
				value = "(secret)"
			}
			fmt.Fprintf(&b, "  %s=%s\n", e.Name, value)
		}
		fmt.Fprintf(&b, "  listens on %s:%d, in %q, stopped by %s within %s\n", p.Host, p.Port, p.Dir, p.StopSignal, p.StopGrace)
		if p.Container != nil {
			fmt.Fprintf(&b, "  in a container: %s\n", container(t, p.Container))
		}
	}
	golden.Equal(t, "testdata/render.golden", b.String())
}

// The same arguments for several versions: what is false is said in three ways, and each
// command line is one that the version's own parser takes.
func TestRenderVersions(t *testing.T) {
	var b strings.Builder
	for _, version := range []string{"0.6.4.post1", "0.8.5", "0.9.2", "0.10.2", "0.11.0", "0.33.0"} {
		spec := steps.ServerSpec{
			Addr: "vLLM " + version, Image: "vllm/vllm-openai:v" + version, OwnImages: vllm.Kind().Images, Model: "Qwen/Qwen2.5-7B-Instruct",
			ServedName: "sut",
			Args: []steps.Arg{
				{Name: "tensor-parallel-size", Value: int64(2)},
				{Name: "max_model_len", Value: int64(8192)},
				{Name: "enable_chunked_prefill", Value: false},
				{Name: "enable_prefix_caching", Value: false},
				{Name: "enforce_eager", Value: true},
				{Name: "disable_log_stats", Value: false},
				{Name: "allowed_origins", Value: []any{"http://a", "http://b"}},
				{Name: "lora_modules", Value: []any{"a=/a", "b=/b"}},
				{Name: "kv_transfer_config", Value: map[string]any{"kv_connector": "NixlConnector", "kv_role": "kv_both"}},
			},
		}
		p, err := vllm.New().Render(spec, spec.ListenHost(), steps.PortNumber(20000))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", p.Name, strings.Join(p.Argv, "\n  "))
	}
	golden.Equal(t, "testdata/versions.golden", b.String())
}

// container is what is set of a container, as JSON.
func container(t *testing.T, c *steps.ContainerSpec) string {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var set map[string]any
	if err := json.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(set, func(_ string, v any) bool {
		return v == nil || v == "" || v == false || v == 0.0
	})
	if text, err = json.Marshal(set); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRenderDoesNotShareArgv(t *testing.T) {
	executable := make([]string, 1, 8)
	executable[0] = "vllm"
	spec := steps.ServerSpec{Model: "a", Executable: executable}
	p1, _ := vllm.New().Render(spec, "h", steps.PortNumber(1))
	spec.Model = "b"
	p2, _ := vllm.New().Render(spec, "h", steps.PortNumber(2))
	if p1.Argv[2] != "a" || p2.Argv[2] != "b" {
		t.Errorf("two renderings share memory: %v, %v", p1.Argv, p2.Argv)
	}
}

func TestRenderRefuses(t *testing.T) {
	tests := map[string]struct {
		spec steps.ServerSpec
		want string
	}{
		"url":   {steps.ServerSpec{Addr: "s", URL: "http://h", Model: "m"}, "s: the server at url already runs and is not started"},
		"model": {steps.ServerSpec{Addr: "s"}, "s: model is not set; vLLM needs one to start"},
		"port": {steps.ServerSpec{Addr: "s", Model: "m", Args: []steps.Arg{{Name: "port", Value: int64(1)}}},
			"s: args: port cannot be set here; set port"},
		"model like a flag": {steps.ServerSpec{Addr: "s", Model: "--help"}, `s: model "--help" begins with a dash and would be read as a flag`},
		"name like a flag": {steps.ServerSpec{Addr: "s", Model: "m", ServedName: "-x"},
			`s: served_name "-x" begins with a dash and would be read as a flag`},
		"dashes": {steps.ServerSpec{Addr: "s", Model: "m", Args: []steps.Arg{{Name: "served-model-name", Value: "x"}}},
			"s: args: served-model-name cannot be set here; set served_name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := vllm.New().Render(tt.spec, "127.0.0.1", steps.PortNumber(1))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
