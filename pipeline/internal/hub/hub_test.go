package hub_test

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/hub"
	"github.com/servegate/pipeline/steps"
)

func TestSize(t *testing.T) {
	for model, want := range map[string]int64{
		"Qwen/Qwen2.5-7B-Instruct": 14e9, "mistralai/Mixtral-8x7B-v0.1": 112e9, "Qwen/Qwen2.5-0.5B": 1e9,
		"RedHatAI/Llama-3.1-8B-Instruct-FP8": 8e9, "Qwen/Qwen3-30B-A3B-GPTQ-Int4": 18e9, "gpt2": 0, "deepseek-ai/DeepSeek-V3": 0,
	} {
		if got := hub.Size(model); got != want {
			t.Errorf("%s takes %d bytes, want %d", model, got, want)
		}
	}
}

func TestKept(t *testing.T) {
	volume := func(target string) *steps.ContainerSpec {
		return &steps.ContainerSpec{Volumes: []steps.Volume{{Name: "hf", Target: target}}}
	}
	mount := &steps.ContainerSpec{Mounts: []steps.Mount{{Source: "/data/hf", Target: "/root/.cache/huggingface"}}}
	for name, tt := range map[string]struct {
		spec  steps.ServerSpec
		want  string
		mount bool
	}{
		"nothing": {steps.ServerSpec{}, "", false},
		"volume":  {steps.ServerSpec{Container: volume("/root/.cache")}, "hf", false},
		"beside":  {steps.ServerSpec{Container: volume("/root/.cache/vllm")}, "", false},
		"mount":   {steps.ServerSpec{Container: mount}, "/data/hf", true},
		"cache":   {steps.ServerSpec{Caches: []steps.Cache{{Volume: "v", Path: "/root/.cache/huggingface"}}}, "/root/.cache/huggingface", false},
		"told":    {steps.ServerSpec{Container: mount, Env: []steps.EnvVar{{Name: "HF_HOME", Value: "/tmp"}}}, "/data/hf", true},
	} {
		if got, isMount := hub.Kept(tt.spec); got != tt.want || isMount != tt.mount {
			t.Errorf("%s: %q %v, want %q %v", name, got, isMount, tt.want, tt.mount)
		}
	}
}
