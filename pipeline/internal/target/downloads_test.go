package target_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/vllm"
)

func TestCheckDownloads(t *testing.T) {
	const (
		again = "each launch downloads the model again"
		token = "a gated model without a token"
	)
	volume := func(target string) *steps.ContainerSpec {
		return &steps.ContainerSpec{Volumes: []steps.Volume{{Name: "hf", Target: target}}}
	}
	env := func(name, value string) []steps.EnvVar { return []steps.EnvVar{{Name: name, Value: value}} }
	for name, tt := range map[string]struct {
		spec      steps.ServerSpec
		simulated string
		want      []string
	}{
		"image alone":            {spec: steps.ServerSpec{Image: "i:1", Model: "Qwen/Qwen2.5-7B-Instruct"}, want: []string{again}},
		"simulated":              {spec: steps.ServerSpec{Image: "i:1", Model: "Qwen/Qwen2.5-7B-Instruct"}, simulated: plan.SimulateVirtual},
		"executable":             {spec: steps.ServerSpec{Executable: []string{"vllm"}, Model: "Qwen/Qwen2.5-7B-Instruct"}},
		"model of the image":     {spec: steps.ServerSpec{Image: "i:1", Model: "/models/qwen"}},
		"volume at the cache":    {spec: steps.ServerSpec{Image: "i:1", Model: "a/b", Container: volume("/root/.cache/huggingface")}},
		"volume above the cache": {spec: steps.ServerSpec{Image: "i:1", Model: "a/b", Container: volume("/root/.cache/")}},
		"volume of another user": {spec: steps.ServerSpec{Image: "i:1", Model: "a/b", Container: volume("/home/vllm/.cache/huggingface")}},
		"volume beside the cache": {spec: steps.ServerSpec{Image: "i:1", Model: "a/b", Container: volume("/root/.cache/vllm")},
			want: []string{again}},
		"folder that is told": {spec: steps.ServerSpec{Image: "i:1", Model: "a/b", Container: volume("/weights"),
			Env: env("HF_HOME", "/weights/hf")}},
		"told another folder": {spec: steps.ServerSpec{Image: "i:1", Model: "a/b", Container: volume("/root/.cache"),
			Env: env("HF_HOME", "/tmp")}, want: []string{again}},
		"cache block": {spec: steps.ServerSpec{Image: "i:1", Model: "a/b",
			Caches: []steps.Cache{{Volume: "v", Path: "/root/.cache/huggingface"}}}},
		"gated": {spec: steps.ServerSpec{Image: "i:1", Model: "meta-llama/Llama-3.1-8B", Container: volume("/root/.cache")},
			want: []string{token}},
		"empty token": {spec: steps.ServerSpec{Image: "i:1", Model: "meta-llama/Llama-3.1-8B", Container: volume("/root/.cache"),
			Env: env("HF_TOKEN", "")}, want: []string{token}},
		"with a token": {spec: steps.ServerSpec{Image: "i:1", Model: "meta-llama/Llama-3.1-8B", Container: volume("/root/.cache"),
			Env: env("HF_TOKEN", "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := tt.spec
			spec.OwnImages = vllm.Kind().Images
			cfg := &config.Config{Servers: []*config.Server{{Addr: "server.vllm.sut", Kind: vllm.Kind(), Spec: spec}}}
			found := target.CheckDownloads(&plan.Plan{Config: cfg, Simulated: tt.simulated, Targets: []plan.Target{{Addr: "server.vllm.sut"}}})
			if len(found) != len(tt.want) {
				t.Fatalf("got %v, want %v", found, tt.want)
			}
			for i, d := range found {
				if d.Summary != tt.want[i] {
					t.Errorf("got %q, want %q", d.Summary, tt.want[i])
				}
			}
		})
	}
}

// A file that passes the token on is told that it is empty, and not to do what it does already.
func TestEmptyTokenIsNamed(t *testing.T) {
	for value, want := range map[string]string{"none": "HF_TOKEN = var.hf_token", "": "PIPELINE_VAR_hf_token"} {
		spec := steps.ServerSpec{Executable: []string{"vllm"}, Model: "google/gemma-3-4b-it"}
		if value == "" {
			spec.Env = []steps.EnvVar{{Name: "HF_TOKEN", Value: value}}
		}
		cfg := &config.Config{Servers: []*config.Server{{Addr: "server.vllm.sut", Kind: vllm.Kind(), Spec: spec}}}
		found := target.CheckGated(&plan.Plan{Config: cfg, Targets: []plan.Target{{Addr: "server.vllm.sut"}}}, "")
		if len(found) != 1 || !strings.Contains(found[0].Detail, want) {
			t.Errorf("token %q: got %v, want %s", value, found, want)
		}
	}
}

func TestCheckGated(t *testing.T) {
	hub, login := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(hub, "hub", "models--meta-llama--Llama-3.2-1B"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(login, "token"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	vllmServer := steps.ServerSpec{Executable: []string{"vllm"}, Model: "google/gemma-3-4b-it"}
	cached, container, running, told := vllmServer, vllmServer, vllmServer, vllmServer
	cached.Model = "meta-llama/Llama-3.2-1B"
	container.Executable, container.Image = nil, "i:1"
	running.Executable, running.URL = nil, "http://h"
	told.Env = []steps.EnvVar{{Name: "HF_TOKEN", Value: "x"}}
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		hub  string
		want int
	}{
		"no token": {vllmServer, hub, 1}, "no folder": {cached, "", 1}, "downloaded": {cached, hub, 0}, "login": {vllmServer, login, 0},
		"container": {container, hub, 0}, "runs already": {running, hub, 0}, "token": {told, hub, 0},
	} {
		cfg := &config.Config{Servers: []*config.Server{{Addr: "server.vllm.sut", Kind: vllm.Kind(), Spec: tt.spec}}}
		if found := target.CheckGated(&plan.Plan{Config: cfg, Targets: []plan.Target{{Addr: "server.vllm.sut"}}}, tt.hub); len(found) != tt.want {
			t.Errorf("%s: %v", name, found)
		}
	}
}
