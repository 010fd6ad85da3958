package serverblock_test

import (
	"testing"

	"github.com/servegate/pipeline/steps/serverblock"
)

func TestCheckTag(t *testing.T) {
	digest := "sha256:9b2f3c0e5d6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1d2e3f4a5b6c7d8e9f0a1b2c"
	for image, warned := range map[string]bool{
		"":                                  false,
		"vllm/vllm-openai":                  true,
		"vllm/vllm-openai:latest":           true,
		"registry:5000/vllm":                true,
		"registry:5000/vllm:latest":         true,
		"vllm/vllm-openai:v0.11.0":          false,
		"registry:5000/vllm:v0.11.0":        false,
		"vllm/vllm-openai:latest-nightly":   false,
		"vllm/vllm-openai@" + digest:        false,
		"vllm/vllm-openai:latest@" + digest: false,
		digest:                              false,
	} {
		if found := serverblock.CheckTag(image, "image"); (len(found) == 1) != warned {
			t.Errorf("%q: %+v, want a warning: %v", image, found, warned)
		}
	}
}
