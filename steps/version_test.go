package steps_test

import (
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestImageVersion(t *testing.T) {
	for image, want := range map[string]string{
		"vllm/vllm-openai:v0.11.0":                              "0.11.0",
		"vllm/vllm-openai:v0.11.0-x86_64":                       "0.11.0",
		"mirror.example:5000/vllm/vllm-openai:v0.6.4.post1":     "0.6.4.post1",
		"vllm/vllm-openai:v0.11.0@sha256:" + "00":               "0.11.0",
		"lmsysorg/sglang:v0.5.5-cu129-amd64":                    "0.5.5",
		"lmsysorg/sglang:v0.5.5.post3":                          "0.5.5.post3",
		"vllm/vllm-openai:latest":                               "",
		"vllm/vllm-openai:nightly-0123456789abcdef":             "",
		"vllm/vllm-openai":                                      "",
		"vllm/vllm-openai@sha256:00":                            "",
		"registry.example/team/vllm:1.2.3":                      "", // counts their own builds
		"localhost:5000/sglang":                                 "",
		"(known after step.exec.build)":                         "",
		"rocm/vllm:rocm6.4.1_vllm_0.10.0_20250812":              "",
		"ghcr.io/ggml-org/llama.cpp:server-b10434":              "b10434",
		"ghcr.io/ggml-org/llama.cpp:server-cuda13-b11434":       "b11434",
		"ghcr.io/ggml-org/llama.cpp:server-cuda":                "",
		"registry.example:5000/vllm-openai-rocm:v0.12.1rc1-ubi": "0.12.1rc1",
	} {
		if got := steps.ImageVersion(image, []string{"vllm-openai*", "sglang", "llama.cpp"}); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
	if got := (steps.ServerSpec{Version: "0.10.2", Image: "vllm/vllm-openai:v0.11.0"}).EngineVersion(); got != "0.10.2" {
		t.Errorf("the stated version gives way to the image's: %q", got)
	}
}

func FuzzCompareReleases(f *testing.F) {
	f.Add("0.6.4.post1", "v0.11.0")
	f.Add("", "latest")
	f.Fuzz(func(t *testing.T, a, b string) {
		if steps.CompareReleases(a, b) != -steps.CompareReleases(b, a) || steps.CompareReleases(a, a) != 0 {
			t.Fatalf("%q and %q are not ordered", a, b)
		}
	})
}
