package vllm

import (
	"slices"

	"github.com/servegate/pipeline/steps/engine"
)

// rules returns vLLM's messages (0.6 to 0.33), then the shared ones.
func rules() []engine.Rule {
	own := []engine.Rule{
		engine.NewRule("gpu_busy", `Free memory on device .* on startup is less than desired GPU memory utilization`),
		engine.NewRule("kv_cache_too_small",
			`No available memory for the cache blocks|To serve at least one request with the model's max seq len|is larger than the maximum number of tokens that can be stored in KV cache`),
		engine.NewRule("out_of_memory", `CUDA out of memory occurred when warming up sampler`),
		engine.NewRule("ray",
			`Failed to connect to GCS|Unable to connect to GCS|Could not connect to the GCS|The current node timed out during startup|can not find the matched Raylet address`),
		engine.NewRule("not_installed", `sh: (line )?\d+: [^:]+: not found`),
		engine.NewRule("slow_start", `Timed out waiting for engine core processes to start|VLLM_ENGINE_READY_TIMEOUT_S`),
	}
	return slices.Concat(own, engine.SharedRules(), engine.LastRules())
}
